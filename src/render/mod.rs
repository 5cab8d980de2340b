//! From a submission to the objects that run it, and back: what a cluster holds compared with what was rendered.

pub mod compare;
pub mod decisive;
