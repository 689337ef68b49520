//! Compares two implementations of an algorithm over one recorded connection. The Rust implementation leads the
//! connection, whose events are recorded. The C implementation of `bpf/`, compiled natively, then gets the same events.
//! The windows of both implementations are compared after each event.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::SystemTime;

use elephan_cc::draws::Draws;
use elephan_cc::param::{Unit, place_of_word};
use elephan_cc::{Ack, Algorithm, Cause, Controller, Event, Setting, Signal, Start, Value, build};

/// Number of segments that arrive above a gap before the gap counts as lost.
const DUPLICATES: u32 = 3;
/// Difference between the two hosts' clocks, us.
const CLOCKS: u64 = 3_999_999_000;
/// Processing time of the sender between an ACK and the segment that this ACK allows, us. With a processing time of 0 a
/// segment's RTT would equal the time between two ACKs, and rounding errors would decide which of the two is longer.
const HOST: u64 = 3;
const S: f64 = 1e-6;
/// Flags of an ACK's effects, as in bpf/native/main.c.
const LIMITED: u64 = 1;
const FROZEN: u64 = 2;
const RECOVERY_ENDS: u64 = 4;
const LOSS_FOUND: u64 = 8;

/// A bottleneck with one flow.
#[derive(Clone, Copy)]
pub struct Course {
    pub name: &'static str,
    /// Segments/s.
    pub rate: f64,
    /// Fraction of its rate that the link has in every second interval of three seconds.
    pub dip: f64,
    /// Round-trip time without a queue, us.
    pub base: u64,
    /// Segments.
    pub buffer: usize,
    pub random_loss: f64,
    /// Largest extra delay on the reverse path, us.
    pub reverse_jitter: u64,
    pub seconds: u64,
    /// Time from which all segments are lost, up to the timeout, s.
    pub outage: Option<u64>,
    /// Time after which the first loss begins an outage in which all segments are lost, s.
    pub deaf: Option<u64>,
    /// Time at which the application pauses for two seconds, s.
    pub pause: Option<u64>,
    /// Time after which the first loss turns out to be spurious, s.
    pub spurious: Option<u64>,
    /// True if the kernel does not ask for a slow-start threshold after a loss.
    pub unasked: bool,
}

#[derive(Clone, Copy)]
struct Packet {
    number: u32,
    sent: u64,
    arrives: Option<u64>,
    forward: u64,
    passed: u32,
}

/// The connection that the Rust algorithm leads, and the recorded events.
pub struct Recorder {
    course: Course,
    algorithm: Controller,
    draws: Draws,
    now: u64,
    link_free: f64,
    flying: VecDeque<Packet>,
    next: u32,
    delivered: u32,
    round_end: u32,
    min_rtt: f64,
    srtt: f64,
    /// Number of segments sent at the start of the recovery.
    recovery: Option<u32>,
    last_arrival: u64,
    outage_over: bool,
    deaf_over: bool,
    paused: bool,
    undone: bool,
    lines: String,
    windows: Vec<(f64, f64)>,
}

impl Recorder {
    pub fn new(course: Course, algorithm: Controller) -> Self {
        Self {
            course,
            algorithm,
            draws: Draws::new(11),
            now: 1_000_000,
            link_free: 0.0,
            flying: VecDeque::new(),
            next: 0,
            delivered: 0,
            round_end: 0,
            min_rtt: f64::INFINITY,
            srtt: 0.0,
            recovery: None,
            last_arrival: 0,
            outage_over: false,
            deaf_over: false,
            paused: false,
            undone: false,
            lines: String::new(),
            windows: Vec::new(),
        }
    }

    /// Runs the course. Returns the events, and the window and the threshold after each.
    pub fn run(mut self) -> (String, Vec<(f64, f64)>) {
        let start = Start { now: self.seconds(), segment_bytes: 1448.0, ..Start::default() };
        self.algorithm.on_event(&Event::Start(start));
        self.note('S', &[10, 2_147_483_647]);
        let end = self.now + self.course.seconds * 1_000_000;
        while self.now < end {
            self.send();
            match self.flying.iter().position(|p| p.arrives.is_some()) {
                Some(at) => self.receive(at),
                None => self.time_out(),
            }
            self.pause();
        }
        (self.lines, self.windows)
    }

