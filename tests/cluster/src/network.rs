//! A network of its own: no address in it exists elsewhere, and nothing in it reaches anything outside.
//!
//! The network is a Linux network namespace. It has no name and no file: it exists as long as a process is in
//! it or [`Isolated`] holds it, so nothing has to be removed. Namespaces belong to threads, and each thread and
//! process begins in that of the thread that starts it.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd as _;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::node::program_path;
use crate::supervisor::Supervisor;

/// The node's own address, where pods reach servers of a test.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// Where pods look for the API server: the first address of the range of services, which the server takes for itself.
pub(crate) const API_SERVICE: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);
pub(crate) const API_SERVICE_PORT: u16 = 443;

/// The network of a supervisor.
#[derive(Debug)]
pub(crate) struct Isolated {
    namespace: File,
}

impl Isolated {
    /// Gives the new, empty network of a supervisor its addresses; the calling thread is in it afterwards.
    pub(crate) fn set_up(supervisor: &Supervisor) -> Result<Self> {
        let process = supervisor.process().context("the supervisor is not a child")?;
        let path = format!("/proc/{}/ns/net", process.as_raw_nonzero());
        let namespace = File::open(&path).with_context(|| format!("{path} cannot be opened"))?;
        let this = Self { namespace };
        this.enter()?;
        let address = format!("{ADDRESS}/24");
        let service = format!("{API_SERVICE}/32");
        let commands: [&[&str]; 6] = [
            &["link", "set", "lo", "up"],
            &["address", "add", &service, "dev", "lo"],
            // Not every kernel has devices of the kind `dummy`; pods bring the need for bridges anyway.
            &["link", "add", "node0", "type", "bridge"],
            &["address", "add", &address, "dev", "node0"],
            &["link", "set", "node0", "up"],
            // The API server looks for a default route, wherever it leads.
            &["route", "add", "default", "dev", "node0"],
        ];
        commands.into_iter().try_for_each(ip)?;
        Ok(this)
    }

    /// Moves the calling thread into the network.
    pub(crate) fn enter(&self) -> Result<()> {
        move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Network))
            .context("this thread could not enter the network of the node")
    }
}

fn ip(arguments: &[&str]) -> Result<()> {
    let program = program_path("ip")?;
    let output =
        Command::new(program).args(arguments).output().context("`ip` could not be started")?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    bail!("`ip {}` failed: {}", arguments.join(" "), message.trim())
}
