//! Plan of a run, which the backend has written: the guest's command line, and its flows.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use rustix::thread::{CpuSet, sched_setaffinity};
use serde::Deserialize;

/// The guest of a run.
#[derive(Debug, Deserialize)]
pub struct Plan {
    /// The guest's time at the start of the run, ns.
    pub zero_ns: u64,
    /// Processor for this program and the guest; any if absent.
    pub processor: Option<usize>,
    /// Program and arguments of the guest.
    pub command: Vec<String>,
    /// Environment variables of the guest.
    pub environment: BTreeMap<String, String>,
    /// True if the frames of the guest's devices are written to `senders.pcapng` and `receivers.pcapng`.
    #[serde(default)]
    pub capture: bool,
    /// Sample times of the connections of programs, ns; none if there are no programs.
    #[serde(default)]
    pub sample_times_ns: Vec<u64>,
    /// Measured part of the run, ns.
    #[serde(default)]
    pub measured_ns: (u64, u64),
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
    /// True if the packets are those of a program.
    #[serde(default)]
    pub program: bool,
}

impl Plan {
    /// Binds this program, and thereby the guest, to the plan's processor. The program and the guest run alternately
    /// for short times, and waking another processor takes longer than such a time.
    pub fn stay(&self) -> io::Result<()> {
        let Some(processor) = self.processor else { return Ok(()) };
        let mut set = CpuSet::new();
        set.set(processor);
        Ok(sched_setaffinity(None, &set)?)
    }

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
