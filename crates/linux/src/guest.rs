//! A guest that runs in lockstep with the engine: its time is constant while it runs, and advances only while it waits.
//!
//! The guest never advances its time by itself. Therefore all packets that it sends before it waits have one known
//! departure time, and need no separate messages.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::capture::Captures;
use crate::clock::Clock;
use crate::device::{DEVICES, Device};

/// Names of the sockets in the guest's folder.
pub const SOCKETS: [&str; 3] = ["clock", DEVICES[0], DEVICES[1]];
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// A frame for the guest, with the header of its device.
#[derive(Debug)]
pub struct Arrival {
    /// Time of arrival, ns.
    pub at_ns: u64,
    /// The device: 0 is the senders' device, 1 the receivers' device.
    pub side: usize,
    /// Header and frame.
    pub frame: Vec<u8>,
    /// Position of the flow.
    pub flow: usize,
    /// Time at which the other device sent the frame, ns.
    pub sent_ns: u64,
}

/// A frame at a device of the guest.
#[derive(Debug)]
pub enum Event<'a> {
    /// The device with this number has sent header and frame.
    Sent(usize, Vec<u8>),
    /// The device got the frame.
    Arrived(&'a Arrival),
}

/// A guest.
#[derive(Debug)]
pub struct Guest {
    child: Child,
    clock: Clock,
    devices: [Device; 2],
    /// Time at which the waiting guest wants to continue, ns.
    wanted_ns: u64,
    ended: bool,
    captures: Option<Captures>,
}

/// Callback for each frame at the guest's devices, with the time in ns.
pub type Seen<'a> = &'a mut dyn FnMut(u64, Event<'_>);

impl Guest {
    /// Starts a guest, and lets it boot up to a time. `captures` get the frames of its devices.
    pub fn boot(
        command: &mut Command,
        captures: Option<Captures>,
        until_ns: u64,
        arrivals: &mut VecDeque<Arrival>,
        seen: Seen<'_>,
    ) -> io::Result<Self> {
        let [clock, senders, receivers] = SOCKETS.map(UnixListener::bind);
        let (clock, devices) = (clock?, [Device::new(senders?)?, Device::new(receivers?)?]);
        let mut child = command.spawn()?;
        while !readable(&[clock.as_fd()])?[0] {
            alive(&mut child)?;
        }
        let clock = Clock::new(clock.accept()?.0)?;
        let mut this = Self { child, clock, devices, wanted_ns: u64::MAX, ended: false, captures };
        this.follow(0, seen)?;
        this.run_until(until_ns, arrivals, seen)?;
        if this.ended {
            return Err(io::Error::other("the guest ended while it booted"));
        }
        Ok(this)
    }

    /// Time at which the guest wants to continue, ns.
    pub fn wanted_ns(&self) -> u64 {
        self.wanted_ns
    }

    /// Runs the guest up to but not including a time, with the frames that arrive before it.
    pub fn run_until(&mut self, limit_ns: u64, arrivals: &mut VecDeque<Arrival>, seen: Seen<'_>) -> io::Result<()> {
        while !self.ended {
            let next_ns = arrivals.front().map_or(u64::MAX, |arrival| arrival.at_ns);
            let now_ns = next_ns.min(self.wanted_ns);
            if now_ns >= limit_ns {
                break;
            }
            if next_ns <= now_ns {
                self.clock.set(now_ns)?;
                self.deliver(now_ns, arrivals, seen)?;
            }
            self.clock.run(now_ns)?;
            self.follow(now_ns, seen)?;
        }
        Ok(())
    }

    fn deliver(&mut self, now_ns: u64, arrivals: &mut VecDeque<Arrival>, seen: Seen<'_>) -> io::Result<()> {
        let mut told = [false; 2];
        while arrivals.front().is_some_and(|arrival| arrival.at_ns <= now_ns) {
            let Some(mut arrival) = arrivals.pop_front() else { break };
            if let Some(captures) = &mut self.captures {
                captures.write(now_ns, arrival.side, &arrival.frame)?;
            }
            seen(now_ns, Event::Arrived(&arrival));
            self.devices[arrival.side].give(&mut arrival.frame)?;
            told[arrival.side] = true;
        }
        for (device, told) in self.devices.iter_mut().zip(told) {
            if told {
                device.announce()?;
            }
        }
        Ok(())
    }

    /// Serves a running guest until it waits, and takes the frames that the guest has sent. All these frames depart at
    /// the time at which the guest ran.
    fn follow(&mut self, now_ns: u64, seen: Seen<'_>) -> io::Result<()> {
        loop {
            let [one, other] = &self.devices;
            let ready = readable(&[self.clock.stream().as_fd(), one.descriptor(), other.descriptor()])?;
            if !ready.contains(&true) {
                alive(&mut self.child)?;
            }
            for side in [0, 1] {
                if ready[1 + side] && self.has_ended(|this| this.devices[side].serve())?.is_none() {
                    return Ok(());
                }
            }
            if ready[0] {
                match self.has_ended(|this| this.clock.serve())? {
                    Some(true) => break,
                    Some(false) => (),
                    None => return Ok(()),
                }
            }
        }
        let mut frames = Vec::new();
        for side in [0, 1] {
            self.devices[side].take(&mut frames)?;
            if let Some(captures) = &mut self.captures {
                frames.iter().try_for_each(|frame| captures.write(now_ns, side, frame))?;
            }
            frames.drain(..).for_each(|frame| seen(now_ns, Event::Sent(side, frame)));
        }
        self.wanted_ns = self.clock.wanted_ns()?;
        Ok(())
    }

    /// Serves a message; `None` if the guest has closed its sockets, as at its end.
    fn has_ended<T>(&mut self, serve: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<Option<T>> {
        match serve(self) {
            Ok(served) => Ok(Some(served)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                (self.ended, self.wanted_ns) = (true, u64::MAX);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// True if the guest has ended.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Runs the guest until its end.
    pub fn finish(&mut self) -> io::Result<()> {
        self.run_until(u64::MAX, &mut VecDeque::new(), &mut |_, _| ())?;
        if !self.ended {
            return Err(io::Error::other("the guest does not end"));
        }
        self.captures.take().map_or(Ok(()), Captures::finish)?;
        self.child.wait().map(drop)
    }
}

/// Returns true for each descriptor that can be read; all are false after a timeout.
fn readable<const N: usize>(descriptors: &[rustix::fd::BorrowedFd<'_>; N]) -> io::Result<[bool; N]> {
    let mut polled = descriptors.each_ref().map(|one| PollFd::new(one, PollFlags::IN));
    match poll(&mut polled, Some(&LOOK)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(polled.map(|one| !one.revents().is_empty())),
        Err(error) => Err(error.into()),
    }
}

fn alive(child: &mut Child) -> io::Result<()> {
    match child.try_wait()? {
        Some(status) => Err(io::Error::other(format!("the guest ended early: {status}"))),
        None => Ok(()),
    }
}
