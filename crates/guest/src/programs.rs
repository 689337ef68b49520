//! Programs of the user on the hosts of the path: servers that begin before the run, and clients.
//!
//! A program sees the folders of [`crate::view`] and nothing else. The guest's time is constant while a program computes,
//! so a program takes no time but that for which it waits.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path as FilePath, PathBuf};
use std::process::{Child, Command, ExitStatus};

use rustix::event::epoll::EventFlags;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::path::{Path, RECEIVERS, SENDERS, at};
use crate::plan::{Plan, Program};
use crate::{sys, view};

/// Keys of events of programs; keys of flows are smaller.
const FIRST_KEY: u64 = 1 << 40;
/// Interval of looks at a server that is not ready yet, ns.
const LOOK_NS: u64 = 1_000_000;
/// Time in which a server must be ready, ns.
const READY_WITHIN_NS: u64 = 10_000_000_000;
/// Date at which servers start: 1 January 2026, 0:00 UTC, s since 1970.
const DATE: i64 = 1_767_225_600;
/// Time from the end of the last client to the SIGTERM of its server, ns: the server hears of the end, and writes its logs.
const LINGER_NS: u64 = 1_000_000_000;
/// Time from SIGTERM to SIGKILL, ns.
const GRACE_NS: u64 = 1_000_000_000;
/// Longest end of an output that an error quotes, bytes.
const QUOTED_BYTES: usize = 300;

/// Files of a command of `elephan lab linux exec`, which the host reads and writes.
const INPUT: &str = "/input";
const OUTPUTS: [&str; 2] = ["/output", "/errors"];
const STATUS: &str = "/status";

/// A process of a program.
struct Process {
    child: Child,
    /// Becomes readable when the process ends.
    ended: OwnedFd,
    status: Option<ExitStatus>,
    /// Time at which the process gets SIGTERM, ns.
    term_ns: Option<u64>,
    /// Time at which SIGKILL follows a SIGTERM, ns.
    kill_ns: Option<u64>,
    output: PathBuf,
    errors: PathBuf,
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Server,
    Client,
}

/// A program in the run.
struct One<'a> {
    program: &'a Program,
    start_ns: u64,
    server: Option<Process>,
    is_ready: bool,
    client: Option<Process>,
    started_ns: Option<u64>,
    ended_ns: Option<u64>,
    /// True if the program was ended by the plan.
    stopped: bool,
}

/// All programs of a plan.
pub struct Programs<'a> {
    all: Vec<One<'a>>,
    zero_ns: u64,
    /// Time at which the date was [`DATE`], ns.
    dated_ns: u64,
}

impl<'a> Programs<'a> {
    /// Starts the servers, and waits until each is ready.
    pub fn start(plan: &'a Plan, path: &Path, set: &OwnedFd) -> io::Result<Self> {
        let one = |(i, program): (usize, &'a Program)| One {
            program,
            start_ns: plan.program_start_ns(i),
            server: None,
            is_ready: program.server.is_none(),
            client: None,
            started_ns: None,
            ended_ns: None,
            stopped: false,
        };
        let mut this =
            Self { all: plan.programs.iter().enumerate().map(one).collect(), zero_ns: u64::MAX, dated_ns: 0 };
        if this.all.is_empty() {
            return Ok(this);
        }
        view::build(plan)?;
        // A guest begins in 1970, when no certificate is valid.
        sys::set_date(DATE).map_err(at("the date"))?;
        this.dated_ns = sys::now_ns();
        for number in 0..this.all.len() {
            if this.all[number].program.server.is_some() {
                let server = this.spawn(number, Role::Server, path, set)?;
                this.all[number].server = Some(server);
            }
        }
        let until_ns = sys::now_ns() + READY_WITHIN_NS;
        while let Some(one) = this.all.iter_mut().find(|one| !one.is_ready) {
            let name = &one.program.name;
            if let Some(server) = &mut one.server {
                if let Some(status) = server.child.try_wait()? {
                    let why =
                        format!("its server ended before it was ready ({}): {}", told(status), server.last_line());
                    return Err(io::Error::other(format!("program '{name}': {why}")));
                }
                one.is_ready = is_ready(one.program, server)?;
            }
            if !one.is_ready {
                if sys::now_ns() >= until_ns {
                    let what = one.program.ready.as_ref().map_or_else(
                        || format!("nothing listens at port {}", one.program.port),
                        |text| format!("its output has no '{text}'"),
                    );
                    return Err(io::Error::other(format!(
                        "program '{name}': its server is not ready after 10 s: {what}"
                    )));
                }
                std::thread::sleep(std::time::Duration::from_nanos(LOOK_NS));
            }
        }
        Ok(this)
    }

    /// True if an event is one of a program.
    pub fn are_at(&self, key: u64) -> bool {
        key >= FIRST_KEY && key < FIRST_KEY + 2 * self.all.len() as u64
    }

