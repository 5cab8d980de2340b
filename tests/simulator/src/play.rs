//! Plays one schedule: the director, who decides at each turn what happens next.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use harness::cluster::{Expected, Method, Outcome, Request, Resource};

use crate::chance::Random;
use crate::checks;
use crate::controllers;
use crate::experiments::{EXPERIMENTS, Experiments, SIGNATURES};
use crate::faults::Fault;
use crate::figures::Figures;
use crate::lies::Lie;
use crate::process;
use crate::schedule::{Schedule, Weather, Work};
use crate::server::{HAND, Server, Who, is_create, is_effect, name_of};
use crate::stage::{Ask, Reply, Stage};

/// A create that arrives later than this after it was sent is a very late one: the least retention of a prune.
const VERY_LATE: Duration = Duration::from_hours(1);

/// More turns than any schedule needs; most of them go to a cluster that has nothing to do while a slow process waits.
const MOST_TURNS: usize = 1_000_000;

/// What all threads of a schedule share.
pub struct Shared {
    /// Where they meet.
    pub stage: Arc<Stage>,
    /// The API server.
    pub server: Mutex<Server>,
    /// The experiments.
    pub experiments: &'static Experiments,
    /// Changes on their way, for which nobody waits.
    pub floating: Mutex<Vec<Floating>>,
    /// How much had happened when a process sent its last action.
    pub windows: Mutex<std::collections::BTreeMap<Who, Window>>,
    /// What must not be, and is.
    pub problems: Mutex<Vec<String>>,
    /// What was counted.
    pub figures: Mutex<Figures>,
    /// What happened, in words.
    pub trace: Mutex<Vec<String>>,
    /// Which rule is undone.
    pub lie: Option<Lie>,
}

/// How much had happened when a process sent what its receipt rests on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Window {
    /// Its last action.
    pub action: usize,
    /// Its last action that read a Job: what is read after it, the record, can only have come, never gone.
    pub job: usize,
    /// Its last action that read a Secret.
    pub secret: usize,
}

/// A change on its way.
#[derive(Debug, Clone)]
pub struct Floating {
    /// Who sent it.
    pub who: Who,
    /// When.
    pub sent: Duration,
    /// What it is.
    pub request: Request,
}

impl Shared {
    /// The server, as of now.
    pub fn server(&self) -> MutexGuard<'_, Server> {
        let mut server = self.server.lock().expect("nobody panics with it");
        server.now = self.stage.now();
        server
    }

    /// Something that must not be, and is.
    pub fn problem(&self, what: impl Into<String>) {
        let what = what.into();
        self.say(format!("PROBLEM: {what}"));
        self.problems.lock().expect("nobody panics with it").push(what);
    }

    /// Something that happened, in words.
    pub fn say(&self, what: impl AsRef<str>) {
        let passed = self.stage.now().as_secs_f64();
        let line = format!("{passed:>12.3}  {}", what.as_ref());
        self.trace.lock().expect("nobody panics with it").push(line);
    }

    /// Counts.
    pub fn count(&self, count: impl FnOnce(&mut Figures)) {
        count(&mut self.figures.lock().expect("nobody panics with it"));
    }
}

/// How a schedule went.
#[derive(Debug)]
pub struct Played {
    /// What must not be, and was.
    pub problems: Vec<String>,
    /// What was counted.
    pub figures: Figures,
    /// What happened, in words.
    pub trace: Vec<String>,
}

/// Plays the schedule of a seed.
pub fn play(seed: u64, lie: Option<Lie>) -> Played {
    let mut random = Random::new(seed);
    let schedule = Schedule::of(seed, &mut random);
    let shared = Arc::new(Shared {
        stage: Arc::default(),
        server: Mutex::new(Server::with_quota(schedule.most_jobs)),
        experiments: Experiments::of(schedule.has_queue),
        floating: Mutex::default(),
        windows: Mutex::default(),
        problems: Mutex::default(),
        figures: Mutex::default(),
        trace: Mutex::default(),
        lie,
    });
    shared.say(format!("{schedule:?}"));
    let names = (0..EXPERIMENTS).map(|one| shared.experiments.job_name(one)).collect();
    let weather = schedule.weather;
    let mut director =
        Director { shared: Arc::clone(&shared), random, weather, names, processes: Vec::new() };
    director.storm(&schedule);
    director.calm(&schedule);
    drop(director);
    shared.count(|figures| figures.schedules = 1);
    let take =
        |of: &Mutex<Vec<String>>| std::mem::take(&mut *of.lock().expect("nobody panics with it"));
    let figures = std::mem::take(&mut *shared.figures.lock().expect("nobody panics with it"));
    Played { problems: take(&shared.problems), figures, trace: take(&shared.trace) }
}

