//! Which moments of a read are told apart: those between which its answer changes, and no others.
//!
//! A read changes nothing. It may be moved behind everything that leaves its answer as it is, up to the next change that its
//! sender makes: nobody can tell. So a process stands still until it changes something or ends; whatever it reads on its
//! [way] there is answered in that moment. Where something is about to give a read on that way another answer, each is
//! tried: that the way was gone so far before it, and that it was not ([`choices`]). `tests/sound.rs` compares this with every
//! read at any moment: clusters, what is on its way in them and receipts are the same.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::slice::from_ref;

use crate::actor::Shared;
use crate::cluster::Cluster;
use crate::variant::Variant;

/// When reads are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// When the process goes on, or just before their answers change.
    Late,
    /// Each at any moment.
    AtAnyTime,
}

/// How far a process had come on its way when something changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Come {
    /// Which process.
    pub who: usize,
    /// So many of its actions were answered.
    pub actions: usize,
    /// And of the next one the reads at these places, in order.
    pub places: Vec<usize>,
}

/// A process, after each action that only reads, up to one that changes something or to its end.
pub type Way = Rc<Vec<Shared>>;

/// The way of a process in a cluster that stays as it is.
pub fn way(actor: &Shared, cluster: &Cluster, variant: Variant) -> Way {
    /// Few ways are there, and each is gone from a great many states.
    const MOST: usize = 1 << 16;
    thread_local! {
        static WAYS: RefCell<BTreeMap<(u64, u64, Variant), Way>> = RefCell::default();
    }
    let key = (actor.hash_of_it(), cluster.hash_of_what_is_shown(), variant);
    if let Some(way) = WAYS.with_borrow(|ways| ways.get(&key).cloned()) {
        return way;
    }
    let way = Rc::new(go(actor, cluster, variant));
    WAYS.with_borrow_mut(|ways| {
        if ways.len() >= MOST {
            ways.clear();
        }
        ways.insert(key, Rc::clone(&way));
    });
    way
}

fn go(actor: &Shared, cluster: &Cluster, variant: Variant) -> Vec<Shared> {
    let mut way = vec![actor.clone()];
    let mut cluster = cluster.clone();
    loop {
        let mut next = way[way.len() - 1].clone();
        let count = next.open_reads();
        if count == 0 {
            return way;
        }
        next.change(|actor| actor.served(&vec![0; count], &mut cluster, variant));
        way.push(next);
    }
}

/// How far the process may have come before the cluster became like `then`, where that can be told from not having moved.
/// If `it_matters_when`, it can always be.
pub fn choices(
    who: usize,
    way: &[Shared],
    cluster: &Cluster,
    then: &Cluster,
    it_matters_when: bool,
    variant: Variant,
) -> Vec<Come> {
    let mut choices = vec![Come { who, actions: 0, places: Vec::new() }];
    let mut matters_to_the_last = false;
    for (actions, actor) in way.iter().enumerate().filter(|(_, actor)| !actor.is_over()) {
        if matters_to_the_last {
            choices.push(Come { who, actions, places: Vec::new() });
        }
        let count = actor.open_reads();
        let changes = |place: &usize| {
            actor.answer(*place, cluster, variant) != actor.answer(*place, then, variant)
        };
        let outdated: Vec<usize> = (0..count).filter(changes).collect();
        matters_to_the_last = it_matters_when || !outdated.is_empty();
        // Some of them, but not all that is open: that would be the next action.
        let some = (1..1_u32 << outdated.len()).map(|bits| -> Vec<usize> {
            let is_in = |(index, _): &(usize, &usize)| bits & (1 << index) != 0;
            outdated.iter().enumerate().filter(is_in).map(|(_, place)| *place).collect()
        });
        let some = some.filter(|places| places.len() < count);
        choices.extend(some.map(|places| Come { who, actions, places }));
    }
    choices
}

/// Every way to take one of each.
pub fn product(choices: &[Vec<Come>]) -> Vec<Vec<Come>> {
    choices.iter().fold(vec![Vec::new()], |products, choice| {
        let with = |product: &Vec<Come>| -> Vec<Vec<Come>> {
            choice.iter().map(|one| [product.as_slice(), from_ref(one)].concat()).collect()
        };
        products.iter().flat_map(with).collect()
    })
}
