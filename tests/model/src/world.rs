//! The model itself: every state, and every step that leads out of it.

use harness::{ledger, submit};

use crate::actor::{Actor, Kind, Shared, Word};
use crate::cluster::{Age, Cluster, Run, SOMEBODY, Signature};
use crate::keeper::{self, Keeper};
use crate::life;
use crate::reads::{Come, Reads, choices, product, way};
use crate::setting::{Budget, Setting};
use crate::submitter::{self, Submitter};
use crate::variant::Variant;

/// A setting, and the protocol as it is or broken.
#[derive(Debug, Clone)]
pub struct Protocols {
    /// Who and what.
    pub setting: Setting,
    /// Which rule is undone.
    pub variant: Variant,
    /// Which orders of reads are told apart.
    pub reads: Reads,
}

/// One state of everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// What the API server holds.
    pub cluster: Cluster,
    /// Who is there.
    pub actors: Vec<Shared>,
    /// What nobody waits for any more, and may still arrive.
    pub in_flight: Vec<InFlight>,
    /// What may still happen.
    pub left: Budget,
    /// A receipt that was not true when it was printed.
    pub untrue: Option<&'static str>,
    /// A receipt that tells of a conflict, or of a no where there was none.
    pub needless_no: bool,
}

/// A change on its way, whose sender has given up or is gone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InFlight {
    /// Who sent it.
    pub run: Run,
    /// When it was decided.
    pub decided: Age,
    /// It is repeated blindly.
    pub is_blind: bool,
    /// What it is.
    pub what: Change,
}

/// A change on its way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Change {
    /// Of a submitter with this signature.
    Submit(Signature, submit::protocol::Request),
    /// Of a keeper that decided about this Job.
    Keep(Option<u8>, ledger::protocol::Request),
}

/// A step from one state to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// How far others had come just before, of those that stood still.
    pub come: Vec<Come>,
    /// What happens.
    pub event: Event,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The actor ends, since of all that it reads nothing leads to another change.
    End(usize),
    /// The open request at this place of the actor is served and answered.
    Serve(usize, usize),
    /// Nobody hears how the change ended; it may arrive later.
    Lose(usize, usize),
    /// The server says no to the change.
    Refuse(usize, usize),
    /// The process is killed before it sends anything more, and begun again.
    Crash(usize),
    /// The process is killed with its changes on their way, and begun again.
    CrashSending(usize),
    /// A change that was on its way arrives.
    Land(usize),
    /// A foreign hand deletes the Secret of this signature.
    TakeSecret(Signature),
    /// A foreign hand deletes the Job.
    TakeJob,
    /// The cluster goes on by itself.
    Nature(life::Step),
    /// A retention passes.
    Age,
}

impl Protocols {
    /// Of this setting, with reads answered late.
    pub fn new(setting: Setting, variant: Variant) -> Self {
        Self { setting, variant, reads: Reads::Late }
    }

    /// An actor at the beginning of its command.
    pub fn begin(&self, run: Run, now: Age) -> Actor {
        let index = usize::from(run.actor);
        let Setting { submitters, keepers, tries, .. } = &self.setting;
        match submitters.get(index) {
            Some(signature) => {
                Actor::Submitter(Submitter::new(run, signature, now, *tries, self.variant))
            }
            None => Actor::Keeper(Keeper::new(run, keepers[index - submitters.len()], now, *tries)),
        }
    }

    fn first(&self) -> State {
        let Setting { submitters, keepers, .. } = &self.setting;
        let mut cluster = Cluster {
            waits_for_nodes: self.setting.waits_for_nodes,
            has_queue: self.setting.has_queue,
            preempts: self.setting.preempts,
            ..Cluster::default()
        };
        if self.setting.stands {
            let signature = submitters.first().copied().unwrap_or("a");
            cluster.create_secret(signature, SOMEBODY);
            cluster.create_job(signature, SOMEBODY, true);
        }
        let count = u8::try_from(submitters.len() + keepers.len()).expect("a few actors");
        let actor = |actor| Shared::new(self.begin(Run { actor, life: 0 }, 0));
        let actors = (0..count).map(actor).collect();
        let left = self.setting.budget;
        State { cluster, actors, in_flight: Vec::new(), left, untrue: None, needless_no: false }
    }
}

