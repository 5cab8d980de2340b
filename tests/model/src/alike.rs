//! States that differ in nothing that matters any more are made one.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use harness::submit::protocol::Request;

use crate::cluster::{Run, SOMEBODY};
use crate::keeper;
use crate::submitter;
use crate::world::{Change, InFlight, State};

impl State {
    /// What can change nothing any more is forgotten, since states that differ only in it are alike.
    pub(crate) fn forget(&mut self) {
        let (left, age) = (self.left.late, self.cluster.age);
        let cluster = &self.cluster;
        self.in_flight.retain(|one| match &one.what {
            Change::Submit(_, request) if submitter::is_create(request) => {
                one.is_blind || one.decided >= age || left > 0
            }
            Change::Submit(signature, Request::DeleteSecret(uid)) => {
                cluster.secrets.get(signature).is_some_and(|secret| secret.uid.to_string() == *uid)
            }
            Change::Submit(..) => false,
            Change::Keep(_, request) => keeper::may_still_matter(cluster, request),
        });
        self.forget_the_dead();
        // No order is kept of what is on its way.
        self.in_flight.sort_by_cached_key(fingerprint);
    }

    /// Of a process that is gone nothing matters but whether a Secret that it may still delete is its own.
    pub(crate) fn forget_the_dead(&mut self) {
        let matter: BTreeSet<Run> = self.under_way().chain(self.deleters()).collect();
        let bury = |run: &mut Run| {
            if !matter.contains(run) {
                *run = SOMEBODY;
            }
        };
        self.cluster.makers.iter_mut().for_each(bury);
        self.cluster.secrets.values_mut().for_each(|secret| bury(&mut secret.maker));
        self.in_flight.iter_mut().for_each(|one| bury(&mut one.run));
        self.cluster.removers.retain(|run| matter.contains(run));
    }

    fn under_way(&self) -> impl Iterator<Item = Run> {
        self.actors.iter().filter_map(|actor| actor.run())
    }

    /// Whose `submit` has the delete of a Secret on its way.
    fn deleters(&self) -> impl Iterator<Item = Run> {
        let deletes =
            |one: &&InFlight| matches!(one.what, Change::Submit(_, Request::DeleteSecret(_)));
        self.in_flight.iter().filter(deletes).map(|one| one.run)
    }

    /// Every process of which something tells.
    fn mentioned(&self) -> impl Iterator<Item = Run> {
        let secrets = self.cluster.secrets.values().map(|secret| secret.maker);
        let on_their_way = self.in_flight.iter().map(|one| one.run);
        self.cluster.makers.iter().copied().chain(secrets).chain(on_their_way)
    }

    /// The first life of this actor of which nothing tells.
    pub(crate) fn next_life(&self, actor: u8) -> u8 {
        let lives: BTreeSet<u8> =
            self.mentioned().filter(|run| run.actor == actor).map(|run| run.life).collect();
        (0..u8::MAX).find(|life| !lives.contains(life)).expect("a few crashes")
    }
}

/// What stands for a value wherever only sameness counts.
pub fn fingerprint(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
