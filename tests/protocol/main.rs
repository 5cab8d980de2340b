//! The exactly-once protocol against a simulated API server, under faults that are tried exhaustively.
//!
//! `single` and `crash` drive the real code (`drive`, `observe`, `receipt`) through every fault at every
//! request and every pair of them; `crowd` searches all interleavings of several submitters and a pruner
//! over an abstract cluster. `bites` shows that each property fails when the protocol is broken.
#![cfg(test)]

mod bites;
mod clock;
mod crash;
mod crowd;
mod expiry;
mod faults;
mod keeper;
mod namespace;
mod plans;
mod run;
mod single;
mod world;
