//! From the algorithm that a flow names to a congestion controller of quinn.

use std::sync::Arc;

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

/// Congestion control of a flow, and the datagrams that it needs.
pub struct Chosen {
    /// Makes the controllers.
    pub factory: Arc<dyn ControllerFactory + Send + Sync>,
    /// UDP payload of a full datagram, bytes.
    pub mtu: u16,
    /// Estimates of the forward delay from time stamps, if the algorithm needs them.
    pub forward_delay: Option<ForwardDelay>,
}

/// Sizes of the packets on the wire of a flow with this stack, bytes.
pub fn wire_bytes(flow: &FlowSpec) -> (u16, u16) {
    (SMALLEST_PAYLOAD + IP_UDP_BYTES as u16, (flow.stack.payload_bytes + flow.stack.header_bytes).min(65_535) as u16)
}

/// Congestion control of the flow at position `index`.
///
/// # Errors
/// A name or a parameter that is unknown, or something that an algorithm needs and quinn does not serve.
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
    let factory: Arc<dyn ControllerFactory + Send + Sync> = match flow.algorithm.split_once(':') {
        Some(("quinn", name)) => elephan_quinn::quinns_own(name, Some(initial)).map_err(refused)?,
        _ => {
            let forward_delay = stamped.then(ForwardDelay::default);
            let made = Elephan::with(&flow.algorithm, parameters, forward_delay.clone()).map_err(refused)?;
            let factory = Arc::new(made.initial_window(flow.stack.initial_window.into()).seed(seed));
            return Ok(Chosen { factory, mtu: mtu as u16, forward_delay });
        }
    };
    Ok(Chosen { factory, mtu: mtu as u16, forward_delay: None })
}
