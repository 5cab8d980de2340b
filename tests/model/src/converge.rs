//! The same command again, alone and undisturbed: from every state it must come to an end that helps.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::actor::Actor;
use crate::alike::fingerprint;
use crate::cluster::{Cluster, Run};
use crate::keeper;
use crate::submitter;
use crate::variant::Variant;
use crate::world::{Change, InFlight, Protocols, State};

/// More requests than any command needs.
const MOST: usize = 100;

/// Whether every command of the setting, run again now, ends well; with what is on its way having arrived or not.
pub fn converges(model: &Protocols, state: &State) -> bool {
    stuck(model, state).is_none()
}

/// Which command does not end well, if one does not.
pub fn stuck(model: &Protocols, state: &State) -> Option<String> {
    let key = key(model, state);
    if SEEN.lock().expect("nobody panics with it").contains(&key) {
        return None;
    }
    let mut landed = state.cluster.clone();
    for InFlight { run, decided, what, .. } in &state.in_flight {
        if *decided < state.cluster.age {
            continue;
        }
        match what {
            Change::Submit(signature, request) => {
                submitter::serve(&mut landed, *run, signature, request, model.variant);
            }
            Change::Keep(about, request) => {
                keeper::serve(&mut landed, *run, *about, request, model.variant);
            }
        }
    }
    let found = again(model, &state.cluster).or_else(|| again(model, &landed));
    if found.is_none() {
        SEEN.lock().expect("nobody panics with it").insert(key);
    }
    found
}

/// States that were found to be well: many differ only in what processes remember.
static SEEN: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

fn key(model: &Protocols, state: &State) -> u64 {
    fingerprint(&(model.setting.name, model.variant, &state.cluster, &state.in_flight))
}

fn again(model: &Protocols, cluster: &Cluster) -> Option<String> {
    let actors = model.setting.submitters.len() + model.setting.keepers.len();
    (0..actors).find_map(|actor| {
        let actor = u8::try_from(actor).expect("a few actors");
        let mut cluster = cluster.clone();
        let ended = run(model, actor, &mut cluster);
        let is_well = match &ended {
            Actor::Submitter(one) => submits(&cluster, one),
            Actor::Over(_) => true,
            Actor::Keeper(one) => !matches!(
                one.ended(),
                "under way" | "unknown" | "refused" | "conflict" | "incomplete"
            ),
        };
        (!is_well).then(|| format!("actor {actor} run again ends `{}`", ended.ended()))
    })
}

/// The command from its beginning to its end.
fn run(model: &Protocols, actor: u8, cluster: &mut Cluster) -> Actor {
    let mut one = model.begin(Run { actor, life: u8::MAX }, cluster.age);
    for _ in 0..MOST {
        if one.is_over() {
            break;
        }
        match &mut one {
            Actor::Submitter(one) => one.served(0, cluster, Variant::Sound),
            Actor::Keeper(one) => one.served(0, cluster, Variant::Sound),
            Actor::Over(_) => break,
        }
    }
    one
}

/// Whether a submission that was run again is where it should be: recorded, ended, or able to start.
fn submits(cluster: &Cluster, one: &submitter::Submitter) -> bool {
    match one.ended() {
        "created" | "there" => cluster.job.as_ref().is_some_and(|job| {
            let can_start = cluster.secrets.contains_key(job.secret);
            // With other signatures, the receipt says which Secret is missing; a record stands for an end.
            can_start
                || job.finished.is_some()
                || job.secret != one.signature
                || cluster.record.is_some()
        }),
        "recorded" => cluster.record.is_some(),
        "cancelled" => true,
        _ => false,
    }
}
