//! The flows of a guest. A single thread waits for all sockets and for one timer, since each switch between processes
//! costs host time.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use elephan_sim::Time;
use elephan_sim::application::Application;
use rustix::event::epoll::EventFlags;

use crate::path::{Path, RECEIVERS, SENDERS, at};
use crate::plan::{Flow, Plan};
use crate::programs::Programs;
use crate::sys;

const SENDER_PORT: u16 = 5001;
const RECEIVER_PORT: u16 = 5002;
/// Largest amount of unsent data of a flow with a stop time, bytes. The amount is small, since these data are sent
/// after the stop.
const UNSENT_BYTES: libc::c_int = 32 << 10;
const CHUNK_BYTES: usize = 256 << 10;
/// Number of bytes larger than any receive buffer.
const WHOLE_BUFFER: u32 = 1 << 30;
/// Time before the start of the run for which the guest must be ready, ns.
const LEAD_NS: u64 = 1_000_000_000;
/// Option of a TCP socket for one half of the seed of its random numbers. Kernels of earlier versions do not have it.
const TCP_SEED: libc::c_int = 10_000;
/// `SOF_TIMESTAMPING_TX_ACK`, `SOFTWARE` and `OPT_TSONLY`.
const LAST_BYTE_ACKED: u32 = 1 << 9 | 1 << 4 | 1 << 11;
/// Offsets in `struct tcp_info`.
const UNACKNOWLEDGED: usize = 24;
const NOT_SENT: usize = 144;
const RETRANSMITTED: usize = 100;
/// Number of progress reports of a run, tenths of a percent: a guest that makes no progress counts as hung.
const REPORTS: u64 = 1000;
/// A whole number of the units in which Linux counts timers of up to 16 s (64 jiffies), for each usual HZ.
const ALIGNED_NS: u64 = 32_000_000_000;
const TIMER: u64 = u64::MAX;

/// Number of words of a flow in a record: see [`Transfer::record`].
pub const FLOW_WORDS: usize = 19;
/// Words of a watched queue in a record.
pub const QUEUE_WORDS: usize = 5;

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Waiting,
    Connecting,
    Sending,
    Stopped,
}

/// A flow in the run.
struct Transfer<'a> {
    flow: &'a Flow,
    stage: Stage,
    start_ns: u64,
    /// Seed of the random numbers of the flow's congestion control.
    seed: u64,
    /// Bytes that are not yet written, and the number of these bytes that the application has supplied.
    left: u64,
    ready: u64,
    application: Option<Application>,
    taken: u64,
    /// True if the receive window is bounded, or needs no bound.
    is_clamped: bool,
    /// Repeated SYNs, which the kernel counts as retransmissions.
    repeated_syns: u64,
    completed_ns: Option<u64>,
    listener: OwnedFd,
    sender: Option<OwnedFd>,
    receiver: Option<OwnedFd>,
}

/// Sets the seed of a socket's random numbers: of its congestion control, and of the first timestamp of a receiver.
fn set_seed(socket: &OwnedFd, seed: u64) -> io::Result<()> {
    for half in [seed >> 32, seed & u64::from(u32::MAX)] {
        match sys::set_option(socket, libc::IPPROTO_TCP, TCP_SEED, half as u32) {
            Err(error) if error.raw_os_error() != Some(libc::ENOPROTOOPT) => return Err(error),
            _ => (),
        }
    }
    Ok(())
}

/// Records of a run, in words of eight bytes, and the start and completion of each flow.
pub struct Log {
    /// Time, flows and queues of each record.
    pub words: Vec<u64>,
    /// Start and completion of each flow, ns; `u64::MAX` if a transfer was not completed.
    pub flows: Vec<(u64, u64)>,
}

/// A field of `struct tcp_info`.
fn word(bytes: &[u8; 256], at: usize) -> u64 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]).into()
}

/// Source of an event: the flow, and one of its sockets.
#[derive(Clone, Copy)]
enum Socket {
    Listener,
    Sender,
    Receiver,
}

fn key(flow: usize, socket: Socket) -> u64 {
    4 * flow as u64 + socket as u64
}

