//! Connections of one address passed on to another one of the node's network.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::Node;

/// Passes connections on until it is dropped; those that stand then go on.
#[derive(Debug)]
pub struct Relay {
    pub(super) address: SocketAddr,
    ended: Arc<AtomicBool>,
    gate: Arc<Gate>,
}

/// What connections wait at.
#[derive(Debug, Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.is_open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }

    fn pass(&self, delay: Duration) {
        let is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.opened.wait_timeout_while(is_open, delay, |is_open| !*is_open));
    }
}

impl Relay {
    /// From an address, whose port may be 0 for a free one, to another one, each time after a delay.
    pub(super) fn start(
        node: &Node,
        from: SocketAddr,
        to: SocketAddr,
        delay: Duration,
    ) -> Result<Self> {
        node.enter()?;
        let listener = TcpListener::bind(from).with_context(|| format!("{from} is not free"))?;
        let address = listener.local_addr()?;
        let (ended, gate) = (Arc::new(AtomicBool::new(false)), Arc::new(Gate::default()));
        thread::spawn({
            let (ended, gate) = (ended.clone(), gate.clone());
            move || {
                for client in listener.incoming().flatten() {
                    if ended.load(Ordering::SeqCst) {
                        return;
                    }
                    let gate = gate.clone();
                    thread::spawn(move || {
                        gate.pass(delay);
                        pass_on(&client, to);
                    });
                }
            }
        });
        Ok(Self { address, ended, gate })
    }

    /// From now on no connection waits, nor do those that wait already.
    pub(super) fn hurry(&self) {
        self.gate.open();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        self.gate.open();
        // Wakes the one who accepts.
        drop(TcpStream::connect(self.address));
    }
}

fn pass_on(client: &TcpStream, to: SocketAddr) {
    let Ok(server) = TcpStream::connect(to) else { return };
    let pass = |from: &TcpStream, to: &TcpStream| {
        // Either side may leave whenever it likes.
        let _ = io::copy(&mut &*from, &mut &*to);
        let _ = to.shutdown(Shutdown::Write);
    };
    thread::scope(|scope| {
        scope.spawn(|| pass(client, &server));
        pass(&server, client);
    });
}
