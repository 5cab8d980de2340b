//! What befalls the control plane itself while schedules run: its parts are killed and paused, again and again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use harness_test_cluster::{Component, ControlPlane, until};

use crate::kit::chance::Random;

/// Between two blows, at most: schedules need a cluster that works most of the time.
const CALM: Duration = Duration::from_secs(12);
/// A pause is at most this long.
const PAUSE: Duration = Duration::from_secs(4);

/// How often each blow fell.
pub(crate) type Blows = BTreeMap<&'static str, usize>;

/// Strikes until `is_over`; leaves a control plane that is ready.
pub(crate) fn rage(cluster: &ControlPlane, seed: u64, is_over: &AtomicBool) -> Blows {
    let mut random = Random::new(seed);
    let mut blows = Blows::new();
    loop {
        let calm = Duration::from_secs(2) + random.within(CALM);
        if until(calm, || is_over.load(Ordering::Relaxed)) {
            return blows;
        }
        *blows.entry(strike(cluster, &mut random)).or_default() += 1;
    }
}

fn strike(cluster: &ControlPlane, random: &mut Random) -> &'static str {
    let length = random.within(PAUSE);
    let pause = |component| {
        cluster.pause(component).unwrap();
        thread::sleep(length);
        cluster.resume(component).unwrap();
    };
    match random.below(5) {
        0 | 1 => {
            cluster.restart_api_server().unwrap();
            "API server killed"
        }
        2 => {
            cluster.stop_etcd().unwrap();
            thread::sleep(length);
            cluster.start_etcd().unwrap();
            "etcd killed"
        }
        3 => {
            pause(Component::ApiServer);
            "API server paused"
        }
        _ => {
            pause(Component::Etcd);
            "etcd paused"
        }
    }
}
