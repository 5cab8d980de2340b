//! The exactly-once protocol against a simulated API server, under faults that are tried exhaustively.
//!
//! `single` and `crash` drive the real code (`drive`, `observe`, `receipt`) through every fault at every
//! request and every pair of them; `crowd` searches all interleavings of several submitters and a pruner
//! over an abstract cluster. `bites` shows that each property fails when the protocol is broken.

#[cfg(test)]
mod bites;
#[cfg(test)]
mod clock;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod crowd;
#[cfg(test)]
mod expiry;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod keeper;
#[cfg(test)]
mod namespace;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod run;
#[cfg(test)]
mod single;
#[cfg(test)]
mod world;