/// Runs the flows and programs of a plan to the end of the run. Returns the records, and the outcome of each program.
pub fn run(plan: &Plan, path: &mut Path) -> io::Result<(Log, Vec<serde_json::Value>)> {
    let set = sys::poll_set()?;
    let timer = sys::timer()?;
    sys::watch(&set, &timer, EventFlags::IN | EventFlags::ET, TIMER)?;
    path.enter(RECEIVERS)?;
    let mut transfers = Vec::new();
    for (i, flow) in plan.flows.iter().enumerate() {
        transfers.push(Transfer::new(plan, i, flow, &set).map_err(at(&flow.name))?);
    }
    let mut programs = Programs::start(plan, path, &set)?;
    path.enter(SENDERS)?;
    // The time is rounded up, so that the phase is the plan's phase, however long the configuration of the path took.
    let earliest_ns = (sys::now_ns() + LEAD_NS).next_multiple_of(ALIGNED_NS) + plan.phase_ns;
    let zero_ns = plan.zero_ns.unwrap_or(earliest_ns);
    if zero_ns < earliest_ns {
        return Err(io::Error::other(format!("the guest was not ready at {zero_ns} ns, but at {earliest_ns} ns")));
    }
    programs.begin(zero_ns);
    let chunk = vec![0_u8; CHUNK_BYTES];
    let mut keys = Vec::new();
    let mut log = Log { words: Vec::new(), flows: Vec::new() };
    let mut looks = looks(plan);
    let mut next_look_ns = looks.next().unwrap_or(0);
    let mut reported = 0;
    loop {
        let now_ns = sys::now_ns();
        for (i, transfer) in transfers.iter_mut().enumerate() {
            transfer.clock(i, now_ns, zero_ns, &set, &chunk).map_err(at(&transfer.flow.name))?;
        }
        programs.clock(now_ns, path, &set)?;
        if now_ns >= zero_ns + next_look_ns {
            look(next_look_ns, &transfers, path, &mut log)?;
            let reports = REPORTS * next_look_ns / plan.duration_ns;
            if reports > reported {
                reported = reports;
                fs::write("/progress", format!("{}.{}", reports / 10, reports % 10))?;
            }
            match looks.next() {
                Some(next) => next_look_ns = next,
                None => break,
            }
        }
        let next = transfers.iter().filter_map(|transfer| transfer.next_ns(zero_ns)).chain(programs.next_ns());
        let next = next.chain([zero_ns + next_look_ns]);
        sys::set_timer(&timer, next.min().unwrap_or(zero_ns))?;
        sys::wait(&set, &mut keys)?;
        for key in keys.iter().filter(|key| **key != TIMER) {
            if programs.are_at(*key) {
                programs.event(*key, &set)?;
                continue;
            }
            let transfer = &mut transfers[(key / 4) as usize];
            transfer.event(*key, zero_ns, &set, &chunk).map_err(at(&transfer.flow.name))?;
        }
    }
    log.flows = transfers.iter().map(|one| (one.start_ns, one.completed_ns.unwrap_or(u64::MAX))).collect();
    Ok((log, programs.finish()?))
}

/// Times of all records, ns, in order and without duplicates.
fn looks(plan: &Plan) -> impl Iterator<Item = u64> {
    let mut times: Vec<u64> = (0..=plan.duration_ns / plan.look_ns).map(|k| k * plan.look_ns).collect();
    times.extend(&plan.more_looks_ns);
    times.sort_unstable();
    times.dedup();
    times.into_iter()
}

fn look(time_ns: u64, transfers: &[Transfer], path: &mut Path, log: &mut Log) -> io::Result<()> {
    log.words.push(time_ns);
    for transfer in transfers {
        log.words.extend(transfer.record(time_ns)?);
    }
    for counts in path.queues()? {
        let [length, dropped, sent, marked] =
            [counts.length, counts.dropped, counts.sent, counts.marked].map(u64::from);
        log.words.extend([length, dropped, sent, counts.sent_bytes, marked]);
    }
    Ok(())
}

impl<'a> Transfer<'a> {
    fn new(plan: &Plan, i: usize, flow: &'a Flow, set: &OwnedFd) -> io::Result<Self> {
        let listener = sys::tcp_socket()?;
        let bytes = flow.receive_buffer_bytes;
        if bytes > 0 {
            sys::set_option(&listener, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes)?;
        }
        if let Some(window) = flow.receive_window_bytes {
            sys::set_option(&listener, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, window)?;
        }
        if let Some(name) = &flow.receiver_congestion {
            sys::set_congestion_control(&listener, name).map_err(at(format!("congestion control '{name}'")))?;
        }
        set_seed(&listener, plan.algorithm_seed(i))?;
        sys::bind(&listener, flow.receiver, RECEIVER_PORT)?;
        sys::listen(&listener)?;
        sys::watch(set, &listener, EventFlags::IN, key(i, Socket::Listener))?;
        Ok(Self {
            flow,
            stage: Stage::Waiting,
            start_ns: plan.start_ns(i),
            seed: plan.algorithm_seed(i),
            left: flow.size_bytes().unwrap_or(u64::MAX),
            ready: if flow.application.is_some() { 0 } else { u64::MAX },
            application: plan.application(i),
            taken: 0,
            is_clamped: flow.receive_window_bytes.is_none(),
            repeated_syns: 0,
            completed_ns: None,
            listener,
            sender: None,
            receiver: None,
        })
    }

