//! The model itself: every state, and every step that leads out of it.

use std::sync::Arc;

use harness::{ledger, submit};

use crate::actor::{Actor, Kind};
use crate::cluster::{Age, Cluster, Run, SOMEBODY, Signature};
use crate::keeper::{self, Keeper};
use crate::life::Step;
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
}

/// One state of everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// What the API server holds.
    pub cluster: Cluster,
    /// Who is there.
    pub actors: Vec<Arc<Actor>>,
    /// What nobody waits for any more, and may still arrive.
    pub in_flight: Vec<InFlight>,
    /// What may still happen.
    pub left: Budget,
    /// A receipt that was not true when it was printed.
    pub untrue: Option<&'static str>,
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

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
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
    Nature(Step),
    /// A retention passes.
    Age,
}

impl Protocols {
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
        let actor = |actor| Arc::new(self.begin(Run { actor, life: 0 }, 0));
        let actors = (0..count).map(actor).collect();
        let left = self.setting.budget;
        State { cluster, actors, in_flight: Vec::new(), left, untrue: None }
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

    fn serve(&mut self, who: usize, place: usize, variant: Variant) -> Option<()> {
        let kind = self.actors[who].kinds()[place];
        self.arrive(kind.is_create, kind.is_blind, kind.decided)?;
        match Arc::make_mut(&mut self.actors[who]) {
            Actor::Submitter(one) => one.served(place, &mut self.cluster, variant),
            Actor::Keeper(one) => one.served(place, &mut self.cluster, variant),
            Actor::Over(..) => return None,
        }
        self.note_end(who);
        Some(())
    }

    fn lose(&mut self, who: usize, place: usize, variant: Variant) -> Option<()> {
        self.left.losses = self.left.losses.checked_sub(1)?;
        self.float(who, place);
        match Arc::make_mut(&mut self.actors[who]) {
            Actor::Submitter(one) => one.lost(place, self.cluster.age, variant),
            Actor::Keeper(one) => one.lost(place, self.cluster.age, variant),
            Actor::Over(..) => return None,
        }
        self.note_end(who);
        Some(())
    }

    fn refuse(&mut self, who: usize, place: usize) -> Option<()> {
        self.left.refusals = self.left.refusals.checked_sub(1)?;
        match Arc::make_mut(&mut self.actors[who]) {
            Actor::Submitter(one) => one.refused(place, self.cluster.age),
            Actor::Keeper(one) => one.refused(place, self.cluster.age),
            Actor::Over(..) => return None,
        }
        self.note_end(who);
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
        let run = self.actors[who].run();
        let run = Run { life: run.life + 1, ..run };
        self.actors[who] = Arc::new(model.begin(run, self.cluster.age));
        Some(())
    }

    /// The open request at this place is on its way, and nobody waits for it.
    fn float(&mut self, who: usize, place: usize) {
        let kind = self.actors[who].kinds()[place];
        let what = match &*self.actors[who] {
            Actor::Submitter(one) => {
                Change::Submit(one.signature, one.batch.open[place].request.clone())
            }
            Actor::Keeper(one) => Change::Keep(one.about, one.batch.open[place].request.clone()),
            Actor::Over(..) => return,
        };
        let Kind { decided, is_blind, .. } = kind;
        self.in_flight.push(InFlight { run: self.actors[who].run(), decided, is_blind, what });
    }

    fn land(&mut self, which: usize, variant: Variant) -> Option<()> {
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
        Some(())
    }

    /// What can change nothing any more is forgotten, since states that differ only in it are alike.
    fn forget(&mut self) {
        let under_way =
            |run: &Run| self.actors.iter().any(|actor| actor.run() == *run && !actor.is_over());
        self.cluster.removers.retain(under_way);
        let (left, age) = (self.left.late, self.cluster.age);
        let cluster = &self.cluster;
        self.in_flight.retain(|one| match &one.what {
            Change::Submit(_, request) if submitter::is_create(request) => {
                one.is_blind || one.decided >= age || left > 0
            }
            Change::Submit(signature, submit::protocol::Request::DeleteSecret(uid)) => {
                cluster.secrets.get(signature).is_some_and(|secret| secret.uid.to_string() == *uid)
            }
            Change::Submit(..) => false,
            Change::Keep(_, request) => keeper::may_still_matter(cluster, request),
        });
    }

    /// A receipt is printed: is it true?
    fn note_end(&mut self, who: usize) {
        let run = self.actors[who].run();
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
            Actor::Over(..) => None,
        };
        self.untrue = self.untrue.or(untrue);
        if self.actors[who].is_over() {
            self.actors[who] = Arc::new(Actor::Over(run, self.actors[who].ended()));
        }
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

    fn own_events(&self, who: usize, events: &mut Vec<Event>, model: &Protocols) {
        let actor = &self.actors[who];
        if actor.is_over() || self.begins(who, model) > self.cluster.age {
            return;
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
            Actor::Submitter(_) | Actor::Over(..) => 0,
            Actor::Keeper(one) => one.command.begins().min(model.setting.budget.retentions),
        }
    }
}

impl stateright::Model for Protocols {
    type State = State;
    type Action = Event;

    fn init_states(&self) -> Vec<State> {
        vec![self.first()]
    }

    fn actions(&self, state: &State, events: &mut Vec<Event>) {
        for who in 0..state.actors.len() {
            state.own_events(who, events, self);
        }
        events.extend((0..state.in_flight.len()).map(Event::Land));
        if state.left.hands > 0 {
            events.extend(state.cluster.secrets.keys().map(|name| Event::TakeSecret(name)));
            events.push(Event::TakeJob);
        }
        events.extend(Step::ALL.map(Event::Nature));
        events.push(Event::Age);
    }

    fn next_state(&self, state: &State, event: Event) -> Option<State> {
        let mut next = state.clone();
        match event {
            Event::Serve(who, place) => next.serve(who, place, self.variant)?,
            Event::Lose(who, place) => next.lose(who, place, self.variant)?,
            Event::Refuse(who, place) => next.refuse(who, place)?,
            Event::Crash(who) => next.crash(who, false, self)?,
            Event::CrashSending(who) => next.crash(who, true, self)?,
            Event::Land(which) => next.land(which, self.variant)?,
            Event::TakeSecret(signature) => next.take_secret(signature)?,
            Event::TakeJob => next.take_job()?,
            Event::Nature(step) => step.take(&mut next.cluster).then_some(())?,
            Event::Age => next.grow_older()?,
        }
        if self.variant == Variant::Sound {
            next.forget();
        }
        Some(next)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        crate::check::properties()
    }
}
