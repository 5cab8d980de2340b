//! Where an experiment stands and why.
//!
//! [`derive()`] is a pure function from what the API server holds to a [`Status`]; [`read()`] reads it, [`follow()`] waits
//! for its end, [`listing`] lists all of a namespace.

pub mod category;
mod derive;
mod failure;
pub mod follow;
mod image;
pub mod listing;
mod pending;
mod proof;
pub mod read;
mod report;
mod resume;
mod seen;
mod start;
mod steps;
mod view;
mod words;

pub use category::Category;
pub use derive::{Situation, derive};
pub use follow::{FollowEnd, Followed, LONGEST_OUTAGE, SURVIVED_FAILURES, Session, follow};
pub use read::{ReadError, Target, read};
pub use report::{
    Basis, Diagnosis, Identity, Phase, PodStatus, RunStarted, SCHEMA_VERSION, Status, StepState,
    StepStatus, Times,
};
pub use resume::{Part, Resume};
pub use words::duration;
