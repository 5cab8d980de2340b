//! Threads that run one at a time: each command is a real thread that stops whenever it sends or sleeps, and the
//! director decides who goes on. So the shipping code runs as it is, and every run of a seed is the same.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use harness::cluster::{Outcome, Request};

/// What a process waits for.
#[derive(Debug, Clone)]
pub enum Ask {
    /// The answers to these requests.
    Send(Vec<Request>),
    /// This time.
    Sleep(Duration),
}

/// What a process hears.
#[derive(Debug, Clone)]
pub enum Reply {
    /// The answers.
    Answers(Vec<Outcome>),
    /// It is time.
    Awake,
    /// It is killed, here and now.
    Killed,
}

#[derive(Debug)]
enum Turn {
    Running,
    Asks(Ask),
    Hears(Reply),
    Over,
}

/// The payload of a thread's end that was a kill.
#[derive(Debug)]
pub struct Killed;

/// Where threads meet.
#[derive(Debug, Default)]
pub struct Stage {
    turns: Mutex<(Duration, BTreeMap<usize, Turn>)>,
    changed: Condvar,
}

impl Stage {
    fn lock(&self) -> MutexGuard<'_, (Duration, BTreeMap<usize, Turn>)> {
        self.turns.lock().expect("no thread panics while it holds the lock")
    }

    /// How much time has passed.
    pub fn now(&self) -> Duration {
        self.lock().0
    }

    /// Time passes, for everybody.
    pub fn pass(&self, duration: Duration) {
        self.lock().0 += duration;
    }

    /// A process begins; its thread is about to run.
    pub fn enter(&self, process: usize) {
        self.lock().1.insert(process, Turn::Running);
    }

    /// A process has ended.
    pub fn leave(&self, process: usize) {
        self.lock().1.insert(process, Turn::Over);
        self.changed.notify_all();
    }

    /// A process asks, and waits for the reply; a killed one ends here.
    pub fn ask(&self, process: usize, ask: Ask) -> Vec<Outcome> {
        let mut turns = self.lock();
        turns.1.insert(process, Turn::Asks(ask));
        self.changed.notify_all();
        loop {
            turns = self.changed.wait(turns).expect("no thread panics while it holds the lock");
            if let Some(Turn::Hears(_)) = turns.1.get(&process) {
                break;
            }
        }
        match turns.1.insert(process, Turn::Running) {
            Some(Turn::Hears(Reply::Answers(answers))) => answers,
            Some(Turn::Hears(Reply::Killed)) => {
                drop(turns);
                // Not a panic: no hook speaks of it.
                std::panic::resume_unwind(Box::new(Killed))
            }
            _ => Vec::new(),
        }
    }

    /// The director waits until this process asks or ends: its ask, or none.
    pub fn await_ask(&self, process: usize) -> Option<Ask> {
        let mut turns = self.lock();
        loop {
            match turns.1.get(&process) {
                Some(Turn::Asks(ask)) => return Some(ask.clone()),
                None | Some(Turn::Over) => return None,
                Some(Turn::Running | Turn::Hears(_)) => {}
            }
            turns = self.changed.wait(turns).expect("no thread panics while it holds the lock");
        }
    }

    /// The director lets the process go on, and waits until it asks again or ends.
    pub fn reply(&self, process: usize, reply: Reply) -> Option<Ask> {
        self.lock().1.insert(process, Turn::Hears(reply));
        self.changed.notify_all();
        self.await_ask(process)
    }
}
