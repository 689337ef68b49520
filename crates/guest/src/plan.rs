//! The plan of a run. The backend derives the plan from a scenario, and writes it into a file next to the program.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use elephan_sim::Time;
use elephan_sim::application::Application;
use elephan_sim::random::Stream;
use elephan_sim::spec::{ApplicationSpec, MOST_SEGMENTS};
use serde::Deserialize;

/// A run.
#[derive(Debug, Deserialize)]
pub struct Plan {
    /// Seed of the scenario.
    pub seed: u64,
    /// Length, ns.
    pub duration_ns: u64,
    /// Interval between records of sockets and queues, ns.
    pub look_ns: u64,
    /// Further times of records, ns, in order; the last one is the end.
    pub more_looks_ns: Vec<u64>,
    /// Bound of the random delay of each start, ps.
    pub start_jitter_ps: u64,
    /// Time from a timer interrupt of the guest to the start of the run, ns.
    pub phase_ns: u64,
    /// The guest's time at the start of the run, ns, if the path is outside the guest; the guest chooses it if absent.
    #[serde(default)]
    pub zero_ns: Option<u64>,
    /// Network namespaces; the first has the senders and the second the receivers.
    pub namespaces: usize,
    /// Settings under `/proc/sys` of the guest as a whole.
    pub guest_sysctls: BTreeMap<String, String>,
    /// Settings under `/proc/sys` of every network namespace.
    pub sysctls: BTreeMap<String, String>,
    /// Further settings of the first namespaces: the senders' and the receivers'.
    #[serde(default)]
    pub host_sysctls: Vec<BTreeMap<String, String>>,
    /// Devices between two namespaces.
    pub devices: Vec<Device>,
    /// Routes through these devices.
    pub routes: Vec<Route>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// Programs.
    #[serde(default)]
    pub programs: Vec<Program>,
    /// Addresses of programs, by namespace.
    #[serde(default)]
    pub addresses: Vec<(usize, Ipv4Addr)>,
    /// Folders and files of the host that programs may read, besides those of installed programs and libraries.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
}

/// A client, and its server if it has one of its own.
#[derive(Debug, Deserialize)]
pub struct Program {
    /// Name in the scenario.
    pub name: String,
    /// Command of the server.
    pub server: Option<Vec<String>>,
    /// Position of the program whose server this program uses, if the server is not its own.
    pub server_of: Option<usize>,
    /// Command of the client.
    pub client: Vec<String>,
    /// Environment variables of both.
    pub environment: BTreeMap<String, String>,
    /// Port of the server.
    pub port: u16,
    /// Text in the server's output that shows that it is ready; a listening port if absent.
    pub ready: Option<String>,
    /// True if the client is on the host of the senders.
    pub client_sends: bool,
    /// Start of the client without jitter, ps.
    pub start_ps: u64,
    /// Time at which the client is ended, ns.
    pub stop_ns: Option<u64>,
    /// True if the client is a command of `elephan lab linux exec`: the guest passes on its input, its output and its
    /// exit status, and ends with it.
    #[serde(default)]
    pub exec: bool,
}

/// A pair of virtual devices; its first end may have netem.
#[derive(Debug, Deserialize)]
pub struct Device {
    /// Namespace of the sending end.
    pub from: usize,
    /// Namespace of the other end; absent if that end is outside the guest.
    pub to: Option<usize>,
    /// Largest packet, bytes.
    pub mtu: u32,
    /// Rate, delay and limit of the first end.
    pub netem: Option<Netem>,
    /// Queue discipline of the first end, served at a limited rate, instead of netem.
    #[serde(default)]
    pub queue: Option<Queue>,
    /// True if the queue is recorded.
    pub watched: bool,
    /// True at a host's output, at which segments are divided into packets.
    pub host: bool,
}

/// Parameters of netem.
#[derive(Debug, Deserialize)]
pub struct Netem {
    /// Rate, bit/s; unlimited if absent.
    pub rate_bps: Option<u64>,
    /// Delay, ns.
    pub delay_ns: u64,
    /// Capacity, packets, including the packet in transmission.
    pub limit: u32,
    /// Loss probability, in units of 2⁻⁵³.
    pub loss: u64,
    /// Key of the random stream of the losses.
    pub loss_key: u64,
}