struct Process {
    who: Who,
    work: Work,
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    open: Vec<(usize, Request)>,
    answers: Vec<Option<Outcome>>,
    sent: Duration,
    wakes: Option<Duration>,
    is_over: bool,
    /// Whether it is far slower than the others.
    lags: bool,
    /// Whether it stands still.
    rests: bool,
}

struct Director {
    shared: Arc<Shared>,
    random: Random,
    weather: Weather,
    names: Vec<String>,
    processes: Vec<Process>,
}

/// What may happen in a turn.
#[derive(Debug, Clone, Copy)]
enum Choice {
    Serve(usize, usize),
    Wake(usize),
    Begin,
    Land(usize),
    Nature(usize),
    Kill(usize),
    Stop(usize),
    Rest(usize),
    Rise(usize),
    Hand,
    Pause,
}

impl Director {
    fn begin(&mut self, work: &Work, skew: i64) {
        let who = self.processes.len();
        self.shared.say(format!("process {who} begins: {work:?}"));
        let stop = Arc::new(AtomicBool::new(false));
        self.shared.stage.enter(who);
        let (shared, flag) = (Arc::clone(&self.shared), Arc::clone(&stop));
        let (one, of) = (work.clone(), skew);
        let thread = std::thread::spawn(move || process::run(&shared, who, &one, of, &flag));
        let lags = self.random.permille(150);
        self.processes.push(Process {
            who,
            work: work.clone(),
            thread: Some(thread),
            stop,
            open: Vec::new(),
            answers: Vec::new(),
            sent: Duration::ZERO,
            wakes: None,
            is_over: false,
            lags,
            rests: false,
        });
        let ask = self.shared.stage.await_ask(who);
        self.take(who, ask);
    }

    /// A process has stopped again.
    fn take(&mut self, who: Who, ask: Option<Ask>) {
        let process = &mut self.processes[who];
        process.wakes = None;
        match ask {
            None => {
                process.is_over = true;
                if let Some(thread) = process.thread.take()
                    && thread.join().is_err()
                {
                    self.shared.problem(format!("process {who} panicked"));
                }
            }
            Some(Ask::Sleep(until)) => process.wakes = Some(until),
            Some(Ask::Send(requests)) => {
                let happened = self.shared.server().history.len();
                let mut windows = self.shared.windows.lock().expect("nobody panics with it");
                let window = windows.entry(who).or_default();
                window.action = happened;
                let reads = |kind| requests.iter().any(|request| reads(request, kind));
                if reads(Resource::Jobs) {
                    window.job = happened;
                }
                if reads(Resource::Secrets) {
                    window.secret = happened;
                }
                drop(windows);
                process.sent = self.shared.stage.now();
                process.answers = vec![None; requests.len()];
                process.open = requests.into_iter().enumerate().collect();
            }
        }
    }

    fn storm(&mut self, schedule: &Schedule) {
        let mut waiting: Vec<(Work, i64)> =
            schedule.works.iter().cloned().zip(schedule.skews.iter().copied()).rev().collect();
        for _ in 0..MOST_TURNS {
            let choices = self.choices(&waiting);
            if choices.is_empty() {
                return;
            }
            let total: usize = choices.iter().map(|(weight, _)| weight).sum();
            let mut ticket = self.random.below(total);
            let chosen = choices.iter().find(|(weight, _)| {
                let is_it = ticket < *weight;
                ticket = ticket.saturating_sub(*weight);
                is_it
            });
            if let Some((_, choice)) = chosen {
                self.turn(*choice, &mut waiting);
            }
        }
        self.shared.problem("the schedule does not end");
    }

