//! Components of both ends: a socket that adds time stamps to datagrams, and a transport with a congestion controller.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use elephan_quinn::socket::{self, StampedSocket};
use elephan_quinn::stamp::ForwardDelay;
use elephan_quinn::{Elephan, Value, quinns_own};
use quinn::{Endpoint, EndpointConfig, ServerConfig, TransportConfig, VarInt};

use crate::Failure;

/// Receive window of a stream, bytes: more than the BDP of a path with 1 Gbit/s and 100 ms.
const STREAM_WINDOW: u32 = 32 << 20;

/// An endpoint of quinn on a socket that adds time stamps to datagrams.
pub fn endpoint(address: SocketAddr, server: Option<ServerConfig>) -> Result<(Endpoint, Arc<StampedSocket>), Failure> {
    let runtime = quinn::default_runtime().ok_or("no asynchronous runtime")?;
    let bound = UdpSocket::bind(address).map_err(|error| format!("{address}: {error}"))?;
    let socket = Arc::new(StampedSocket::new(runtime.wrap_udp_socket(bound)?));
    let config = EndpointConfig::default();
    Ok((Endpoint::new_with_abstract_socket(config, server, socket.clone(), runtime)?, socket))
}

/// Transport of a connection.
///
/// # Errors
/// An unknown name, a wrong parameter, or an algorithm that needs functions that quinn does not offer.
pub fn transport(control: &Control, forward_delay: ForwardDelay) -> Result<Arc<TransportConfig>, Failure> {
    let mut transport = TransportConfig::default();
    socket::leave_room(&mut transport);
    transport.stream_receive_window(STREAM_WINDOW.into()).receive_window(VarInt::MAX).send_window(STREAM_WINDOW.into());
    match control.algorithm.strip_prefix("quinn:") {
        Some(_) if !control.parameters.is_empty() => return Err("quinn's own controllers have no parameters".into()),
        Some(own) => transport.congestion_controller_factory(quinns_own(own, None)?),
        None => {
            let parameters = control.parameters.iter().cloned().collect::<BTreeMap<_, _>>();
            let made = Elephan::with(&control.algorithm, parameters, Some(forward_delay))?;
            transport.congestion_controller_factory(Arc::new(made))
        }
    };
    Ok(Arc::new(transport))
}

/// Congestion control of a connection.
#[derive(Clone, Debug, Default)]
pub struct Control {
    /// Name of one of Elephan's algorithms, or `quinn:` followed by the name of one of quinn's own controllers.
    pub algorithm: String,
    /// Parameters, for one of Elephan's algorithms.
    pub parameters: Vec<(String, Value)>,
}

impl Control {
    /// An algorithm with its default parameters.
    #[must_use]
    pub fn new(algorithm: &str) -> Self {
        Self { algorithm: algorithm.to_owned(), parameters: Vec::new() }
    }

    /// Checks that the algorithm exists and that quinn supports it.
    ///
    /// # Errors
    /// A sentence.
    pub fn check(&self) -> Result<(), Failure> {
        transport(self, ForwardDelay::default()).map(drop)
    }
}

/// Reads `name=value`, a parameter of an algorithm.
///
/// # Errors
/// There is no `=`.
pub fn parameter(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, for example alpha=50")?;
    let value = match value {
        "true" | "false" => Value::Bool(value == "true"),
        _ => value.parse().map_or_else(|_| Value::Text(value.to_owned()), Value::Num),
    };
    Ok((name.to_owned(), value))
}
