//! What both ends need: a socket that stamps datagrams, and a transport with a congestion controller.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use elephan_quinn::socket::{self, StampedSocket};
use elephan_quinn::stamp::ForwardDelay;
use elephan_quinn::{Elephan, quinns_own};
use quinn::{Endpoint, EndpointConfig, ServerConfig, TransportConfig, VarInt};

use crate::Failure;

/// Bytes that may be on their way on a stream: more than paths of 1 Gbit/s and 100 ms hold.
const STREAM_WINDOW: u32 = 32 << 20;

/// An endpoint of quinn on a stamping socket.
pub fn endpoint(address: SocketAddr, server: Option<ServerConfig>) -> Result<(Endpoint, Arc<StampedSocket>), Failure> {
    let runtime = quinn::default_runtime().ok_or("no asynchronous runtime")?;
    let bound = UdpSocket::bind(address).map_err(|error| format!("{address}: {error}"))?;
    let socket = Arc::new(StampedSocket::new(runtime.wrap_udp_socket(bound)?));
    let config = EndpointConfig::default();
    Ok((Endpoint::new_with_abstract_socket(config, server, socket.clone(), runtime)?, socket))
}

/// Transport of a connection: `algorithm` is one of Elephan's, or `quinn:` and one of quinn's own.
///
/// # Errors
/// An unknown name, or an algorithm that needs what quinn does not serve.
pub fn transport(algorithm: &str, forward_delay: Option<ForwardDelay>) -> Result<Arc<TransportConfig>, Failure> {
    let mut transport = TransportConfig::default();
    socket::leave_room(&mut transport);
    transport.stream_receive_window(STREAM_WINDOW.into()).receive_window(VarInt::MAX).send_window(STREAM_WINDOW.into());
    match algorithm.strip_prefix("quinn:") {
        Some(own) => transport.congestion_controller_factory(quinns_own(own, None)?),
        None => {
            let made = Elephan::with(algorithm, BTreeMap::new(), forward_delay)?;
            transport.congestion_controller_factory(Arc::new(made))
        }
    };
    Ok(Arc::new(transport))
}

/// Checks that an algorithm exists and that quinn serves it.
pub fn check(algorithm: &str) -> Result<(), Failure> {
    transport(algorithm, Some(ForwardDelay::default())).map(drop)
}