    fn choices(&self, waiting: &[(Work, i64)]) -> Vec<(usize, Choice)> {
        let mut choices = Vec::new();
        let alive = || self.processes.iter().filter(|process| !process.is_over);
        for process in alive().filter(|process| !process.rests) {
            let weight = if process.lags { 30 } else { 1000 };
            choices.extend(
                (0..process.open.len()).map(|slot| (weight, Choice::Serve(process.who, slot))),
            );
            if process.wakes.is_some() {
                choices.push((weight, Choice::Wake(process.who)));
            }
        }
        let all_rest = choices.is_empty();
        if all_rest && waiting.is_empty() && alive().next().is_none() {
            return choices;
        }
        if !waiting.is_empty() {
            choices.push((if all_rest { 1000 } else { 150 }, Choice::Begin));
        }
        for process in alive() {
            if process.rests {
                choices.push((if all_rest { 300 } else { 3 }, Choice::Rise(process.who)));
            } else if self.weather.rests > 0 {
                choices.push((40, Choice::Rest(process.who)));
            }
        }
        let floating = self.shared.floating.lock().expect("nobody panics with it").len();
        choices.extend((0..floating).map(|which| (60, Choice::Land(which))));
        choices.extend((0..EXPERIMENTS).map(|one| (self.weather.nature, Choice::Nature(one))));
        for who in alive().map(|process| process.who) {
            choices.extend((self.weather.kills > 0).then_some((25, Choice::Kill(who))));
            choices.extend((self.weather.stops > 0).then_some((15, Choice::Stop(who))));
        }
        choices.extend((self.weather.hands > 0).then_some((40, Choice::Hand)));
        choices.extend((self.weather.pauses > 0).then_some((60, Choice::Pause)));
        choices
    }

    fn turn(&mut self, choice: Choice, waiting: &mut Vec<(Work, i64)>) {
        match choice {
            Choice::Serve(who, slot) => self.serve(who, slot),
            Choice::Wake(who) => self.wake(who),
            Choice::Begin => {
                if let Some((work, skew)) = waiting.pop() {
                    self.begin(&work, skew);
                }
            }
            Choice::Land(which) => self.land(which),
            Choice::Nature(one) => {
                self.nature(one);
            }
            Choice::Kill(who) => {
                self.weather.kills -= 1;
                let work = self.kill(who);
                waiting.push((work, 0));
            }
            Choice::Stop(who) => {
                self.weather.stops -= 1;
                self.shared.count(|figures| figures.fault("asked to stop"));
                self.shared.say(format!("process {who} is asked to stop"));
                self.processes[who].stop.store(true, Ordering::Relaxed);
            }
            Choice::Rest(who) => {
                self.weather.rests -= 1;
                self.shared.count(|figures| figures.fault("stands still"));
                self.shared.say(format!("process {who} stands still"));
                self.processes[who].rests = true;
            }
            Choice::Rise(who) => {
                self.shared.say(format!("process {who} goes on"));
                self.processes[who].rests = false;
            }
            Choice::Hand => self.hand(),
            Choice::Pause => {
                self.weather.pauses -= 1;
                let minutes = self.random.pick(&[1, 4, 6, 20, 61, 61, 90, 300, 1500]);
                self.shared.count(|figures| figures.fault("pause"));
                self.shared.say(format!("nothing happens for {minutes} minutes"));
                self.shared.stage.pass(Duration::from_mins(minutes));
            }
        }
    }

    /// Whether a create that was sent then may still arrive; one that is very late uses up one of few.
    fn may_arrive(&mut self, request: &Request, sent: Duration) -> bool {
        let is_late = is_create(request) && self.shared.stage.now() > sent + VERY_LATE;
        if !is_late || self.shared.lie == Some(Lie::BlindRetry) {
            return true;
        }
        let may = self.weather.very_late > 0;
        if may {
            self.weather.very_late -= 1;
            self.shared.count(|figures| figures.fault("arrives after a retention"));
        }
        may
    }

