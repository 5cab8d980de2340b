//! A real Kueue: what it does to an experiment, and what harness makes of that.
//!
//! One control plane with Kueue serves all tests, each of which has a namespace and queues of its own. There is no node
//! here: the tests are the scheduler and the kubelet. `tests/node` has Kueue with a real one.
#![cfg(test)]

mod admitted;
mod ended;
#[path = "../kit/mod.rs"]
mod kit;
mod lab;
mod taken_back;
