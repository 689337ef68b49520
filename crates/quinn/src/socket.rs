//! A UDP socket for the crate quinn that adds time stamps to datagrams, for algorithms that use the forward delay
//! (feature `socket`).
//!
//! ```no_run
//! # fn example(server: std::net::SocketAddr, config: quinn::EndpointConfig) -> Result<(), Box<dyn std::error::Error>> {
//! use std::{collections::BTreeMap, net::UdpSocket, sync::Arc};
//! use elephan_quinn::{Elephan, socket::{self, StampedSocket}};
//!
//! let runtime = quinn::default_runtime().ok_or("quinn needs an asynchronous runtime")?;
//! let socket = Arc::new(StampedSocket::new(runtime.wrap_udp_socket(UdpSocket::bind("127.0.0.1:0")?)?));
//! let forward_delay = socket.forward_delay(server); // one for each connection
//! let mut transport = quinn::TransportConfig::default();
//! socket::leave_room(&mut transport);
//! let hcc = Elephan::with("hcc", BTreeMap::new(), Some(forward_delay))?;
//! transport.congestion_controller_factory(Arc::new(hcc));
//! let endpoint = quinn::Endpoint::new_with_abstract_socket(config, None, socket, runtime)?;
//! # Ok(())
//! # }
//! ```
//!
//! Both ends of a connection need a socket that adds time stamps. A server calls [`StampedSocket::forward_delay`] with
//! `Incoming::remote_address` and passes the configuration of that connection to `Incoming::accept_with`. If the peer
//! of a connection changes its address, the connection gets no further delays.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, MtuDiscoveryConfig, TransportConfig, UdpPoller};

use crate::stamp::{ForwardDelay, STAMP_BYTES, Stamper, unstamped};

/// Largest UDP payload that fits into an Ethernet frame with IPv6, bytes.
const LARGEST_PAYLOAD: u16 = 1452;

/// Reduces quinn's largest datagrams by the length of a stamp: path MTU discovery ends at 1,436 bytes instead of 1,452.
pub fn leave_room(transport: &mut TransportConfig) {
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(LARGEST_PAYLOAD - STAMP_BYTES as u16);
    transport.mtu_discovery_config(Some(discovery));
}

/// A socket of quinn whose datagrams carry time stamps.
pub struct StampedSocket {
    inner: Arc<dyn AsyncUdpSocket>,
    origin: Instant,
    peers: Mutex<HashMap<SocketAddr, Stamper>>,
}

impl fmt::Debug for StampedSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StampedSocket").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl StampedSocket {
    /// Adds time stamps to the datagrams of a socket.
    #[must_use]
    pub fn new(inner: Arc<dyn AsyncUdpSocket>) -> Self {
        Self { inner, origin: Instant::now(), peers: Mutex::default() }
    }

    /// Forward delays towards a peer, for the controller of its connection. The socket keeps the delays until their
    /// last controller is dropped; datagrams from other addresses leave no state.
    #[must_use]
    pub fn forward_delay(&self, peer: SocketAddr) -> ForwardDelay {
        let mut peers = self.peers();
        peers.retain(|_, stamper| stamper.is_read());
        peers.entry(peer).or_insert_with(|| Stamper::new(ForwardDelay::default())).forward_delay()
    }

    fn peers(&self) -> MutexGuard<'_, HashMap<SocketAddr, Stamper>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This host's clock: ps since the socket's creation.
    fn now_ps(&self) -> i64 {
        i64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(i64::MAX).saturating_mul(1000)
    }

    /// Removes the stamps from the datagrams that one receive call has written to `buffer`, and closes the gaps.
    fn take(&self, buffer: &mut [u8], meta: &mut RecvMeta, now_ps: i64) {
        let mut peers = self.peers();
        let mut stamper = peers.get_mut(&meta.addr);
        let (mut from, mut to) = (0, 0);
        while from < meta.len {
            let length = meta.stride.clamp(1, meta.len - from);
            let datagram = &buffer[from..from + length];
            let kept = match &mut stamper {
                Some(stamper) => stamper.read(datagram, now_ps),
                None => unstamped(datagram),
            };
            let kept = kept.unwrap_or(0); // not stamped, so of no use
            buffer.copy_within(from..from + kept, to);
            (from, to) = (from + length, to + kept);
        }
        meta.len = to;
        meta.stride = meta.stride.saturating_sub(STAMP_BYTES);
    }
}