    fn serve(&mut self, who: Who, slot: usize) {
        let (place, request) = self.processes[who].open.remove(slot);
        self.shared.count(|figures| figures.requests += 1);
        let millis = self.random.pick(&[1, 2, 5, 20, 40, 300, 4000]);
        self.shared.stage.pass(Duration::from_millis(millis));
        let request = self.shared.lie.map_or(request.clone(), |lie| lie.sent(request));
        let mut fault = self
            .random
            .permille(self.weather.faults)
            .then(|| Fault::draw(&mut self.random, &request));
        if !self.may_arrive(&request, self.processes[who].sent) {
            fault = Some(Fault::CutBefore);
        }
        let outcome = match fault {
            None => self.shared.server().serve(who, &request),
            Some(fault) => self.befall(who, &request, fault),
        };
        let outcome = match self.shared.lie {
            Some(lie) => lie.told(&request, outcome, &self.shared.server().named_secrets()),
            None => outcome,
        };
        self.shared.say(format!(
            "process {who}: {}{} -> {}",
            words(&request),
            said(fault),
            brief(&outcome)
        ));
        let process = &mut self.processes[who];
        process.answers[place] = Some(outcome);
        if process.open.is_empty() {
            let answers = std::mem::take(&mut process.answers).into_iter().flatten().collect();
            let ask = self.shared.stage.reply(who, Reply::Answers(answers));
            self.take(who, ask);
        }
    }

    fn befall(&mut self, who: Who, request: &Request, fault: Fault) -> Outcome {
        self.shared.count(|figures| figures.fault(format!("{fault:?}")));
        if fault.arrives() {
            self.shared.server().serve(who, request);
        }
        if fault == Fault::Late {
            self.shared.stage.pass(request.timeout);
            self.float(who, self.processes[who].sent, request);
        }
        fault.heard(request, &mut self.random)
    }

    fn float(&self, who: Who, sent: Duration, request: &Request) {
        let floating = Floating { who, sent, request: request.clone() };
        self.shared.floating.lock().expect("nobody panics with it").push(floating);
    }

    fn wake(&mut self, who: Who) {
        if let Some(until) = self.processes[who].wakes {
            self.shared.stage.pass(until.saturating_sub(self.shared.stage.now()));
        }
        let ask = self.shared.stage.reply(who, Reply::Awake);
        self.take(who, ask);
    }

    fn land(&mut self, which: usize) {
        let one = self.shared.floating.lock().expect("nobody panics with it").remove(which);
        if self.may_arrive(&one.request, one.sent) {
            let outcome = self.shared.server().serve(one.who, &one.request);
            let what = words(&one.request);
            self.shared.say(format!(
                "process {}'s {what} arrives late -> {}",
                one.who,
                brief(&outcome)
            ));
        }
    }

    fn nature(&mut self, one: usize) -> bool {
        let name = &self.names[one];
        let what = controllers::step(&mut self.shared.server(), name, &mut self.random);
        if let Some(what) = what {
            let seconds = self.random.pick(&[1, 3, 20]);
            self.shared.stage.pass(Duration::from_secs(seconds));
            self.shared.say(format!("{what} ({name})"));
        }
        what.is_some()
    }

    fn kill(&mut self, who: Who) -> Work {
        self.shared.count(|figures| figures.fault("killed"));
        self.shared.say(format!("process {who} is killed"));
        let open = std::mem::take(&mut self.processes[who].open);
        for (_, request) in open {
            if is_effect(&request) && self.random.permille(600) {
                self.float(who, self.processes[who].sent, &request);
            }
        }
        let ask = self.shared.stage.reply(who, Reply::Killed);
        self.take(who, ask);
        self.processes[who].work.clone()
    }

    fn hand(&mut self) {
        let mut server = self.shared.server();
        let objects: Vec<_> = server.objects.keys().cloned().collect();
        // A record may be deleted by nobody, by admission policy.
        let may = |kind: &Resource| matches!(kind, Resource::Secrets | Resource::Jobs);
        let objects: Vec<_> = objects.into_iter().filter(|(kind, _)| may(kind)).collect();
        if objects.is_empty() {
            return;
        }
        let (kind, name) = objects[self.random.below(objects.len())].clone();
        server.remove(HAND, kind, &name);
        drop(server);
        self.weather.hands -= 1;
        self.shared.count(|figures| figures.fault(format!("a hand deletes a {}", kind.kind())));
        self.shared.say(format!("a hand deletes the {} {name}", kind.kind()));
    }

