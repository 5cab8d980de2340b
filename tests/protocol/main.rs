//! The exactly-once protocol against a simulated API server, under faults that are tried exhaustively.
//!
//! `single` and `crash` drive the real code (`drive`, `observe`, `receipt`) through every fault at every request and every
//! pair of them. `rehearsal`, `creates`, `standing`, `patience` and `endings` tell the protocol facts, one by one. `bites` shows that each property fails when
//! the protocol is broken. Several processes at once are the matter of `tests/model` (every interleaving) and
//! `tests/simulator` (random ones, of the real code).
#![cfg(test)]

mod bites;
mod clock;
mod crash;
mod creates;
mod endings;
mod expiry;
mod facts;
mod faults;
mod namespace;
mod patience;
mod plans;
#[path = "../kit/refusals.rs"]
mod refusals;
mod rehearsal;
mod run;
mod single;
mod standing;
mod told;
mod world;
