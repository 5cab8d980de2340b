//! A real node: containers of real images, with the restrictions that harness's pods have, under a real kubelet.
//!
//! One node serves all tests, each of which has a namespace of its own. It needs root; nothing of it is seen from
//! outside, and nothing outlives the tests.

#[cfg(test)]
#[path = "../kit/mod.rs"]
mod common;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod images;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod pods;
#[cfg(test)]
mod secluded;
#[cfg(test)]
mod stores;
#[cfg(test)]
mod submitted;
#[cfg(test)]
mod trial;
#[cfg(test)]
mod whole;
