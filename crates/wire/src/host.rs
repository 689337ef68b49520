//! `elephan-wire send` and `elephan-wire receive`: the hosts at both ends, with one TCP connection for each flow.

use std::fs::File;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use serde_json::{Value, json};

use crate::diag;
use crate::info::TcpInfo;
use crate::plan::{Ends, Plan, Problem, RECEIVER_PORT, SENDER_PORT, doing};
use crate::route::Route;
use crate::start::started;
use crate::sys;
use crate::watched::Watched;

/// Largest amount of unsent data of a flow with a stop time, bytes. Unsent data are limited, since they are sent after
/// the stop.
const UNSENT_BYTES: libc::c_int = 512 << 10;
/// Amount of data from which a receiver reads, bytes. Linux delays ACKs while data wait to be read; with less data,
/// Linux sends an ACK for every other segment.
const READ_BYTES: u32 = 128 << 10;
/// Size of one write, bytes, rounded to a whole number of segments.
const CHUNK_BYTES: usize = 256 << 10;
/// Sampling interval of the windows with one flow, ns; it grows by the same amount for each further flow.
const LOOK_NS: i64 = 2_000_000;
const LOOK_EACH_NS: i64 = 250_000;

const WATCH_PRIORITY: libc::c_int = 2;
const TRANSFER_PRIORITY: libc::c_int = 1;

/// Runs the receivers, which read arriving data until they are stopped.
///
/// # Errors
/// An address is not this host's.
pub fn receive(plan: &Plan, device: &str) -> Result<Value, Problem> {
    sys::switch_offloads_off(device).map_err(doing("offloads"))?;
    lay_routes(plan, device, |ends| (ends.sender, ends.receiver))?;
    for ends in &plan.flows {
        let listener = listener(ends).map_err(doing(format!("listening on {}", ends.receiver)))?;
        let window = ends.receive_window_bytes;
        thread::spawn(move || {
            // A receiver that has to wait for the processor sends fewer ACKs. If the kernel refuses the priority, the
            // path's log shows the effect.
            let _ = sys::go_first(TRANSFER_PRIORITY);
            while let Ok(connection) = sys::accept(&listener) {
                while sys::discard(&connection, 1 << 20).is_ok_and(|taken| taken > 0) {
                    // Linux discards the clamp when it measures the packets' overhead (tcp_update_scaling_ratio), so
                    // the clamp is set again.
                    window.map(|bytes| sys::set_option(&connection, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes));
                }
            }
        });
    }
    let started_ns = started()?;
    sleep_to_end(started_ns + plan.end_ns());
    Ok(json!({"processor_s": sys::processor_seconds()}))
}

/// Adds routes from a host to the other ends of its flows. `ends` returns the address of a flow's other end and the
/// host's own address. Returns true if all time stamps have the requested resolution.
fn lay_routes(plan: &Plan, device: &str, ends: fn(&Ends) -> (Ipv4Addr, Ipv4Addr)) -> Result<bool, Problem> {
    let index = sys::device_index(device).map_err(doing(device))?;
    let mut fine = true;
    for flow in &plan.flows {
        let (to, from) = ends(flow);
        let (initial_window, microseconds) = (Some(flow.initial_window), flow.microseconds);
        let route = Route { to, from, device: index, initial_window, congestion: None, microseconds };
        if !(microseconds && route.set().is_ok()) {
            fine &= !microseconds;
            Route { microseconds: false, ..route }.set().map_err(doing(format!("a route to {to}")))?;
        }
    }
    Ok(fine)
}

fn listener(ends: &Ends) -> std::io::Result<OwnedFd> {
    let socket = sys::tcp_socket()?;
    sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, ends.receive_buffer_bytes)?;
    sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, most_unread(ends))?;
    if let Some(window) = ends.receive_window_bytes {
        sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, window)?;
    }
    sys::bind(&socket, sys::at(ends.receiver, RECEIVER_PORT))?;
    sys::listen(&socket)?;
    Ok(socket)
}

/// Read threshold of a receiver. The threshold must be below the receiver's window, or the receiver would wait forever.
fn most_unread(ends: &Ends) -> u32 {
    let window = ends.receive_window_bytes.unwrap_or(ends.receive_buffer_bytes);
    READ_BYTES.min(window / 4).max(1)
}

fn sleep_to_end(end_ns: i64) {
    while sys::monotonic_ns() < end_ns && !sys::stop_asked() {
        sys::sleep_until(end_ns.min(sys::monotonic_ns() + 100_000_000));
    }
}

/// Runs the senders, and returns the log of their windows.
///
/// # Errors
/// A connection cannot be made or ends early, or the kernel does not have a congestion control.
pub fn send(plan: &Arc<Plan>, device: &str) -> Result<Value, Problem> {
    sys::switch_offloads_off(device).map_err(doing("offloads"))?;
    let fine = lay_routes(plan, device, |ends| (ends.receiver, ends.sender))?;
    // A congestion control that the kernel lacks is detected before the start.
    for ends in &plan.flows {
        sender(ends, false).map(drop)?;
    }
    let started_ns = started()?;
    let sockets: Arc<Vec<OnceLock<OwnedFd>>> = Arc::new(plan.flows.iter().map(|_| OnceLock::new()).collect());
    let failures: Arc<Mutex<Vec<Problem>>> = Arc::default();
    for flow in 0..plan.flows.len() {
        let (plan, sockets, failures) = (plan.clone(), sockets.clone(), failures.clone());
        thread::spawn(move || {
            let Err(problem) = transfer(&plan, flow, started_ns, &sockets[flow]) else { return };
            // After the end the receivers and their connections are closed.
            if sys::monotonic_ns() < started_ns + plan.end_ns() {
                let flow = plan.spec.flows[flow].name.clone();
                let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
                failures.push(Problem::Flow { flow, why: problem.to_string() });
                sys::ask_to_stop();
            }
        });
    }
    let mut log = watch(plan, started_ns, &sockets);
    if let Some(problem) = failures.lock().unwrap_or_else(PoisonError::into_inner).pop() {
        return Err(problem);
    }
    log["fine_timestamps"] = fine.into();
    Ok(log)
}

