//! The end of a proxy: wakes whoever sleeps or reads in its name.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whether the proxy has ended, and all connections that it must shut down then.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    stopped: bool,
    next: u64,
    connections: BTreeMap<u64, TcpStream>,
}

/// A connection that is shut down when this is dropped, or when the proxy ends.
#[derive(Debug)]
pub struct Watched {
    stop: Stop,
    number: u64,
}

impl Stop {
    /// Ends all of it.
    pub fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        for connection in state.connections.values() {
            // It may have ended by itself.
            let _ = connection.shutdown(Shutdown::Both);
        }
        self.0.1.notify_all();
    }

    /// Whether it has ended.
    pub fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Watches over a connection, and shuts it down at once when the proxy has ended.
    pub fn watch(&self, connection: &TcpStream) -> io::Result<Watched> {
        let mut state = self.lock();
        if state.stopped {
            connection.shutdown(Shutdown::Both)?;
        }
        let number = state.next;
        state.next += 1;
        state.connections.insert(number, connection.try_clone()?);
        Ok(Watched { stop: self.clone(), number })
    }

    /// Sleeps, at most until the end of the proxy.
    pub fn sleep(&self, duration: Duration) {
        let lock = self.lock();
        drop(self.0.1.wait_timeout_while(lock, duration, |state| !state.stopped));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without the shutdown, the copy that is kept here would keep the connection open.
impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(connection) = self.stop.lock().connections.remove(&self.number) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}
