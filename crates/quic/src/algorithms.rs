//! Construction of quinn's congestion controller for the algorithm that a flow names.

use std::sync::Arc;
use std::time::Instant;

use elephan_quinn::Elephan;
use elephan_quinn::stamp::{ForwardDelay, STAMP_BYTES};
use elephan_sim::SpecError;
use elephan_sim::spec::{FlowSpec, value_of};
use quinn_proto::congestion::ControllerFactory;

/// Headers of IPv4 and UDP, bytes.
pub const IP_UDP_BYTES: u32 = 28;
/// The smallest datagram that may carry a first packet, bytes of UDP payload (RFC 9000 §14.1).
pub const SMALLEST_MTU: u32 = 1200;
/// The smallest UDP payload that quinn sends: a packet with a connection id of 8 bytes, a tag and an ACK.
const SMALLEST_PAYLOAD: u16 = 20;

/// Function from a time to the next departure, if no datagram may leave at that time.
pub type Pacing = Box<dyn Fn(Instant) -> Option<Instant> + Send>;

/// Congestion control of a flow, and the datagrams that it needs.
pub struct Chosen {
    /// Makes the controllers.
    pub factory: Arc<dyn ControllerFactory + Send + Sync>,
    /// UDP payload of a full datagram, bytes.
    pub mtu: u16,
    /// Estimates of the forward delay from time stamps, if the algorithm needs them.
    pub forward_delay: Option<ForwardDelay>,
    /// The controller's own pacing, if it has one in addition to quinn's.
    pub pacing: Option<Pacing>,
}

/// Sizes of the packets on the wire of a flow with this stack, bytes.
pub fn wire_bytes(flow: &FlowSpec) -> (u16, u16) {
    (SMALLEST_PAYLOAD + IP_UDP_BYTES as u16, (flow.stack.payload_bytes + flow.stack.header_bytes).min(65_535) as u16)
}

/// Congestion control of the flow at position `index`.
///
/// # Errors
/// An unknown name or parameter, or a need of an algorithm that quinn does not meet.
pub fn chosen(index: usize, flow: &FlowSpec, seed: u64) -> Result<Chosen, SpecError> {
    let refused = |message: String| SpecError::new(format!("flows[{index}].algorithm"), message);
    let parameters = flow.parameters.iter().map(|(name, value)| (name.clone(), value_of(value))).collect();
    let stamped = Elephan::needs_stamps(&flow.algorithm, &parameters);
    let stamp = if stamped { STAMP_BYTES as u32 } else { 0 };
    let wire = flow.stack.payload_bytes + flow.stack.header_bytes;
    let mtu = wire.saturating_sub(IP_UDP_BYTES + stamp).min(65_527);
    if mtu < SMALLEST_MTU {
        let least = SMALLEST_MTU + IP_UDP_BYTES + stamp;
        let message = format!("QUIC needs packets of at least {least} bytes on the wire, and these have {wire}");
        return Err(SpecError::new(format!("flows[{index}].stack"), message));
    }
    let initial = u64::from(flow.stack.initial_window) * u64::from(mtu);
    let (forward_delay, mtu) = (stamped.then(ForwardDelay::default), mtu as u16);
    let (factory, pacing): (Arc<dyn ControllerFactory + Send + Sync>, _) = match flow.algorithm.split_once(':') {
        Some(("quinn", name)) => (elephan_quinn::quinns_own(name, Some(initial)).map_err(refused)?, None),
        Some(("s2n", name)) => s2n(name, flow, initial, seed, mtu).map_err(refused)?,
        _ => {
            let made = Elephan::with(&flow.algorithm, parameters, forward_delay.clone()).map_err(refused)?;
            (Arc::new(made.initial_window(flow.stack.initial_window.into()).seed(seed)), None)
        }
    };
    Ok(Chosen { factory, mtu, forward_delay, pacing })
}

type Factory = (Arc<dyn ControllerFactory + Send + Sync>, Option<Pacing>);

/// A controller of s2n-quic.
#[cfg(feature = "s2n")]
fn s2n(name: &str, flow: &FlowSpec, initial: u64, seed: u64, mtu: u16) -> Result<Factory, String> {
    let largest = elephan_s2n::LARGEST_MTU;
    if mtu > largest {
        let most = u32::from(largest) + IP_UDP_BYTES;
        return Err(format!("s2n-quic's controllers take packets of at most {most} bytes on the wire"));
    }
    let initial = initial.try_into().map_err(|_| "s2n-quic's windows are below 4 GiB".to_owned())?;
    let factory = elephan_s2n::S2n::new(name, initial, seed, flow.stack.ecn)?;
    let pacer = factory.pacer();
    Ok((Arc::new(factory), Some(Box::new(move |now| pacer.held_until(now)))))
}

/// Error: the controllers of s2n-quic are not built in.
#[cfg(not(feature = "s2n"))]
fn s2n(name: &str, _flow: &FlowSpec, _initial: u64, _seed: u64, _mtu: u16) -> Result<Factory, String> {
    Err(format!(
        "'s2n:{name}' needs the controllers of s2n-quic, which are not built in; run 'make s2n' in the source tree"
    ))
}
