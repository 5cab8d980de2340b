//! Follows experiments to their end.
//!
//! Level-based: what counts is what a read shows. A watch only says when to read again, so that nothing is lost with
//! it, and without one the reads come every second. Read failures, a restarted API server and a dead kubectl are
//! survived; the end comes with the experiment, the time that was asked for, a stop, or an outage without end.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use super::category::Category;
use super::read::{NAME_PREFIX, ReadError, Target, read};
use super::report::Status;
use crate::clock::Clock;
use crate::cluster::{ConnectError, Connection, Request, Resource, Told, WatchEnd};
use crate::render::names::{MANAGED_BY, RESULT_IDENTITY};

/// How often everything is read again while the watches stand; events alone ring no bell.
const FLOOR: Duration = Duration::from_secs(5);

/// The same while a watch does not stand.
const FLOOR_WITHOUT_WATCH: Duration = Duration::from_millis(900);

/// Failures in a row that are survived in any case.
pub const SURVIVED_FAILURES: u32 = 5;

/// An outage of this length ends a wait that has seen the experiment before: whoever waits without a limit, as scripts do,
/// must not hang for ever on a cluster that is gone. Restarts and upgrades of control planes are shorter.
pub const LONGEST_OUTAGE: Duration = Duration::from_mins(10);

/// How long one watch lasts.
const WATCH_SECONDS: u32 = 240;

/// The longest uninterruptible nap.
const NAP: Duration = Duration::from_millis(20);

/// The server asks for patience: <https://kubernetes.io/docs/concepts/cluster-administration/flow-control/>.
const TOO_MANY: u16 = 429;

/// Reads made side by side.
const READERS: usize = 8;

/// Why following ended.
#[derive(Debug, Clone, PartialEq)]
pub enum FollowEnd {
    /// The experiment is over, or is not there any more.
    Over,
    /// The time that was asked for has passed.
    Waited,
    /// A stop from outside.
    Stopped,
    /// The API server said no before anything was seen.
    Refused(String),
    /// The cluster could not be read for too long.
    Lost(String),
}

/// One experiment that was followed.
#[derive(Debug, Clone)]
pub struct Followed {
    /// Which.
    pub target: Target,
    /// The last that was seen of it.
    pub status: Option<Status>,
    /// Why following it ended.
    pub end: FollowEnd,
}

/// What a follower needs from outside.
pub struct Session<'a> {
    /// Time.
    pub clock: &'a Arc<dyn Clock>,
    /// Makes a connection anew, ready within the time given, when kubectl has died.
    pub connect: &'a (dyn Fn(Duration) -> Result<Connection, ConnectError> + Sync),
    /// How long to follow, from `begun` on; at least one answer is asked for.
    pub limit: Option<Duration>,
    /// When waiting began, on the boot-time clock.
    pub begun: Duration,
    /// Whether following has to end.
    pub is_stopped: &'a (dyn Fn() -> bool + Sync),
    /// Hears of each read of an experiment, and whether it shows a change; the first one is a change.
    pub heard: &'a mut dyn FnMut(&Status, bool),
    /// Hears of what hampers, once for each trouble.
    pub trouble: &'a mut dyn FnMut(&str),
}

/// Follows every target to its end, over a connection that is there already.
pub fn follow(session: Session<'_>, connection: Connection, targets: Vec<Target>) -> Vec<Followed> {
    let deadline = session.limit.map(|limit| session.begun.saturating_add(limit));
    let entries = targets.into_iter().map(|target| Entry { target, status: None, end: None });
    let mut follower = Follower {
        session,
        deadline,
        entries: entries.collect(),
        line: None,
        read_all_at: None,
        failures: 0,
        outage: None,
    };
    follower.plug(connection);
    follower.run();
    let entries = follower.entries.into_iter();
    entries
        .map(|entry| Followed {
            target: entry.target,
            status: entry.status,
            end: entry.end.unwrap_or(FollowEnd::Stopped),
        })
        .collect()
}

struct Entry {
    target: Target,
    status: Option<Status>,
    end: Option<FollowEnd>,
}

/// One connection and its watches.
struct Line {
    connection: Connection,
    bell: Arc<Bell>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bell.hung_up.store(true, Ordering::Relaxed);
    }
}

/// What the watches say.
#[derive(Default)]
struct Bell {
    names: Mutex<BTreeSet<String>>,
    standing: Mutex<BTreeSet<Resource>>,
    hung_up: AtomicBool,
}

struct Follower<'a> {
    session: Session<'a>,
    /// On the boot-time clock.
    deadline: Option<Duration>,
    entries: Vec<Entry>,
    line: Option<Line>,
    /// When all of them were last read.
    read_all_at: Option<Duration>,
    failures: u32,
    /// Since when nothing could be read.
    outage: Option<Duration>,
}

