//! A real node: containers of real images, with the restrictions that harness's pods have, under a real kubelet.
//!
//! One node serves all tests, each of which has a namespace of its own. It needs root; nothing of it is seen from
//! outside, and nothing outlives the tests.
#![cfg(test)]

mod alone;
#[path = "../kit/mod.rs"]
mod common;
mod endings;
mod hostile;
mod images;
mod kit;
mod limits;
mod memory;
mod pods;
mod pruner;
mod pulls;
mod queued;
mod secluded;
mod situations;
mod stores;
mod submitted;
mod trial;
mod twice;
mod whole;
