//! A registry that takes its time: it forwards to the real one after a delay.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::Result;

use super::settings::REGISTRY_PORT;
use super::{Node, Relay};

/// The node's registry under another name; it is served until this is dropped.
#[derive(Debug)]
pub struct SlowRegistry {
    /// The name in image references; see [`Image::at`](super::Image::at).
    pub host: String,
    relay: Relay,
}

impl SlowRegistry {
    pub(super) fn start(node: &Node, host: &str, delay: Duration) -> Result<Self> {
        let here = |port| (Ipv4Addr::LOCALHOST, port).into();
        let relay = Relay::start(node, here(0), here(REGISTRY_PORT), delay)?;
        node.add_registry(host, &format!("http://{}", relay.address))?;
        Ok(Self { host: host.to_owned(), relay })
    }

    /// Makes it a quick one, for those that wait already too.
    pub fn hurry(&self) {
        self.relay.hurry();
    }
}
