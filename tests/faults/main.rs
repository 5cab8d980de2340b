//! Processes that are killed, stopped, paused, starved and watched: whatever happens to harness, to kubectl or
//! around them, what is said is true, nothing is left running, and the same command again ends with one Job.
#![cfg(test)]

mod canary;
mod killed;
#[path = "../kit/mod.rs"]
mod kit;
mod kubectl;
mod many;
mod plugins;
mod signals;
mod surroundings;
