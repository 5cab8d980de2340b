//! Processes that are killed, stopped, paused, starved and watched: whatever happens to harness, to kubectl or
//! around them, what is said is true, nothing is left running, and the same command again ends with one Job.

#[cfg(test)]
mod canary;
#[cfg(test)]
mod killed;
#[cfg(test)]
#[path = "../kit/mod.rs"]
mod kit;
#[cfg(test)]
mod kubectl;
#[cfg(test)]
mod many;
#[cfg(test)]
mod plugins;
#[cfg(test)]
mod process;
#[cfg(test)]
mod signals;
#[cfg(test)]
mod steps;
#[cfg(test)]
mod surroundings;