    /// The storm is over: what was on its way arrives or is lost, every command is run again, and life goes on.
    fn calm(&mut self, schedule: &Schedule) {
        self.weather =
            Weather { faults: 0, kills: 0, stops: 0, hands: 0, pauses: 0, ..self.weather };
        self.shared.server().most_jobs = None;
        while !self.shared.floating.lock().expect("nobody panics with it").is_empty() {
            if self.random.permille(700) {
                self.land(0);
            } else {
                self.shared.floating.lock().expect("nobody panics with it").remove(0);
            }
        }
        checks::history(&self.shared, &self.names);
        let used = |one: usize| {
            schedule.works.iter().any(|work| {
                matches!(work, Work::Submit(items) if items.iter().any(|(other, _)| *other == one))
            })
        };
        for one in (0..EXPERIMENTS).filter(|one| used(*one)) {
            self.shared.say("all is calm, and the same commands are run again");
            for signature in 0..SIGNATURES.len() {
                self.alone(&Work::Submit(vec![(one, signature)]));
            }
            checks::converged(&self.shared, &self.names[one]);
            self.live_on(one);
        }
        self.alone(&Work::Prune { secrets_only: false });
        self.shared.stage.pass(Duration::from_hours(24));
        // Deadlines have passed by now, and what ended by them is older than a retention in two hours.
        for one in (0..EXPERIMENTS).filter(|one| used(*one)) {
            self.live_on(one);
        }
        self.shared.stage.pass(Duration::from_hours(2));
        self.alone(&Work::Prune { secrets_only: false });
        for one in (0..EXPERIMENTS).filter(|one| used(*one)) {
            checks::pruned(&self.shared, &self.names[one]);
            self.alone(&Work::Submit(vec![(one, 0)]));
            self.live_on(one);
        }
        checks::history(&self.shared, &self.names);
    }

    /// A command, undisturbed.
    fn alone(&mut self, work: &Work) {
        self.begin(work, 0);
        let who = self.processes.len() - 1;
        for _ in 0..MOST_TURNS {
            if self.processes[who].is_over {
                return;
            }
            if self.processes[who].wakes.is_some() {
                self.wake(who);
            } else {
                self.serve(who, 0);
            }
        }
        self.shared.problem("a command that is undisturbed does not end");
    }

    /// The cluster goes on until nothing is left to do.
    fn live_on(&mut self, one: usize) {
        let mut idle = 0;
        while idle < 80 {
            idle = if self.nature(one) { 0 } else { idle + 1 };
        }
    }
}

impl Drop for Director {
    fn drop(&mut self) {
        // Threads that still wait would wait for ever.
        for who in 0..self.processes.len() {
            while !self.processes[who].is_over {
                let ask = self.shared.stage.reply(who, Reply::Killed);
                self.take(who, ask);
            }
        }
    }
}

fn reads(request: &Request, kind: Resource) -> bool {
    let is_it = matches!(request.expected, Expected::Object { resource, .. } if resource == kind);
    is_it && request.method == Method::Get
}

fn words(request: &Request) -> String {
    let kind = match &request.expected {
        Expected::List(resource) => format!("list of {}", resource.plural()),
        Expected::Nameless(resource) => resource.kind().to_owned(),
        Expected::Object { resource, .. } | Expected::Deleted { resource, .. } => {
            format!("{} {}", resource.kind(), name_of(request))
        }
        Expected::Log => "log".to_owned(),
    };
    let rehearses = request.query.contains(&("dryRun", "All".to_owned()));
    format!("{} {kind}{}", request.method.as_str(), if rehearses { " (dry run)" } else { "" })
}

fn said(fault: Option<Fault>) -> String {
    fault.map_or_else(String::new, |fault| format!(" [{fault:?}]"))
}

fn brief(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done(answer) => {
            let uid = answer.body["metadata"]["uid"].as_str().unwrap_or_default();
            let items =
                answer.body["items"].as_array().map(|items| format!("{} items", items.len()));
            format!("{} {uid}{}", answer.status, items.unwrap_or_default())
        }
        Outcome::Refused(status) => format!("{} {}", status.code, status.reason),
        Outcome::Unknown(unknown) => format!("unknown: {unknown}"),
    }
}