impl State {
    /// Whether a change that was decided then may arrive now.
    fn may_arrive(&self, is_create: bool, is_blind: bool, decided: Age) -> bool {
        !is_create || is_blind || decided >= self.cluster.age || self.left.late > 0
    }

    /// A change arrives; a create that was decided before a retention uses up one that may.
    fn arrive(&mut self, is_create: bool, is_blind: bool, decided: Age) -> Option<()> {
        if is_create && !is_blind && decided < self.cluster.age {
            self.left.late = self.left.late.checked_sub(1)?;
        }
        Some(())
    }

    /// The actor goes to the end of its way.
    fn go(&mut self, who: usize, model: &Protocols) {
        if model.reads == Reads::Late {
            let way = way(&self.actors[who], &self.cluster, model.variant);
            self.actors[who] = way[way.len() - 1].clone();
        }
    }

    fn serve(&mut self, who: usize, place: usize, model: &Protocols) -> Option<()> {
        let kind = self.actors[who].kinds()[place];
        self.arrive(kind.is_create, kind.is_blind, kind.decided)?;
        self.answer(who, &[place], model);
        Some(())
    }

    /// The requests of these places, one after the other, are served and answered.
    fn answer(&mut self, who: usize, places: &[usize], model: &Protocols) {
        let cluster = &mut self.cluster;
        self.actors[who].change(|actor| actor.served(places, cluster, model.variant));
        self.note_end(who, model);
    }

    fn lose(&mut self, who: usize, place: usize, model: &Protocols) -> Option<()> {
        self.left.losses = self.left.losses.checked_sub(1)?;
        self.float(who, place);
        let age = self.cluster.age;
        self.actors[who].change(|actor| match actor {
            Actor::Submitter(one) => one.lost(place, age, model.variant),
            Actor::Keeper(one) => one.lost(place, age, model.variant),
            Actor::Over(_) => {}
        });
        self.note_end(who, model);
        Some(())
    }

    fn refuse(&mut self, who: usize, place: usize, model: &Protocols) -> Option<()> {
        self.left.refusals = self.left.refusals.checked_sub(1)?;
        let age = self.cluster.age;
        self.actors[who].change(|actor| match actor {
            Actor::Submitter(one) => one.refused(place, age),
            Actor::Keeper(one) => one.refused(place, age),
            Actor::Over(_) => {}
        });
        self.note_end(who, model);
        Some(())
    }

    fn crash(&mut self, who: usize, sending: bool, model: &Protocols) -> Option<()> {
        self.left.crashes = self.left.crashes.checked_sub(1)?;
        if sending {
            for (place, kind) in self.actors[who].kinds().iter().enumerate() {
                if kind.is_effect {
                    self.float(who, place);
                }
            }
        }
        let run = self.actors[who].run()?;
        // Before it has done anything a crash only uses up one, and then less may befall than without it.
        if *self.actors[who] == model.begin(run, self.cluster.age) {
            return None;
        }
        // Its first life is over before the next one begins.
        self.actors[who] = Shared::new(Actor::Over(Word("crashed")));
        self.forget_the_dead();
        let run = Run { life: self.next_life(run.actor), ..run };
        self.actors[who] = Shared::new(model.begin(run, self.cluster.age));
        Some(())
    }

    /// The open request at this place is on its way, and nobody waits for it.
    fn float(&mut self, who: usize, place: usize) {
        let Some(run) = self.actors[who].run() else { return };
        let kind = self.actors[who].kinds()[place];
        let what = match &*self.actors[who] {
            Actor::Submitter(one) => {
                Change::Submit(one.signature, one.batch.open[place].request.clone())
            }
            Actor::Keeper(one) => Change::Keep(one.about, one.batch.open[place].request.clone()),
            Actor::Over(_) => return,
        };
        let Kind { decided, is_blind, .. } = kind;
        self.in_flight.push(InFlight { run, decided, is_blind, what });
    }

