//! Whoever sends requests, and how a driver does: side by side, and after a wait that a stop ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::clock::Clock;
use crate::cluster::{self, Outcome, Requests};

/// Whoever sends requests: the cluster, or what stands for it.
pub trait Api: Sync {
    /// Makes requests of the one namespace.
    fn requests(&self) -> &Requests;
    /// Sends one request, once.
    fn send(&self, request: &cluster::Request) -> Outcome;

    /// Sends the requests at the same time, each once; the answers come back in the order of the requests.
    fn send_side_by_side(&self, requests: &[cluster::Request]) -> Vec<Outcome> {
        let Some((first, others)) = requests.split_first() else { return Vec::new() };
        std::thread::scope(|scope| {
            let others: Vec<_> =
                others.iter().map(|request| scope.spawn(|| self.send(request))).collect();
            let first = self.send(first);
            let others =
                others.into_iter().map(|other| other.join().expect("sending does not panic"));
            std::iter::once(first).chain(others).collect()
        })
    }
}

impl Api for cluster::Connection {
    fn requests(&self) -> &Requests {
        self.requests()
    }

    fn send(&self, request: &cluster::Request) -> Outcome {
        self.send(request)
    }
}

/// The longest uninterruptible nap.
const NAP: Duration = Duration::from_millis(50);

/// Waits unless stopped; says whether to go on.
pub fn wait(clock: &dyn Clock, after: Duration, stop: &AtomicBool) -> bool {
    let end = clock.boottime().saturating_add(after);
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let left = end.saturating_sub(clock.boottime());
        if left.is_zero() {
            return true;
        }
        clock.sleep(left.min(NAP));
    }
}
