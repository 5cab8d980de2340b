//! Inside the pod: what `stage`, `run` and `publish` do, and what they tell each other and the world.
//!
//! ```text
//! stage ──inputs, tools──▶ run ──control: hello, go, finished──▶ publish ──PUT──▶ the result object
//! ```
//!
//! `stage` and `publish` hold signed URLs and run the harness image; `run` holds none and runs in the
//! submission's image. What one says to another is a type here, and pure: `category` and `reason` (how a step
//! ended), `report` (how the runner ended), `control` (the lines between `run` and `publish`). `run` is a folder.

pub mod archive;
pub mod category;
pub mod control;
pub mod evidence;
pub mod execute;
pub mod expectation;
pub mod places;
pub mod pod_start;
pub mod publish;
pub mod reason;
pub mod report;
pub mod run;
pub mod stage;
pub mod store;
pub mod unpack;
pub mod urls;

pub use category::{Category, Step};
pub use expectation::Expectation;
pub use places::Places;
pub use reason::Reason;
pub use report::{Ending, RunReport};
pub use urls::Urls;