    fn seconds(&self) -> f64 {
        self.now as f64 * S
    }

    fn after(&self, seconds: Option<u64>) -> bool {
        seconds.is_some_and(|s| self.now >= s * 1_000_000)
    }

    fn rate(&self) -> f64 {
        self.course.rate * if self.now / 3_000_000 % 2 == 1 { self.course.dip } else { 1.0 }
    }

    fn note(&mut self, event: char, numbers: &[u64]) {
        let now = self.now;
        write!(self.lines, "{event} {now}").expect("a string takes it");
        for number in numbers {
            write!(self.lines, " {number}").expect("a string takes it");
        }
        self.lines.push('\n');
        self.windows.push((self.algorithm.window(), self.algorithm.ssthresh()));
    }

    fn send(&mut self) {
        while (self.flying.len() as f64) < self.algorithm.window().floor() {
            let sent = self.now + HOST;
            let (rate, now) = (self.rate(), sent as f64 * S);
            let waiting = ((self.link_free - now) * rate).max(0.0);
            let deaf = self.after(self.course.deaf) && self.recovery.is_some() && !self.deaf_over;
            let out = deaf || (self.after(self.course.outage) && !self.outage_over);
            let lost = out || waiting >= self.course.buffer as f64 || self.draws.uniform() < self.course.random_loss;
            let mut packet = Packet { number: self.next, sent, arrives: None, forward: 0, passed: 0 };
            if !lost {
                self.link_free = self.link_free.max(now) + 1.0 / rate;
                packet.forward = ((self.link_free - now) / S) as u64 + self.course.base / 2;
                let back = self.course.base / 2 + (self.draws.uniform() * self.course.reverse_jitter as f64) as u64;
                let arrives = (sent + packet.forward + back).max(self.last_arrival);
                self.last_arrival = arrives;
                packet.arrives = Some(arrives);
            }
            self.flying.push_back(packet);
            self.next += 1;
        }
    }

    fn receive(&mut self, at: usize) {
        let Some(packet) = self.flying.remove(at) else { return };
        let Some(arrives) = packet.arrives else { return };
        self.now = arrives;
        let (before, mut flags) = (self.flying.len() + 1, 0);
        self.delivered += 1;
        let rtt = (self.now - packet.sent) as f64 * S;
        self.min_rtt = self.min_rtt.min(rtt);
        self.srtt = if self.srtt == 0.0 { rtt } else { 0.875 * self.srtt + 0.125 * rtt };
        if self.recovery.is_some_and(|end| packet.number >= end) {
            self.recovery = None;
            self.algorithm.on_event(&Event::RecoveryExit { now: self.seconds() });
            flags |= RECOVERY_ENDS;
        }
        for late in self.flying.iter_mut().take(at) {
            late.passed += 1;
        }
        let lost = self.flying.iter().take(at).any(|p| p.passed >= DUPLICATES);
        let una = self.flying.front().map_or(self.next, |p| p.number);
        let round_start = una >= self.round_end;
        if round_start {
            self.round_end = self.next;
        }
        if lost {
            self.flying.retain(|p| p.passed < DUPLICATES);
        }
        if lost && self.recovery.is_none() {
            self.recovery = Some(self.next);
            self.algorithm.on_event(&Event::Congestion(self.signal(before)));
            flags |= LOSS_FOUND;
        }
        self.acknowledge(packet, before, (una, round_start, at), flags);
        self.undo();
    }

    fn acknowledge(&mut self, packet: Packet, before: usize, (una, round_start, at): (u32, bool, usize), flags: u64) {
        let frozen = self.recovery.is_some();
        // The gap is still open: the segments above it are SACKed.
        let sacked = u32::from(at > 0);
        let limited = before as f64 >= self.algorithm.window().floor();
        let owd = packet.forward;
        let ack = Ack {
            now: self.seconds(),
            acked: 1.0,
            rtt: Some((self.now - packet.sent) as f64 * S),
            // The kernel has no one-way delay while timestamps are stale, up to the ACK that ends a recovery
            // (bpf/hooks.h, read_owd).
            owd: (sacked == 0 && !frozen && flags & RECOVERY_ENDS == 0).then_some((owd + CLOCKS) as f64 * S),
            min_rtt: self.min_rtt,
            srtt: self.srtt,
            in_flight: self.flying.len() as f64,
            round_start,
            in_recovery: frozen,
            sample: None,
            window_limited: limited,
            ..Ack::default()
        };
        self.algorithm.on_ack(&ack);
        let difference = (CLOCKS + owd) & 0xffff_ffff;
        let rtt = self.now - packet.sent;
        let (next, delivered, flying) = (u64::from(self.next), u64::from(self.delivered), self.flying.len() as u64);
        let flags = flags + u64::from(limited) * LIMITED + u64::from(frozen) * FROZEN;
        self.note('A', &[u64::from(una), next, delivered, rtt, difference, u64::from(sacked), flying, flags]);
    }