    /// States when the run begins.
    pub fn begin(&mut self, zero_ns: u64) {
        self.zero_ns = zero_ns;
    }

    fn spawn(&self, number: usize, role: Role, path: &Path, set: &OwnedFd) -> io::Result<Process> {
        let program = self.all[number].program;
        let (words, name) = match role {
            Role::Server => (program.server.as_deref().unwrap_or_default(), "server"),
            Role::Client => (program.client.as_slice(), "client"),
        };
        let is_sender = (role == Role::Client) == program.client_sends;
        path.enter(if is_sender { SENDERS } else { RECEIVERS })?;
        let place = format!("{number}/{name}");
        let (output, errors) = (view::outputs(&place, "out"), view::outputs(&place, "err"));
        let mut command = Command::new("/init");
        command.arg("confined").arg(view::own_folder(&place)).args(words);
        let own = view::own_folder(&place);
        let stated = program.environment.iter().map(|(name, text)| (name, text.replace("{dir}", &own)));
        command.env_clear().envs(view::ENVIRONMENT).envs(stated);
        if program.exec && role == Role::Client {
            command.stdin(File::open(INPUT)?).stdout(sys::passed_on(OUTPUTS[0])?).stderr(sys::passed_on(OUTPUTS[1])?);
        } else {
            command.stdin(view::nothing()?).stdout(view::create(&output)?).stderr(view::create(&errors)?);
        }
        command.process_group(0);
        let child = command.spawn().map_err(at(format!("program '{}'", program.name)))?;
        // Flows that start later connect from there.
        path.enter(SENDERS)?;
        let ended = sys::process(child.id())?;
        let key = FIRST_KEY + 2 * number as u64 + u64::from(role == Role::Client);
        sys::watch(set, &ended, EventFlags::IN, key)?;
        Ok(Process { child, ended, status: None, term_ns: None, kill_ns: None, output, errors })
    }

    /// Next time at which something is due, ns.
    pub fn next_ns(&self) -> Option<u64> {
        self.all.iter().filter_map(|one| one.next_ns(self.zero_ns)).min()
    }

    /// Does what is due.
    pub fn clock(&mut self, now_ns: u64, path: &Path, set: &OwnedFd) -> io::Result<()> {
        for number in 0..self.all.len() {
            let one = &mut self.all[number];
            for process in [&mut one.server, &mut one.client].into_iter().flatten() {
                if process.status.is_none() && process.term_ns.is_some_and(|term_ns| now_ns >= term_ns) {
                    process.term_ns = None;
                    process.end(now_ns)?;
                }
                if process.status.is_none() && process.kill_ns.is_some_and(|kill_ns| now_ns >= kill_ns) {
                    sys::signal(process.child.id(), Signal::KILL)?;
                    process.kill_ns = None;
                }
            }
            if one.started_ns.is_none() && now_ns >= self.zero_ns.saturating_add(one.start_ns) {
                one.started_ns = Some(now_ns - self.zero_ns);
                let client = self.spawn(number, Role::Client, path, set)?;
                self.all[number].client = Some(client);
            }
            let one = &mut self.all[number];
            let due = one.program.stop_ns.is_some_and(|stop_ns| now_ns >= self.zero_ns.saturating_add(stop_ns));
            if due && !one.stopped {
                one.stopped = true;
                if let Some(client) = &mut one.client {
                    client.end(now_ns)?;
                }
            }
        }
        Ok(())
    }

    /// Handles the end of a process. A client that fails, or a server that ends before its client, fails the run.
    pub fn event(&mut self, key: u64, set: &OwnedFd) -> io::Result<()> {
        let number = ((key - FIRST_KEY) / 2) as usize;
        let is_client = (key - FIRST_KEY) % 2 == 1;
        let now_ns = sys::now_ns();
        let one = &mut self.all[number];
        let Some(process) = (if is_client { &mut one.client } else { &mut one.server }) else { return Ok(()) };
        let Some(status) = process.child.try_wait()? else { return Ok(()) };
        process.status = Some(status);
        sys::unwatch(set, &process.ended)?;
        if is_client && one.program.exec {
            let code = status.signal().map_or_else(|| status.code().unwrap_or_default(), |signal| 128 + signal);
            fs::write(STATUS, format!("{code} {}", now_ns - self.zero_ns))?;
            sys::power_off();
        }
        let (name, line) = (&one.program.name, process.last_line());
        if is_client {
            one.ended_ns = Some(now_ns - self.zero_ns);
            if !status.success() && !one.stopped {
                return Err(io::Error::other(format!(
                    "program '{name}': its client ended with {}: {line}",
                    told(status)
                )));
            }
            self.end_servers(now_ns)
        } else if self.is_needed(number) {
            let one = &self.all[number];
            // A server that ends after its only client is done may end first, since both hear of the last byte.
            let fails = !status.success();
            if fails && !one.stopped {
                return Err(io::Error::other(format!(
                    "program '{name}': its server ended with {}: {line}",
                    told(status)
                )));
            }
            Ok(())
        } else {
            Ok(())
        }
    }