impl Follower<'_> {
    fn run(&mut self) {
        let mut due: Option<BTreeSet<String>> = None;
        while self.entries.iter().any(|entry| entry.end.is_none()) {
            if let Some(end) = self.ended_from_outside() {
                self.end_all(&end);
                return;
            }
            let result = match self.reconnect() {
                Ok(()) => self.sweep(due.take().as_ref()).map_err(|error| error.to_string()),
                Err(why) => Err(why),
            };
            match result {
                Ok(()) => {
                    self.failures = 0;
                    self.outage = None;
                    due = self.wait_for_news();
                }
                // What is not answered because of the end is no failure.
                Err(_) if self.ended_from_outside().is_some() => {}
                Err(why) => self.note_failure(why),
            }
        }
    }

    fn ended_from_outside(&self) -> Option<FollowEnd> {
        if (self.session.is_stopped)() {
            return Some(FollowEnd::Stopped);
        }
        (self.left() == Some(Duration::ZERO)).then_some(FollowEnd::Waited)
    }

    /// What is left of the time that was asked for.
    fn left(&self) -> Option<Duration> {
        let now = self.session.clock.boottime();
        self.deadline.map(|deadline| deadline.saturating_sub(now))
    }

    fn end_all(&mut self, end: &FollowEnd) {
        for entry in self.entries.iter_mut().filter(|entry| entry.end.is_none()) {
            entry.end = Some(end.clone());
        }
    }

    /// Reads those that are named, or all that have not ended. One that cannot be read keeps no other from its end.
    fn sweep(&mut self, due: Option<&BTreeSet<String>>) -> Result<(), ReadError> {
        if due.is_none() {
            self.read_all_at = Some(self.session.clock.boottime());
        }
        let open: Vec<usize> = (0..self.entries.len())
            .filter(|index| {
                let entry = &self.entries[*index];
                entry.end.is_none() && due.is_none_or(|due| due.contains(&entry.target.name))
            })
            .collect();
        let mut failure = None;
        for indices in open.chunks(READERS) {
            let results = self.read_side_by_side(indices);
            for (index, result) in indices.iter().copied().zip(results) {
                match result {
                    Ok(status) => {
                        let heard = &mut *self.session.heard;
                        self.entries[index].take(status, heard);
                    }
                    Err(ReadError::Refused(status))
                        if self.entries[index].status.is_none() && status.code != TOO_MANY =>
                    {
                        self.entries[index].end = Some(FollowEnd::Refused(status.to_string()));
                    }
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            if failure.is_some() && self.ended_from_outside().is_some() {
                break;
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn read_side_by_side(&self, indices: &[usize]) -> Vec<Result<Status, ReadError>> {
        let Some(line) = &self.line else { return Vec::new() };
        let (clock, entries) = (&**self.session.clock, &self.entries);
        let limit = self.left().unwrap_or(Duration::MAX);
        let has_ended = || self.ended_from_outside().is_some();
        line.connection.until(clock, &has_ended, || {
            std::thread::scope(|scope| {
                let start = |index: &usize| {
                    let target = &entries[*index].target;
                    scope.spawn(move || read(&line.connection, clock, target, limit))
                };
                let readers: Vec<_> = indices.iter().map(start).collect();
                let join = |reader: ScopedJoinHandle<'_, _>| {
                    reader.join().expect("reading does not panic")
                };
                readers.into_iter().map(join).collect()
            })
        })
    }

    /// Waits until something rings, the floor is reached, or following has to end.
    fn wait_for_news(&self) -> Option<BTreeSet<String>> {
        let clock = self.session.clock;
        loop {
            let line = self.line.as_ref()?;
            let rung = std::mem::take(&mut *lock(&line.bell.names));
            if !rung.is_empty() {
                return Some(rung);
            }
            let stands = lock(&line.bell.standing).len() == WATCHED.len();
            let floor = if stands { FLOOR } else { FLOOR_WITHOUT_WATCH };
            let waited = clock.boottime().saturating_sub(self.read_all_at.unwrap_or_default());
            if waited >= floor || self.ended_from_outside().is_some() {
                return None;
            }
            clock.sleep(NAP.min(self.left().unwrap_or(NAP)));
        }
    }

    /// Waits a little longer after each failure, and gives up when it has lasted too long.
    fn note_failure(&mut self, why: String) {
        self.failures += 1;
        let now = self.session.clock.boottime();
        let since = *self.outage.get_or_insert(now);
        if self.failures == 1 {
            (self.session.trouble)(&format!("cannot read the cluster: {why}; trying again"));
        }
        let was_seen = self.entries.iter().any(|entry| entry.status.is_some());
        let is_long = now.saturating_sub(since) >= LONGEST_OUTAGE;
        if self.failures > SURVIVED_FAILURES && (is_long || !was_seen) {
            self.end_all(&FollowEnd::Lost(why));
            return;
        }
        if self.line.as_ref().is_some_and(|line| line.connection.has_ended()) {
            self.line = None;
        }
        let pause = Duration::from_millis(200 << self.failures.min(4));
        let end = now.saturating_add(pause);
        while self.session.clock.boottime() < end && self.ended_from_outside().is_none() {
            self.session.clock.sleep(NAP);
        }
    }

    /// Makes a connection where there is none, or says why it cannot.
    fn reconnect(&mut self) -> Result<(), String> {
        if self.line.is_some() {
            return Ok(());
        }
        let ready_within = self.left().unwrap_or(Duration::MAX).min(Duration::from_secs(20));
        let connection = (self.session.connect)(ready_within).map_err(|error| error.to_string())?;
        self.plug(connection);
        Ok(())
    }

    /// Takes a connection into use, and starts its watches.
    fn plug(&mut self, connection: Connection) {
        let bell = Arc::new(Bell::default());
        let one = match self.entries.as_slice() {
            [one] => Some(one.target.clone()),
            _ => None,
        };
        for resource in WATCHED {
            let watcher = connection.watcher();
            let requests = connection.requests().clone();
            let (bell, clock) = (Arc::clone(&bell), Arc::clone(self.session.clock));
            let selector = selector(resource, one.as_ref());
            let request = move |version: Option<&str>| {
                requests.watch(resource, selector.clone(), version, WATCH_SECONDS)
            };
            let watch = move || keep_watching(&watcher, &*clock, &bell, resource, &request);
            // Without the thread the floor of the reads is lower, and nothing else is lost.
            let _ = std::thread::Builder::new().name("watch".to_owned()).spawn(watch);
        }
        self.line = Some(Line { connection, bell });
    }
}

/// What rings the bell.
const WATCHED: [Resource; 2] = [Resource::Jobs, Resource::Pods];

fn selector(resource: Resource, one: Option<&Target>) -> (&'static str, String) {
    match (one, resource) {
        (Some(target), Resource::Jobs) => {
            ("fieldSelector", format!("metadata.name={}", target.name))
        }
        (Some(target), _) => ("labelSelector", format!("{RESULT_IDENTITY}={}", target.identity())),
        (None, _) => ("labelSelector", format!("{MANAGED_BY}=harness")),
    }
}

/// Watches again and again until the line is hung up.
fn keep_watching(
    watcher: &crate::cluster::Watcher,
    clock: &dyn Clock,
    bell: &Bell,
    resource: Resource,
    request: &dyn Fn(Option<&str>) -> Request,
) {
    let mut version: Option<String> = None;
    while !bell.hung_up.load(Ordering::Relaxed) {
        let end = watcher.watch(&request(version.as_deref()), &mut |told| {
            match told {
                Told::Open => {
                    lock(&bell.standing).insert(resource);
                }
                Told::Bookmark(at) => version = Some(at),
                Told::Changed(changed) => {
                    let name = match changed.labels.get(RESULT_IDENTITY) {
                        Some(identity) => format!("{NAME_PREFIX}{identity}"),
                        None => changed.name,
                    };
                    lock(&bell.names).insert(name);
                    // Without a version the stream begins with all that is there, in any order.
                    if version.is_some() {
                        version = Some(changed.resource_version);
                    }
                }
            }
            if bell.hung_up.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        lock(&bell.standing).remove(&resource);
        let pause = match end {
            WatchEnd::Stopped => return,
            WatchEnd::Closed => Duration::from_millis(100),
            WatchEnd::Expired => {
                version = None;
                Duration::from_millis(100)
            }
            // The role may be without it, or the line dead: the reads go on.
            WatchEnd::Refused(_) => Duration::from_secs(30),
            WatchEnd::Failed(_) => Duration::from_secs(1),
        };
        let until = clock.boottime().saturating_add(pause);
        while clock.boottime() < until && !bell.hung_up.load(Ordering::Relaxed) {
            clock.sleep(NAP * 5);
        }
    }
}

impl Entry {
    fn take(&mut self, status: Status, heard: &mut dyn FnMut(&Status, bool)) {
        // From the first sight on it is this Job that is waited for.
        if self.target.uid.is_none() && !status.is_recorded {
            self.target.uid.clone_from(&status.job_uid);
        }
        let asked = self.target.submission_digest.as_deref();
        if is_final(&status) || asked.is_some_and(|it| status.is_of_another_submission(it)) {
            self.end = Some(FollowEnd::Over);
        }
        let is_change = self.status.as_ref().is_none_or(|earlier| status.differs_from(earlier));
        heard(&status, is_change);
        self.status = Some(status);
    }
}

/// Whether there is nothing left to wait for.
fn is_final(status: &Status) -> bool {
    let category = status.diagnosis.category;
    status.phase.is_over()
        || [Category::ABSENT, Category::DELETED, Category::REPLACED, Category::FOREIGN]
            .contains(&category)
        || (status.is_recorded)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