/// A queue discipline of the kernel, served at a rate.
#[derive(Debug, Deserialize)]
pub struct Queue {
    /// Rate, bit/s.
    pub rate_bps: u64,
    /// The kernel's name of the discipline.
    pub kind: String,
    /// Options of the discipline: numbers of attributes, and their values.
    pub options: Vec<(u16, Vec<u8>)>,
    /// Offset of the count of marks in the discipline's own statistics, bytes.
    pub marks_at: usize,
    /// Limit of the first-in, first-out queue by which the discipline notices idle times, packets.
    #[serde(default)]
    pub idle_limit: Option<u32>,
}

/// A route to one address.
#[derive(Debug, Deserialize)]
pub struct Route {
    /// Namespace of the route.
    pub namespace: usize,
    /// Destination.
    pub to: Ipv4Addr,
    /// Position of the device.
    pub device: usize,
    /// Source address of packets whose sender states none; the kernel chooses it if absent.
    #[serde(default)]
    pub source: Option<Ipv4Addr>,
    /// Initial congestion window, segments; the kernel's default if absent.
    pub initial_window: Option<u32>,
    /// First window that a receiver advertises, segments; given by its buffer if absent.
    pub receive_window: Option<u32>,
    /// Largest packet, bytes; the device's if absent.
    pub mtu: Option<u32>,
    /// True if connections over the route request explicit congestion notification.
    pub ecn: bool,
}

/// A flow.
#[derive(Debug, Deserialize)]
pub struct Flow {
    /// Name in the scenario; also the name of the flow's random stream.
    pub name: String,
    /// Address of the sender.
    pub sender: Ipv4Addr,
    /// Address of the receiver.
    pub receiver: Ipv4Addr,
    /// The kernel's name of the flow's congestion control.
    pub congestion: String,
    /// The kernel's name of the receiver's congestion control, which decides the form of ECN echoes.
    pub receiver_congestion: Option<String>,
    /// Start without jitter, ps.
    pub start_ps: u64,
    /// Time after which nothing more is written, ns.
    pub stop_ns: Option<u64>,
    /// Length of the transfer, segments.
    pub size_segments: Option<u64>,
    /// Payload of a full segment, bytes.
    pub payload_bytes: u32,
    /// Application that hands over the data; without an application, all data are available at the start.
    pub application: Option<ApplicationSpec>,
    /// Value of the socket option of the send buffer, bytes.
    pub send_buffer_bytes: u32,
    /// Value of the socket option of the receive buffer, bytes; 0 if the kernel adapts the buffer itself.
    pub receive_buffer_bytes: u32,
    /// Advertised window, bytes; the buffer's if absent.
    pub receive_window_bytes: Option<u32>,
    /// Low-water mark of the receiver, bytes.
    pub read_bytes: u32,
    /// True if the kernel paces the flow.
    pub pacing: bool,
}

impl Plan {
    /// Start of a flow, ns; the same as in a simulation with the same seed.
    pub fn start_ns(&self, flow: usize) -> u64 {
        let flow = &self.flows[flow];
        self.with_jitter(&flow.name, flow.start_ps)
    }

    /// Start of a program's client, ns.
    pub fn program_start_ns(&self, program: usize) -> u64 {
        let program = &self.programs[program];
        self.with_jitter(&program.name, program.start_ps)
    }

    fn with_jitter(&self, name: &str, start_ps: u64) -> u64 {
        let mut jitter = Stream::new(self.seed, &format!("flow {name} start"));
        (start_ps + jitter.below(self.start_jitter_ps + 1)).div_ceil(1000)
    }

    /// Seed of the random numbers of a flow's congestion control; the same as in a simulation with the same seed.
    pub fn algorithm_seed(&self, flow: usize) -> u64 {
        Stream::new(self.seed, &format!("flow {} algorithm", self.flows[flow].name)).bits()
    }

    /// Application of a flow; the same as in a simulation with the same seed.
    pub fn application(&self, flow: usize) -> Option<Application> {
        let this = &self.flows[flow];
        let end_ns = this.stop_ns.unwrap_or(self.duration_ns).min(self.duration_ns);
        let times = (Time(1000 * self.start_ns(flow)), Time(1000 * end_ns));
        let total = this.size_segments.unwrap_or(MOST_SEGMENTS.into());
        let bits = u64::from(this.payload_bytes) * 8;
        this.application.as_ref().map(|spec| Application::new(spec, self.seed, &this.name, bits, times, total))
    }
}

impl Flow {
    /// Length of the transfer, bytes.
    pub fn size_bytes(&self) -> Option<u64> {
        self.size_segments.map(|segments| segments * u64::from(self.payload_bytes))
    }
}