    fn signal(&self, before: usize) -> Signal {
        let (cause, srtt, min_rtt) = (Cause::Loss, self.srtt, self.min_rtt);
        Signal { now: self.seconds(), in_flight: before as f64, cause, srtt, min_rtt, repeated: false, kept: 0.0 }
    }

    fn undo(&mut self) {
        if self.undone || self.recovery.is_none() || !self.after(self.course.spurious) {
            return;
        }
        self.undone = true;
        self.recovery = None;
        self.algorithm.on_event(&Event::Undo { now: self.seconds() });
        let ssthresh = self.algorithm.ssthresh().floor().min(2_147_483_647.0);
        self.note('U', &[ssthresh as u64]);
    }

    fn time_out(&mut self) {
        self.now += 1_000_000;
        let signal = self.signal(self.flying.len());
        let recovering = u64::from(self.recovery.is_some());
        self.flying.clear();
        self.algorithm.on_event(&Event::Timeout(signal));
        self.recovery = None;
        self.outage_over |= self.after(self.course.outage);
        self.deaf_over |= recovering == 1 && self.after(self.course.deaf);
        self.note('T', &[recovering]);
        self.algorithm.on_event(&Event::RecoveryExit { now: self.seconds() });
    }

    /// Stops the application until all data are acknowledged, and two seconds longer.
    fn pause(&mut self) {
        if self.paused || self.recovery.is_some() || !self.after(self.course.pause) {
            return;
        }
        self.paused = true;
        while self.recovery.is_none() {
            let Some(at) = self.flying.iter().position(|p| p.arrives.is_some()) else { break };
            self.receive(at);
        }
        if self.flying.is_empty() {
            self.now += 2_000_000;
            self.algorithm.on_event(&Event::Idle { now: self.seconds(), idle: 2.0 });
            self.note('I', &[10]);
        }
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The C algorithm as a native program, compiled once and again after a change.
fn program(algorithm: &str) -> PathBuf {
    compiled(algorithm, &[&format!("{algorithm}.bpf.c"), "native/main.c"])
}

/// The program of a name in the target folder, which is compiled if it is not newer than its sources.
fn compiled(name: &str, sources: &[&str]) -> PathBuf {
    static CURRENT: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut current = CURRENT.lock().expect("no test stops while it compiles");
    if current.insert(name.to_owned()) && modified(&target).is_none_or(|then| then <= sources_modified()) {
        // Renamed when complete, since tests may be processes that compile and start the same program at once.
        let own = target.with_extension(std::process::id().to_string());
        compile(sources, &own);
        fs::rename(own, &target).expect("both are in one folder");
    }
    target
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|found| found.modified()).ok()
}

/// When a file that a program may consist of was last changed, or this file, which has the compiler's options.
fn sources_modified() -> SystemTime {
    let bpf = repository().join("bpf");
    let listed = [bpf.join("native"), bpf].into_iter().flat_map(|folder| fs::read_dir(folder).expect("it is there"));
    let own = repository().join("crates/cc/tests/twin/mod.rs");
    let files = listed.map(|entry| entry.expect("it can be listed").path()).chain([own]);
    files.filter(|path| path.is_file()).filter_map(|path| modified(&path)).max().expect("there are sources")
}

fn compile(sources: &[&str], target: &Path) {
    let bpf = repository().join("bpf");
    let done = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"])
        // An overflow stops the program.
        .args(["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "-I"])
        .arg(bpf.join("native"))
        .arg("-I")
        .arg(&bpf)
        .args(sources.iter().map(|source| bpf.join(source)))
        .arg("-o")
        .arg(target)
        .output()
        .expect("a C compiler is there where Rust links");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Output of `program` for the input file `input`.
fn answers(program: &Path, input: &Path) -> String {
    let done = Command::new(program)
        .stdin(File::open(input).expect("it was just written"))
        .stderr(Stdio::inherit())
        .output()
        .expect("it was just compiled");
    assert!(done.status.success());
    String::from_utf8(done.stdout).expect("it writes numbers")
}

/// Results that `bpf/fixed.h` computes for operations on two numbers in units of 2^-32.
pub fn fixed_point(questions: &[(&str, i64, i64)]) -> Vec<i64> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (program, input) = (compiled("fixed", &["native/fixed.c"]), folder.join("fixed.questions"));
    let text: String = questions.iter().map(|(name, a, b)| format!("{name} {a} {b}\n")).collect();
    fs::write(&input, text).expect("the target folder can be written");
    answers(&program, &input).lines().map(|line| line.parse().expect("it writes numbers")).collect()
}

/// A parameter's value in the objects' form: fixed point, times in microseconds, a choice as its position in the list.
fn fixed(algorithm: &str, name: &str, setting: Setting) -> i64 {
    let specs = || elephan_cc::registry().iter().filter(|e| e.name == algorithm).flat_map(|e| e.tables.iter());
    let spec = specs().flat_map(|t| t.iter()).find(|s| s.name == name).expect("the algorithm has it");
    let number = match setting {
        Setting::Num(x) if spec.domain.unit == Unit::Seconds => x / S,
        Setting::Num(x) => x,
        Setting::Bool(on) => f64::from(u8::from(on)),
        Setting::Text(_) => place_of_word(spec, &setting.into()).expect("a word of it") as f64,
    };
    let number = if matches!(name, "low_p" | "high_p") { number.log2() } else { number };
    (number * 4_294_967_296.0).round() as i64
}

/// Largest difference between the windows of the two implementations over a connection, and the largest window,
/// segments.
pub fn difference(algorithm: &str, settings: &[(&str, Setting)], course: Course) -> (f64, f64) {
    let params: BTreeMap<String, Value> =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    let (lines, windows) = Recorder::new(course, build(algorithm, &params).expect("it is right")).run();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let words: Vec<_> = settings.iter().map(|(name, _)| *name).collect();
    let unique = format!("{algorithm}-{}-{}", course.name, words.join("-"));
    let events = folder.join(format!("{unique}.events"));
    let mut text = String::from(if course.unasked { "Q\n" } else { "" });
    for (name, value) in settings {
        let symbol = if matches!(*name, "low_p" | "high_p") { format!("log2_{name}") } else { (*name).to_owned() };
        writeln!(text, "P {symbol} {}", fixed(algorithm, name, *value)).expect("a string takes it");
    }
    fs::write(&events, text + &lines).expect("the target folder can be written");
    let answers = answers(&program(algorithm), &events);
    assert_eq!(answers.lines().count(), windows.len());
    compare(&answers, &lines, &windows)
}

fn compare(answers: &str, lines: &str, windows: &[(f64, f64)]) -> (f64, f64) {
    let (mut worst, mut largest) = (0.0_f64, 0.0_f64);
    for ((answer, event), (w, ssthresh)) in answers.lines().zip(lines.lines()).zip(windows) {
        let mut numbers = answer.split(' ').map(|x| x.parse::<f64>().expect("it writes numbers"));
        let (cwnd, threshold) = (numbers.next().expect("a window"), numbers.next().expect("a threshold"));
        let off = (w.floor() - cwnd).abs();
        // After an idle time the kernel raises its threshold; the next ACK restores the algorithm's own threshold.
        let both = ssthresh.is_finite() && !event.starts_with('I');
        let apart = if both { (ssthresh.floor() - threshold).abs() } else { 0.0 };
        if off.max(apart) > worst.max(1.0) && std::env::var_os("TWINS_VERBOSE").is_some() {
            eprintln!("{event}: {w:.3} and {cwnd}, threshold {ssthresh:.3} and {threshold}");
        }
        worst = worst.max(off).max(apart);
        largest = largest.max(*w);
    }
    (worst, largest)
}
