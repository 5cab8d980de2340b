//! Which moments of a read are told apart: those between which its answer changes, and no others.
//!
//! A read changes nothing, so it may be moved behind everything that leaves its answer as it is, up to where its sender goes
//! on: nobody can tell. It is enough, therefore, that the reads of an action are all answered at one moment, whichever it
//! is, and that whatever gives one of them another answer is tried twice: once with that read answered just before, once
//! with it still open. This leaves a quarter of the states, and the same clusters and receipts among
//! them (`tests/sound.rs`).

use crate::cluster::Cluster;
use crate::variant::Variant;
use crate::world::State;

/// How the reads of an action are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Together, but for those that a change is about to give another answer.
    Together,
    /// Each at any moment.
    OneByOne,
}

/// An open read: whose, and at which place.
pub type Read = (usize, usize);

/// Of these processes, the open reads that would be answered otherwise once the cluster is like this, but for those of
/// which nothing else is open: that they are answered before is a step of its own.
pub fn outdated(
    state: &State,
    who: impl Iterator<Item = usize>,
    then: &Cluster,
    variant: Variant,
) -> Vec<Read> {
    if state.cluster.shows_the_same_as(then) {
        return Vec::new();
    }
    let open = who.flat_map(|who| {
        let actor = &state.actors[who];
        let count = actor.open_reads();
        (0..count).filter(move |_| count > 1).map(move |place| (who, place))
    });
    let changes = |&(who, place): &Read| {
        let answer = |cluster| state.actors[who].answer(place, cluster, variant);
        answer(&state.cluster) != answer(then)
    };
    open.filter(changes).collect()
}

/// Every choice of them that leaves each process something to hear, in the order of their places.
pub fn choices(state: &State, outdated: &[Read]) -> Vec<Vec<Read>> {
    let chosen = |bits: u32| -> Vec<Read> {
        let is_chosen = |index: &usize| bits & (1 << index) != 0;
        (0..outdated.len()).filter(is_chosen).map(|index| outdated[index]).collect()
    };
    let leaves_some = |heard: &Vec<Read>| {
        heard.iter().all(|(who, _)| {
            let count = heard.iter().filter(|(other, _)| other == who).count();
            count < state.actors[*who].kinds().len()
        })
    };
    (0..1 << outdated.len()).map(chosen).filter(leaves_some).collect()
}