    /// One that changes nothing is left on its way, from where it may still change something, or never arrive.
    fn land(&mut self, which: usize, variant: Variant) -> Option<()> {
        let before = self.cluster.clone();
        let InFlight { run, decided, is_blind, what } = self.in_flight.remove(which);
        match &what {
            Change::Submit(signature, request) => {
                self.arrive(submitter::is_create(request), is_blind, decided)?;
                submitter::serve(&mut self.cluster, run, signature, request, variant);
            }
            Change::Keep(about, request) => {
                keeper::serve(&mut self.cluster, run, *about, request, variant);
            }
        }
        (self.cluster != before).then_some(())
    }

    /// A receipt is printed: is it true?
    fn note_end(&mut self, who: usize, model: &Protocols) {
        let actor = &self.actors[who];
        let Some(run) = actor.run().filter(|_| actor.is_over()) else { return };
        let on_its_way = |is_it: fn(&submit::protocol::Request) -> bool| {
            self.in_flight.iter().any(|one| match &one.what {
                Change::Submit(_, request) => one.run == run && is_it(request),
                Change::Keep(..) => false,
            })
        };
        let untrue = match &*self.actors[who] {
            Actor::Submitter(one) => one.is_untrue(
                &self.cluster,
                on_its_way(|request| matches!(request, submit::protocol::Request::CreateJob(_))),
                on_its_way(|request| matches!(request, submit::protocol::Request::CreateSecret)),
            ),
            Actor::Keeper(one) => one.is_untrue(&self.cluster),
            Actor::Over(_) => None,
        };
        self.untrue = self.untrue.or(untrue);
        let ended = self.actors[who].ended();
        self.needless_no |= match ended {
            "conflict" => true,
            "refused" => self.left.refusals == model.setting.budget.refusals,
            _ => false,
        };
        self.actors[who] = Shared::new(Actor::Over(Word(ended)));
    }

    fn take_secret(&mut self, signature: Signature) -> Option<()> {
        self.left.hands = self.left.hands.checked_sub(1)?;
        self.cluster.secrets.remove(signature).map(|_| ())
    }

    fn take_job(&mut self) -> Option<()> {
        self.left.hands = self.left.hands.checked_sub(1)?;
        self.cluster.take_job().then_some(())
    }

    /// Whatever is there has ended, and a retention passes.
    fn grow_older(&mut self) -> Option<()> {
        self.left.retentions = self.left.retentions.checked_sub(1)?;
        self.cluster.job.as_ref().filter(|job| job.finished.is_some())?;
        self.cluster.age += 1;
        Some(())
    }

    /// Who is at work.
    fn at_work(&self, model: &Protocols) -> impl Iterator<Item = usize> {
        (0..self.actors.len()).filter(|who| {
            !self.actors[*who].is_over() && self.begins(*who, model) <= self.cluster.age
        })
    }

    fn own_events(&self, who: usize, events: &mut Vec<Event>, model: &Protocols) {
        let mut actor = self.actors[who].clone();
        if model.reads == Reads::Late {
            let way = way(&actor, &self.cluster, model.variant);
            actor = way[way.len() - 1].clone();
            if actor.is_over() {
                events.push(Event::End(who));
            }
        }
        let kinds = actor.kinds();
        for (place, kind) in kinds.iter().enumerate() {
            if self.may_arrive(kind.is_create, kind.is_blind, kind.decided) {
                events.push(Event::Serve(who, place));
            }
            if kind.is_effect && self.left.losses > 0 {
                events.push(Event::Lose(who, place));
            }
            if kind.is_effect && self.left.refusals > 0 {
                events.push(Event::Refuse(who, place));
            }
        }
        if self.left.crashes > 0 {
            events.push(Event::Crash(who));
            if kinds.iter().any(|kind| kind.is_effect) {
                events.push(Event::CrashSending(who));
            }
        }
    }

    fn begins(&self, who: usize, model: &Protocols) -> Age {
        match &*self.actors[who] {
            Actor::Submitter(_) | Actor::Over(_) => 0,
            Actor::Keeper(one) => one.command.begins().min(model.setting.budget.retentions),
        }
    }
}