    /// Time of the flow's next action by the clock.
    fn next_ns(&self, zero_ns: u64) -> Option<u64> {
        match self.stage {
            Stage::Waiting => Some(zero_ns + self.start_ns),
            Stage::Sending => {
                let due = self.application.as_ref().map(Application::due).filter(|due| *due < Time::NEVER);
                let due_ns = due.map(|due| due.0.div_ceil(1000));
                due_ns.into_iter().chain(self.flow.stop_ns).min().map(|at| zero_ns + at)
            }
            Stage::Connecting | Stage::Stopped => None,
        }
    }

    /// Takes the due action: connects, continues or stops the flow.
    fn clock(&mut self, i: usize, now_ns: u64, zero_ns: u64, set: &OwnedFd, chunk: &[u8]) -> io::Result<()> {
        while self.next_ns(zero_ns).is_some_and(|due| due <= now_ns) {
            match self.stage {
                Stage::Waiting => self.connect(i, set)?,
                Stage::Sending if self.flow.stop_ns.is_none_or(|stop| now_ns < zero_ns + stop) => {
                    self.hand_over(now_ns - zero_ns);
                    self.send(chunk)?;
                }
                Stage::Connecting | Stage::Sending | Stage::Stopped => self.stage = Stage::Stopped,
            }
        }
        Ok(())
    }

