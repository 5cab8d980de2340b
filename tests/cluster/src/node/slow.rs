//! A registry that takes its time: it forwards to the real one after a delay.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::Node;
use super::settings::REGISTRY_PORT;

/// The node's registry under another name; it is served until this is dropped.
#[derive(Debug)]
pub struct SlowRegistry {
    /// The name in image references; see [`Image::at`](super::Image::at).
    pub host: String,
    port: u16,
    ended: Arc<AtomicBool>,
}

impl SlowRegistry {
    pub(super) fn start(node: &Node, host: &str, delay: Duration) -> Result<Self> {
        node.enter()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        node.add_registry(host, &format!("http://127.0.0.1:{port}"))?;
        let ended = Arc::new(AtomicBool::new(false));
        thread::spawn({
            let ended = ended.clone();
            move || {
                for client in listener.incoming().flatten() {
                    if ended.load(Ordering::SeqCst) {
                        return;
                    }
                    thread::spawn(move || forward(&client, delay));
                }
            }
        });
        Ok(Self { host: host.to_owned(), port, ended })
    }
}

impl Drop for SlowRegistry {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // Wakes the one who accepts.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
    }
}

fn forward(client: &TcpStream, delay: Duration) {
    thread::sleep(delay);
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, REGISTRY_PORT)) else { return };
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