impl Event {
    /// Who goes on with it.
    fn actor(self) -> Option<usize> {
        match self {
            Self::End(who)
            | Self::Serve(who, _)
            | Self::Lose(who, _)
            | Self::Refuse(who, _)
            | Self::CrashSending(who) => Some(who),
            // Of one that crashes before it sends anything, nothing that it read matters.
            Self::Crash(_)
            | Self::Land(_)
            | Self::TakeSecret(_)
            | Self::TakeJob
            | Self::Nature(_)
            | Self::Age => None,
        }
    }

    /// Whether what reads are told may be another afterwards.
    fn may_change_the_cluster(self) -> bool {
        match self {
            Self::Serve(..)
            | Self::Land(_)
            | Self::TakeSecret(_)
            | Self::TakeJob
            | Self::Nature(_)
            | Self::Age => true,
            Self::End(_)
            | Self::Lose(..)
            | Self::Refuse(..)
            | Self::Crash(_)
            | Self::CrashSending(_) => false,
        }
    }
}

impl stateright::Model for Protocols {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![self.first()]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        for event in self.events(state) {
            if self.reads == Reads::AtAnyTime || !event.may_change_the_cluster() {
                steps.push(Step { come: Vec::new(), event });
            } else if let Some(then) = self.then(state.clone(), event) {
                let come = self.come(state, event, &then.cluster).into_iter();
                steps.extend(come.map(|come| Step { come, event }));
            }
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut state = state.clone();
        for Come { who, actions, mut places } in step.come {
            let way = way(&state.actors[who], &state.cluster, self.variant);
            state.actors[who] = way[actions].clone();
            // From the last place on, since each answer moves the places behind it.
            places.reverse();
            state.answer(who, &places, self);
        }
        let mut next = self.then(state, step.event)?;
        if self.variant == Variant::Sound {
            next.forget();
        }
        Some(next)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        crate::check::properties()
    }
}

impl Protocols {
    /// How far everybody else may have come before the event.
    fn come(&self, state: &State, event: Event, then: &Cluster) -> Vec<Vec<Come>> {
        let is_time = event == Event::Age;
        if !is_time && state.cluster.shows_the_same_as(then) {
            return vec![Vec::new()];
        }
        let others = state.at_work(self).filter(|who| event.actor() != Some(*who));
        let choices: Vec<Vec<Come>> = others
            .map(|who| {
                let way = way(&state.actors[who], &state.cluster, self.variant);
                choices(who, &way, &state.cluster, then, is_time, self.variant)
            })
            .collect();
        product(&choices)
    }

    fn events(&self, state: &State) -> Vec<Event> {
        let mut events = Vec::new();
        for who in state.at_work(self) {
            state.own_events(who, &mut events, self);
        }
        events.extend((0..state.in_flight.len()).map(Event::Land));
        if state.left.hands > 0 {
            events.extend(state.cluster.secrets.keys().map(|name| Event::TakeSecret(name)));
            events.push(Event::TakeJob);
        }
        events.extend(life::Step::ALL.map(Event::Nature));
        events.push(Event::Age);
        events
    }

    /// The state once this has happened.
    fn then(&self, mut next: State, event: Event) -> Option<State> {
        if let Some(who) = event.actor() {
            next.go(who, self);
        }
        match event {
            Event::End(who) => next.note_end(who, self),
            Event::Serve(who, place) => next.serve(who, place, self)?,
            Event::Lose(who, place) => next.lose(who, place, self)?,
            Event::Refuse(who, place) => next.refuse(who, place, self)?,
            Event::Crash(who) => next.crash(who, false, self)?,
            Event::CrashSending(who) => next.crash(who, true, self)?,
            Event::Land(which) => next.land(which, self.variant)?,
            Event::TakeSecret(signature) => next.take_secret(signature)?,
            Event::TakeJob => next.take_job()?,
            Event::Nature(step) => step.take(&mut next.cluster).then_some(())?,
            Event::Age => next.grow_older()?,
        }
        Some(next)
    }
}
