//! `harness prediction run` as a process, with real runners, and a stand-in for `publish` at the other end of its socket.
//!
//! What is about the container (first process, another user, no capabilities) runs in a process-number namespace of its
//! own, which needs root; such a test fails where it cannot run.

#[cfg(test)]
mod contract;
#[cfg(test)]
mod documented;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod output;
#[cfg(test)]
mod refused;
