//! Jobs and their pods put together while both are read, so that neither is ever held whole. Pure.
//!
//! A server pages through its objects in the order of their names (a `continue` token is the name to go on from), and
//! a Job's controller names a pod after its Job. So a Job has all of its pods once the pods are read beyond its name.

use std::collections::BTreeMap;
use std::mem;

use super::pages::Page;
use crate::status::view::{Job, Pod};

/// What the server was seen to do, and what is done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The objects come in the order of their names, as they should.
    ByName,
    /// They come in any order, and all are held until the end.
    Any,
}

/// The objects do not come in the order of their names: what was settled may lack pods.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Disorder;

/// How far a list is read; what comes later has a later name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Position {
    Beginning,
    At(String),
    End,
}

/// Which list is to be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Jobs,
    Pods,
}

/// One of the two lists: what was read and is not settled.
struct Half<T> {
    held: BTreeMap<String, T>,
    /// The furthest that was reached.
    position: Position,
    /// Where the list is now: behind the position where the server forgot its place and it was begun anew.
    now: Position,
}

impl<T> Half<T> {
    fn new() -> Self {
        Self { held: BTreeMap::new(), position: Position::Beginning, now: Position::Beginning }
    }

    fn take(&mut self, page: Option<Page<T>>, order: Order) -> Result<(), Disorder> {
        let Some(page) = page else {
            self.position = Position::End;
            return Ok(());
        };
        if order == Order::Any {
            // Of one that was read twice, the later reading counts.
            self.held.extend(page.objects);
            return Ok(());
        }
        if page.is_first {
            self.now = Position::Beginning;
        }
        for (name, object) in page.objects {
            let now = Position::At(name.clone());
            if now <= self.now {
                return Err(Disorder);
            }
            if now > self.position {
                self.held.insert(name, object);
                self.position = now.clone();
            }
            self.now = now;
        }
        Ok(())
    }
}

/// The two lists.
pub(super) struct Join {
    order: Order,
    jobs: Half<Job>,
    pods: Half<Pod>,
}

impl Join {
    pub(super) fn new(order: Order) -> Self {
        Self { order, jobs: Half::new(), pods: Half::new() }
    }

    /// The list that is behind; none when both have ended.
    pub(super) fn behind(&self) -> Option<Side> {
        match (&self.jobs.position, &self.pods.position) {
            (Position::End, Position::End) => None,
            (jobs, pods) if jobs <= pods => Some(Side::Jobs),
            _ => Some(Side::Pods),
        }
    }

    /// The next Jobs; none at the end of the list.
    pub(super) fn jobs(&mut self, page: Option<Page<Job>>) -> Result<(), Disorder> {
        self.jobs.take(page, self.order)
    }

    /// The next pods; none at the end of the list, or where they may not be read.
    pub(super) fn pods(&mut self, page: Option<Page<Pod>>) -> Result<(), Disorder> {
        self.pods.take(page, self.order)
    }

    /// The Jobs that have all of their pods now.
    pub(super) fn settled(&mut self) -> Vec<(String, Job, Vec<Pod>)> {
        let waiting = match &self.pods.position {
            Position::Beginning => return Vec::new(),
            // The last name may be that of a pod whose Job has others.
            Position::At(name) => {
                let first = self.jobs.held.keys().find(|job| *job > name || is_of(name, job));
                first.cloned().map(|first| self.jobs.held.split_off(&first)).unwrap_or_default()
            }
            Position::End => BTreeMap::new(),
        };
        let ready = mem::replace(&mut self.jobs.held, waiting);
        let settled = ready.into_iter().map(|(name, job)| {
            let pods = self.pods.of(&name);
            (name, job, pods)
        });
        let settled = settled.collect();
        self.drop_strangers();
        settled
    }

    /// Forgets the pods whose Job is gone: no Job that is held or comes later has them.
    fn drop_strangers(&mut self) {
        let next = match (self.jobs.held.keys().next(), &self.jobs.position) {
            (Some(first), _) => first,
            (None, Position::At(name)) => name,
            (None, Position::End) => return self.pods.held.clear(),
            (None, Position::Beginning) => return,
        };
        self.pods.held = self.pods.held.split_off(next);
    }
}

impl Half<Pod> {
    /// The pods of one Job, which are not held any more.
    fn of(&mut self, job: &str) -> Vec<Pod> {
        let names = self.held.range(job.to_owned()..).map(|(name, _)| name);
        let names: Vec<String> = names.take_while(|name| is_of(name, job)).cloned().collect();
        names.iter().filter_map(|name| self.held.remove(name)).collect()
    }
}

/// Whether a pod's name is one that the Job's controller gives: the Job's and a suffix.
fn is_of(pod: &str, job: &str) -> bool {
    pod.strip_prefix(job).is_some_and(|rest| rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page<T: Default>(names: &[String], is_first: bool) -> Page<T> {
        let objects = names.iter().map(|name| (name.clone(), T::default())).collect();
        Page { objects, is_first }
    }

    #[test]
    fn no_more_is_held_than_a_few_pages() {
        let jobs: Vec<String> = (0..1000).map(|number| format!("job{number:04}")).collect();
        // Two of each second Job.
        let of = |job: &String| ["a", "b"].map(|suffix| format!("{job}-{suffix}"));
        let pods: Vec<String> = jobs.iter().step_by(2).flat_map(of).collect();
        let (mut jobs, mut pods) = (jobs.chunks(10), pods.chunks(10));
        let mut join = Join::new(Order::ByName);
        let mut told = 0;
        while let Some(side) = join.behind() {
            match side {
                Side::Jobs => join.jobs(jobs.next().map(|names| page(names, false))).unwrap(),
                Side::Pods => join.pods(pods.next().map(|names| page(names, false))).unwrap(),
            }
            for (name, _, pods) in join.settled() {
                assert_eq!(name, format!("job{told:04}"));
                assert_eq!(pods.len(), if told % 2 == 0 { 2 } else { 0 });
                told += 1;
            }
            assert!(join.jobs.held.len() + join.pods.held.len() <= 30);
        }
        assert_eq!(told, 1000);
    }

    #[test]
    fn disorder_is_seen_and_a_new_beginning_is_none() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let mut join = Join::new(Order::ByName);
        assert_eq!(join.jobs(Some(page(&names(&["a", "c"]), true))), Ok(()));
        assert_eq!(join.jobs(Some(page(&names(&["a", "b", "d"]), true))), Ok(()));
        assert_eq!(join.jobs(Some(page(&names(&["d"]), false))), Err(Disorder));
        let mut any = Join::new(Order::Any);
        assert_eq!(any.jobs(Some(page(&names(&["b", "a"]), true))), Ok(()));
        assert!(any.settled().is_empty());
    }
}