    fn connect(&mut self, i: usize, set: &OwnedFd) -> io::Result<()> {
        let socket = sys::tcp_socket()?;
        set_seed(&socket, self.seed)?;
        sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, self.flow.send_buffer_bytes)?;
        if self.flow.pacing {
            // A limit that is never reached; setting it makes TCP pace by itself.
            sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, u64::MAX - 1)?;
        }
        if self.application.is_some() {
            sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        }
        if self.flow.stop_ns.is_some() {
            sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, UNSENT_BYTES)?;
        }
        let name = &self.flow.congestion;
        sys::set_congestion_control(&socket, name).map_err(at(format!("congestion control '{name}'")))?;
        sys::bind(&socket, self.flow.sender, SENDER_PORT)?;
        sys::connect(&socket, self.flow.receiver, RECEIVER_PORT)?;
        sys::watch(set, &socket, EventFlags::OUT | EventFlags::ET, key(i, Socket::Sender))?;
        self.sender = Some(socket);
        self.stage = Stage::Connecting;
        Ok(())
    }

    fn event(&mut self, key: u64, zero_ns: u64, set: &OwnedFd, chunk: &[u8]) -> io::Result<()> {
        match key % 4 {
            0 => {
                let receiver = sys::accept(&self.listener)?;
                self.wait_for(&receiver)?;
                let key = key - key % 4 + Socket::Receiver as u64;
                sys::watch(set, &receiver, EventFlags::IN, key)?;
                self.receiver = Some(receiver);
                Ok(())
            }
            1 => {
                self.complete(zero_ns)?;
                self.note_connected(zero_ns)?;
                self.send(chunk)
            }
            _ => self.read(),
        }
    }

    /// Begins to send if the handshake is over.
    fn note_connected(&mut self, zero_ns: u64) -> io::Result<()> {
        if let (Stage::Connecting, Some(sender)) = (self.stage, &self.sender) {
            sys::pending_error(sender)?;
            let mut info = [0; 256];
            sys::tcp_info(sender, &mut info)?;
            self.repeated_syns = word(&info, RETRANSMITTED);
            let now_ns = sys::now_ns() - zero_ns;
            // A flow whose stop came during its handshake sends nothing, as in the simulator.
            self.stage =
                if self.flow.stop_ns.is_none_or(|stop| now_ns < stop) { Stage::Sending } else { Stage::Stopped };
            self.hand_over(now_ns);
        }
        Ok(())
    }

    /// Takes the data that the application hands over until a time.
    fn hand_over(&mut self, now_ns: u64) {
        if let Some(application) = &mut self.application {
            self.ready += u64::from(application.take(Time(1000 * now_ns))) * u64::from(self.flow.payload_bytes);
        }
    }

    /// Writes until the buffer is full or all data are written.
    fn send(&mut self, chunk: &[u8]) -> io::Result<()> {
        let Some(sender) = self.sender.as_ref().filter(|_| self.stage == Stage::Sending) else { return Ok(()) };
        while self.left.min(self.ready) > 0 {
            let part = chunk.len().min(usize::try_from(self.left.min(self.ready)).unwrap_or(usize::MAX));
            if part as u64 == self.left {
                // When the last byte is acknowledged, the error queue gets an entry, which wakes this thread.
                sys::set_option(sender, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, LAST_BYTE_ACKED)?;
            }
            match sys::send(sender, &chunk[..part])? {
                Some(count) => {
                    self.left -= count as u64;
                    self.ready -= count as u64;
                }
                None => break,
            }
        }
        Ok(())
    }

    /// Sets the receiver's low-water mark, so that the last byte of a transfer wakes it.
    fn wait_for(&self, receiver: &OwnedFd) -> io::Result<()> {
        let rest = self.flow.size_bytes().map_or(u64::MAX, |size| (size - self.taken).max(1));
        let bytes = if self.is_clamped { rest.min(self.flow.read_bytes.into()) as u32 } else { 1 };
        sys::set_option(receiver, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
    }

    /// Bounds the receive window again. Linux discards the bound when it measures the packets' overhead
    /// (`tcp_update_scaling_ratio`), first with the first segment: until then the window would grow with each segment.
    fn clamp(&self, receiver: &OwnedFd) -> io::Result<()> {
        match self.flow.receive_window_bytes {
            Some(window) => sys::set_option(receiver, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, window),
            None => Ok(()),
        }
    }

    /// Records the time at which all data of a transfer are acknowledged.
    fn complete(&mut self, zero_ns: u64) -> io::Result<()> {
        let Some(sender) = self.sender.as_ref().filter(|_| self.left == 0 && self.completed_ns.is_none()) else {
            return Ok(());
        };
        let mut info = [0; 256];
        sys::tcp_info(sender, &mut info)?;
        if word(&info, UNACKNOWLEDGED) == 0 && word(&info, NOT_SENT) == 0 {
            self.completed_ns = Some(sys::now_ns() - zero_ns);
        }
        Ok(())
    }

    /// Reads the data that wait, except for the last segment.
    ///
    /// A reader that empties the buffer makes Linux acknowledge a single segment at once if the segment ends a write of
    /// the sender (`tcp_cleanup_rbuf`). The number of such ACKs would depend on the low-water mark.
    fn read(&mut self) -> io::Result<()> {
        let Some(receiver) = &self.receiver else { return Ok(()) };
        if !self.is_clamped {
            self.is_clamped = true;
            self.clamp(receiver)?;
            return self.wait_for(receiver);
        }
        let left = self.flow.size_bytes().map_or(u64::MAX, |size| size - self.taken);
        let (waiting, segment) = (self.flow.read_bytes, self.flow.payload_bytes);
        let most = if left <= waiting.into() || waiting <= segment { WHOLE_BUFFER } else { waiting - segment };
        if let Some(count) = sys::discard(receiver, most as usize)? {
            self.taken += count as u64;
        }
        self.clamp(receiver)?;
        if self.flow.size_segments.is_some() {
            self.wait_for(receiver)?;
        }
        Ok(())
    }

    /// Both sockets' counters; zero before the start.
    fn record(&self, time_ns: u64) -> io::Result<[u64; FLOW_WORDS]> {
        let mut words = [0; FLOW_WORDS];
        let (Some(sender), Some(receiver)) = (&self.sender, &self.receiver) else { return Ok(words) };
        if time_ns < self.start_ns {
            return Ok(words);
        }
        let (mut sent, mut received) = ([0; 256], [0; 256]);
        sys::tcp_info(sender, &mut sent)?;
        sys::tcp_info(receiver, &mut received)?;
        let long = |bytes: &[u8; 256], at: usize| word(bytes, at) | word(bytes, at + 4) << 32;
        // Congestion state, cwnd, ssthresh, srtt, minimum RTT, and segments unacknowledged, SACKed, lost, and
        // retransmitted in flight.
        words[0] = sent[1].into();
        for (to, offset) in [80, 76, 68, 148, UNACKNOWLEDGED, 28, 32, 36].into_iter().enumerate() {
            words[1 + to] = word(&sent, offset);
        }
        // Retransmissions, segments with data, timeouts, reported duplicates, busy time, and time limited by the
        // window.
        words[9] = word(&sent, RETRANSMITTED).saturating_sub(self.repeated_syns);
        words[10] = word(&sent, 156);
        words[11] = word(&sent, 240) & 0xffff;
        words[12] = word(&sent, 216);
        words[13] = long(&sent, 168);
        words[14] = long(&sent, 176);
        words[15] = word(&sent, 16);
        // Bytes in order and segments with data at the receiver.
        words[16] = long(&received, 128);
        words[17] = word(&received, 152);
        // Segments acknowledged with an ECN echo.
        words[18] = word(&sent, 196);
        Ok(words)
    }
}
