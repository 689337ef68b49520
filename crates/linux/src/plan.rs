//! Plan of a run, which the backend has written: the guest's command line, and its flows.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use serde::Deserialize;

/// A run's guest.
#[derive(Debug, Deserialize)]
pub struct Plan {
    /// The guest's time at which the run begins, ns.
    pub zero_ns: u64,
    /// Program and arguments of the guest.
    pub command: Vec<String>,
    /// Its environment.
    pub environment: BTreeMap<String, String>,
    /// Flows on the guest.
    pub flows: Vec<HostedFlow>,
}

/// A flow on the guest.
#[derive(Debug, Deserialize)]
pub struct HostedFlow {
    /// Position in the scenario.
    pub position: usize,
    /// Address of the sender.
    pub sender: Ipv4Addr,
    /// Address of the receiver.
    pub receiver: Ipv4Addr,
    /// Largest packet, bytes.
    pub largest_bytes: u16,
}

impl Plan {
    /// The guest's command, with this program as its parent.
    pub fn command(&self) -> Command {
        let parent = std::process::id().to_string();
        let words = self.command.iter().map(|word| if word == "PARENT" { &parent } else { word });
        let mut words = words.cloned();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).env_clear().envs(&self.environment).stdin(Stdio::null());
        command
    }
}