impl AsyncUdpSocket for StampedSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.inner.clone().create_io_poller()
    }

    /// Stamps one datagram and sends it. Quinn passes one datagram at a time, because of
    /// [`StampedSocket::max_transmit_segments`].
    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let mut datagram = Vec::with_capacity(transmit.contents.len() + STAMP_BYTES);
        datagram.extend_from_slice(transmit.contents);
        let now_ps = self.now_ps();
        match self.peers().get(&transmit.destination) {
            Some(stamper) => stamper.stamp(&mut datagram, now_ps),
            None => Stamper::new(ForwardDelay::default()).stamp(&mut datagram, now_ps),
        }
        self.inner.try_send(&Transmit { contents: &datagram, segment_size: None, ..*transmit })
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let polled = self.inner.poll_recv(cx, bufs, meta);
        if let Poll::Ready(Ok(count)) = polled {
            let now_ps = self.now_ps();
            for (buffer, meta) in bufs.iter_mut().zip(meta.iter_mut()).take(count) {
                self.take(buffer, meta, now_ps);
            }
        }
        polled
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    /// Limit of one datagram per call, since each datagram has its own departure time.
    fn max_transmit_segments(&self) -> usize {
        1
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Nowhere;

    impl AsyncUdpSocket for Nowhere {
        fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
            panic!("nothing is sent")
        }

        fn try_send(&self, _transmit: &Transmit<'_>) -> io::Result<()> {
            Ok(())
        }

        fn poll_recv(
            &self,
            _cx: &mut Context<'_>,
            _bufs: &mut [IoSliceMut<'_>],
            _meta: &mut [RecvMeta],
        ) -> Poll<io::Result<usize>> {
            Poll::Pending
        }

        fn local_addr(&self) -> io::Result<SocketAddr> {
            Ok(([127, 0, 0, 1], 1).into())
        }
    }

    #[test]
    fn stamps_are_taken_off_datagrams_that_the_kernel_has_merged() {
        let socket = StampedSocket::new(Arc::new(Nowhere));
        let peer: SocketAddr = ([127, 0, 0, 1], 2).into();
        let delay = socket.forward_delay(peer);
        let mut other = Stamper::new(ForwardDelay::default());
        other.take(&mut [7_i64.to_le_bytes(), 0_i64.to_le_bytes()].concat(), 1_007);
        let mut merged = Vec::new();
        for text in [&b"first"[..], b"later", b"end"] {
            let mut datagram = text.to_vec();
            other.stamp(&mut datagram, 2_000);
            merged.extend(datagram);
        }
        let mut meta = RecvMeta { addr: peer, len: merged.len(), stride: 5 + STAMP_BYTES, ..RecvMeta::default() };
        socket.take(&mut merged, &mut meta, 3_000);
        assert_eq!((&merged[..meta.len], meta.stride), (&b"firstlaterend"[..], 5));
        assert_eq!(delay.latest_ps(), Some(1_000));
    }

    #[test]
    fn a_peer_is_forgotten_with_its_controller_and_strangers_leave_nothing() {
        let socket = StampedSocket::new(Arc::new(Nowhere));
        let peers = |socket: &StampedSocket| socket.peers().len();
        let stranger: SocketAddr = ([127, 0, 0, 1], 3).into();
        let mut meta = RecvMeta { addr: stranger, len: 20, stride: 20, ..RecvMeta::default() };
        socket.take(&mut [0; 20], &mut meta, 0);
        assert_eq!((meta.len, meta.stride, peers(&socket)), (4, 4, 0));
        let mut short = RecvMeta { addr: stranger, len: 3, stride: 3, ..RecvMeta::default() };
        socket.take(&mut [0; 3], &mut short, 0);
        assert_eq!((short.len, short.stride), (0, 0));
        drop(socket.forward_delay(stranger));
        let kept = socket.forward_delay(([127, 0, 0, 1], 4).into());
        assert_eq!((peers(&socket), kept.latest_ps()), (1, None));
    }
}
