//! The properties, and a run of the checker.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{Duration, Instant};

use stateright::report::{ReportData, ReportDiscovery, Reporter};
use stateright::{Checker, HasDiscoveries, Model as _, Path, Property};

use crate::converge::converges;
use crate::setting::Setting;
use crate::variant::Variant;
use crate::world::{Protocols, State, Step};

/// Never two Jobs that can run, but where a foreign hand took away one that had.
pub const ONE_JOB: &str = "one Job that runs";
/// Nothing is deleted that the run did not create, or had no right to.
pub const NOTHING_OF_OTHERS: &str = "nothing of others is deleted";
/// Every receipt is true when it is printed.
pub const TRUE_RECEIPTS: &str = "receipts are true";
/// The same command again ends well.
pub const CONVERGES: &str = "the same command again ends well";
/// Nobody is told of a conflict, and of a no only where there was one: all mean the same experiment.
pub const NO_NEEDLESS_NO: &str = "no needless no";

/// All properties; each holds in every state.
pub fn properties() -> Vec<Property<Protocols>> {
    vec![
        Property::always(ONE_JOB, |_: &Protocols, state: &State| {
            state.cluster.ran.len() <= 1 + state.cluster.taken
        }),
        Property::always(NOTHING_OF_OTHERS, |_: &Protocols, state: &State| {
            state.cluster.wrong.is_none()
        }),
        Property::always(TRUE_RECEIPTS, |_: &Protocols, state: &State| state.untrue.is_none()),
        Property::always(CONVERGES, converges),
        Property::always(NO_NEEDLESS_NO, |_: &Protocols, state: &State| !state.needless_no),
    ]
}

/// What a run of the checker found.
#[derive(Debug)]
pub struct Found {
    /// How many states there are.
    pub states: usize,
    /// How long the longest way is that was followed.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// Each property that does not hold, and a way to where it does not.
    pub violations: Vec<Violation>,
}

/// A property that does not hold.
#[derive(Debug)]
pub struct Violation {
    /// The property.
    pub property: &'static str,
    /// How it came to that, step by step, and how it then stands.
    pub story: String,
}

/// In which order states are visited. All of them are, in either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The shortest ways first, so that what is found is told in the fewest steps. The whole frontier is kept in memory.
    Breadth,
    /// Each way to its end, which keeps no more of a state than 64 bits once it has been left.
    Depth,
}

/// Visits every state of the setting, until a property is found not to hold.
pub fn check(setting: &Setting, variant: Variant, order: Order, threads: usize) -> Found {
    let until = HasDiscoveries::AnyFailures;
    Check { setting, variant, order, threads, until, tells: false }.run()
}

/// What is checked, and how.
#[derive(Debug)]
pub struct Check<'a> {
    /// The setting.
    pub setting: &'a Setting,
    /// The protocol as it is or broken.
    pub variant: Variant,
    /// The order of the states.
    pub order: Order,
    /// How many threads visit them.
    pub threads: usize,
    /// What is enough to be found.
    pub until: HasDiscoveries,
    /// Whether standard error is told how far it is, twice a minute.
    pub tells: bool,
}

impl Check<'_> {
    /// Visits every state, until enough is found.
    #[expect(
        clippy::disallowed_methods,
        reason = "it measures itself, and no decision depends on that"
    )]
    pub fn run(self) -> Found {
        let begun = Instant::now();
        let model = Protocols::new(self.setting.clone(), self.variant);
        let checker = model.checker().threads(self.threads).finish_when(self.until);
        match self.order {
            Order::Breadth => found(&ended(checker.spawn_bfs(), self.tells), begun),
            Order::Depth => found(&ended(checker.spawn_dfs(), self.tells), begun),
        }
    }
}

fn ended<C: Checker<Protocols> + Send + Sync>(checker: C, tells: bool) -> C {
    if tells { checker.join_and_report(&mut Progress) } else { checker.join() }
}

/// Tells how far it is.
struct Progress;

impl Reporter<Protocols> for Progress {
    fn report_checking(&mut self, data: ReportData) {
        let ReportData { unique_states, max_depth, duration, .. } = data;
        let seconds = duration.as_secs();
        let _ = writeln!(
            std::io::stderr(),
            "{unique_states:>9} states so far, depth {max_depth:>3}, {seconds:>6} s"
        );
    }

    fn report_discoveries(
        &mut self,
        _: &Protocols,
        _: BTreeMap<&'static str, ReportDiscovery<Protocols>>,
    ) {
    }

    fn delay(&self) -> Duration {
        Duration::from_secs(30)
    }
}

fn found(checker: &impl Checker<Protocols>, begun: Instant) -> Found {
    let violations = checker
        .discoveries()
        .into_iter()
        .map(|(property, path)| Violation { property, story: story(path) })
        .collect();
    Found {
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        took: begun.elapsed(),
        violations,
    }
}

/// The steps of a way, and how all stands at its end.
fn story(path: Path<State, Step>) -> String {
    let last = path.last_state().clone();
    let steps: Vec<String> = path
        .into_actions()
        .iter()
        .enumerate()
        .map(|(index, Step { come, event })| {
            let come: Vec<String> = come
                .iter()
                .filter(|one| one.actions > 0 || !one.places.is_empty())
                .map(|one| format!(", after {} has read {:?}", one.who, (one.actions, &one.places)))
                .collect();
            format!("{:>3} {event:?}{}", index + 1, come.concat())
        })
        .collect();
    let ends: Vec<&str> = last.actors.iter().map(|actor| actor.ended()).collect();
    format!(
        "{}\nactors: {ends:?}\nuntrue: {:?}\nin flight: {:?}\n{:#?}",
        steps.join("\n"),
        last.untrue,
        last.in_flight,
        last.cluster
    )
}