    /// True if a client has not ended that needs this server.
    fn is_needed(&self, number: usize) -> bool {
        let uses = |(i, one): (usize, &One)| i == number || one.program.server_of == Some(number);
        self.all.iter().enumerate().any(|(i, one)| uses((i, one)) && one.ended_ns.is_none())
    }

    fn end_servers(&mut self, now_ns: u64) -> io::Result<()> {
        for number in 0..self.all.len() {
            if self.is_needed(number) {
                continue;
            }
            if let Some(server) = &mut self.all[number].server {
                server.term_ns.get_or_insert(now_ns + LINGER_NS);
            }
        }
        Ok(())
    }

    /// Outcome of each program, and copies of its output and of the files that it wrote, in the folder `programs`.
    pub fn finish(mut self) -> io::Result<Vec<Value>> {
        let mut found = Vec::new();
        for (number, one) in self.all.iter_mut().enumerate() {
            for process in [&mut one.server, &mut one.client].into_iter().flatten() {
                if process.status.is_none() {
                    sys::signal(process.child.id(), Signal::KILL)?;
                }
            }
            let code = |process: &Option<Process>| process.as_ref().and_then(|p| p.status).map(told);
            found.push(json!({
                "name": one.program.name,
                // Time of the run at which the date was the first second of 2026.
                "dated_ns": self.dated_ns as i64 - self.zero_ns as i64,
                "started_ns": one.started_ns,
                "ended_ns": one.ended_ns.filter(|_| !one.stopped),
                "client": code(&one.client),
                "server": code(&one.server),
            }));
            for (name, process) in [("server", &one.server), ("client", &one.client)] {
                // The output of a command of `exec` was passed on.
                if let Some(process) = process.as_ref().filter(|_| !one.program.exec) {
                    view::keep(&format!("{number}/{name}"), &[&process.output, &process.errors])?;
                }
            }
        }
        Ok(found)
    }
}

impl One<'_> {
    fn next_ns(&self, zero_ns: u64) -> Option<u64> {
        let start = self.started_ns.is_none().then(|| zero_ns.saturating_add(self.start_ns));
        let stop = self.program.stop_ns.filter(|_| !self.stopped && self.ended_ns.is_none());
        let alive = [&self.server, &self.client].into_iter().flatten().filter(|process| process.status.is_none());
        let kills = alive.flat_map(|process| [process.term_ns, process.kill_ns]).flatten();
        start.into_iter().chain(stop.map(|stop_ns| zero_ns.saturating_add(stop_ns))).chain(kills).min()
    }
}

impl Process {
    /// Ends the process, if it has not ended: SIGTERM now, and SIGKILL later.
    fn end(&mut self, now_ns: u64) -> io::Result<()> {
        if self.status.is_some() || self.kill_ns.is_some() {
            return Ok(());
        }
        self.kill_ns = Some(now_ns + GRACE_NS);
        sys::signal(self.child.id(), Signal::TERM)
    }

    /// The last line that the process printed, of its errors if there are any.
    fn last_line(&self) -> String {
        let line = |path: &FilePath| {
            let bytes = fs::read(path).unwrap_or_default();
            let end = &bytes[bytes.len().saturating_sub(QUOTED_BYTES)..];
            let text = String::from_utf8_lossy(end);
            text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
        };
        line(&self.errors).or_else(|| line(&self.output)).unwrap_or_else(|| "it printed nothing".to_owned())
    }
}

/// The end of a process in words.
fn told(status: ExitStatus) -> String {
    status.signal().map_or_else(
        || format!("exit status {}", status.code().unwrap_or_default()),
        |signal| format!("signal {signal}"),
    )
}

/// True if a server listens at its port, or has printed its text.
fn is_ready(program: &Program, server: &Process) -> io::Result<bool> {
    if let Some(text) = &program.ready {
        let says =
            |path: &FilePath| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).contains(text.as_str()));
        return Ok(says(&server.output)? || says(&server.errors)?);
    }
    let listens = |table: &str, state: &str| {
        // Columns: number, local address and port, remote address and port, state.
        let rows = fs::read_to_string(format!("/proc/{}/net/{table}", server.child.id())).unwrap_or_default();
        rows.lines().skip(1).any(|row| {
            let columns: Vec<&str> = row.split_whitespace().collect();
            let port = columns.get(1).and_then(|local| local.rsplit(':').next());
            let port = port.and_then(|port| u16::from_str_radix(port, 16).ok());
            port == Some(program.port) && columns.get(3) == Some(&state)
        })
    };
    Ok(listens("tcp", "0A") || listens("udp", "07"))
}