fn sender(ends: &Ends, bound: bool) -> Result<OwnedFd, Problem> {
    let made = || -> std::io::Result<OwnedFd> {
        let socket = sys::tcp_socket()?;
        sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, ends.send_buffer_bytes)?;
        if ends.pacing {
            // A limit that is never reached; setting it makes TCP pace by itself.
            sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, u64::MAX - 1)?;
        }
        if bound {
            sys::bind(&socket, sys::at(ends.sender, SENDER_PORT))?;
        }
        Ok(socket)
    };
    let socket = made().map_err(doing(format!("a socket on {}", ends.sender)))?;
    let name = &ends.congestion;
    sys::set_congestion_control(&socket, name).map_err(doing(format!("congestion control '{name}'")))?;
    Ok(socket)
}

/// Runs one flow from its handshake to its last byte.
fn transfer(plan: &Plan, flow: usize, started_ns: i64, place: &OnceLock<OwnedFd>) -> Result<(), Problem> {
    let (this, ends) = (&plan.spec.flows[flow], &plan.flows[flow]);
    let start = started_ns + plan.start_ns(flow);
    let socket = sender(ends, true)?;
    sys::sleep_until(start);
    sys::connect(&socket, sys::at(ends.receiver, RECEIVER_PORT))
        .map_err(doing(format!("connecting to {}", ends.receiver)))?;
    let stop = this.stop_ps.map(|ps| started_ns + (ps / 1000) as i64);
    if stop.is_some() {
        sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, UNSENT_BYTES).map_err(doing("socket"))?;
    }
    let copy = socket.as_fd().try_clone_to_owned().map_err(doing("socket"))?;
    let _ = place.set(copy);
    let payload = this.stack.payload_bytes as usize;
    let chunk = vec![0; (CHUNK_BYTES / payload).max(1) * payload];
    let mut left = this.size_segments.map_or(u64::MAX, |segments| segments * payload as u64);
    let mut stream = File::from(socket);
    let _ = sys::go_first(TRANSFER_PRIORITY);
    while left > 0 && stop.is_none_or(|stop| sys::monotonic_ns() < stop) {
        let part = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        left -= stream.write(&chunk[..part]).map_err(doing("writing"))? as u64;
    }
    Ok(())
}

/// Samples every socket until the end.
fn watch(plan: &Plan, started_ns: i64, sockets: &[OnceLock<OwnedFd>]) -> Value {
    let starts: Vec<i64> = (0..sockets.len()).map(|flow| plan.start_ns(flow)).collect();
    let mut log = look_on(plan, started_ns, |flow, now| {
        let socket = sockets[flow].get().filter(|_| now >= starts[flow]);
        let info = socket.and_then(|socket| TcpInfo::read(socket).ok());
        info.map(|info| ((SENDER_PORT, RECEIVER_PORT), info)).into_iter().collect()
    });
    log["starts_s"] = starts.iter().map(|ns| *ns as f64 * 1e-9).collect::<Vec<_>>().into();
    log
}

/// Samples all connections that a user's program has opened from this namespace to the other end.
///
/// # Errors
/// The kernel rejects the request.
pub fn watch_peer(plan: &Plan, peer: Ipv4Addr) -> Result<Value, Problem> {
    diag::connections_to(peer).map_err(doing("sock_diag"))?;
    let started_ns = started()?;
    Ok(look_on(
        plan,
        started_ns,
        |flow, _| {
            if flow == 0 { diag::connections_to(peer).unwrap_or_default() } else { Vec::new() }
        },
    ))
}

/// Samples each flow's connections repeatedly, and records the values at the sample times.
fn look_on(plan: &Plan, started_ns: i64, connections: impl Fn(usize, i64) -> Vec<((u16, u16), TcpInfo)>) -> Value {
    let times: Vec<i64> = plan.sample_times().iter().map(|time| (time.0 / 1000) as i64).collect();
    let measure = &plan.spec.measure;
    let measured = (measure.from_ps / 1000) as i64..(measure.to_ps / 1000) as i64;
    let step_ns = LOOK_NS.max(LOOK_EACH_NS * plan.flows.len() as i64);
    let mut watched: Vec<Watched> = plan.flows.iter().map(|_| Watched::default()).collect();
    let (mut next, mut sampled) = (0, 0);
    // If the kernel refuses the priority, the longest gap in the log shows the effect.
    let _ = sys::go_first(WATCH_PRIORITY);
    let (mut looked, mut gap_ns) = (0, 0);
    while sampled < times.len() && !sys::stop_asked() {
        sys::sleep_until(started_ns + next.min(times[sampled]));
        let now = sys::monotonic_ns() - started_ns;
        gap_ns = gap_ns.max(now - looked);
        looked = now;
        for (flow, seen) in watched.iter_mut().enumerate() {
            seen.look(connections(flow, now), measured.contains(&now));
        }
        while sampled < times.len() && times[sampled] <= now {
            watched.iter_mut().for_each(Watched::sample);
            sampled += 1;
        }
        while next <= now {
            next += step_ns;
        }
    }
    json!({
        "flows": watched.iter().map(Watched::log).collect::<Vec<_>>(),
        "look_period_s": step_ns as f64 * 1e-9,
        "look_gap_s": gap_ns as f64 * 1e-9,
        "processor_s": sys::processor_seconds(),
    })
}
