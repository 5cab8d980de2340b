//! Connections of one address passed on to another one of the node's network.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::Node;

/// Passes connections on until it is dropped; those that stand then go on.
#[derive(Debug)]
pub struct Relay {
    pub(super) address: SocketAddr,
    ended: Arc<AtomicBool>,
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
        let ended = Arc::new(AtomicBool::new(false));
        thread::spawn({
            let ended = ended.clone();
            move || {
                for client in listener.incoming().flatten() {
                    if ended.load(Ordering::SeqCst) {
                        return;
                    }
                    thread::spawn(move || pass_on(&client, to, delay));
                }
            }
        });
        Ok(Self { address, ended })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // Wakes the one who accepts.
        drop(TcpStream::connect(self.address));
    }
}

fn pass_on(client: &TcpStream, to: SocketAddr, delay: Duration) {
    thread::sleep(delay);
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
