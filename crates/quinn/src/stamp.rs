//! Time stamps that a socket adds to datagrams, for algorithms that use the forward delay (HCC, LEDBAT).
//!
//! QUIC has no time stamps. A [`Stamper`] at each end appends 16 bytes to every datagram: its departure time by the
//! sender's clock, and the one-way delay of the last datagram from the peer. The peer's stamper removes the stamp
//! before quinn gets the datagram. Both ends must stamp. Datagrams are [`STAMP_BYTES`] longer, so quinn's MTU is
//! reduced by the same amount.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Bytes that a stamp adds to a datagram.
pub const STAMP_BYTES: usize = 16;

/// Value of an unknown delay.
const UNKNOWN: i64 = i64::MIN;

/// Latest forward delay of a connection, shared by the socket that measures it and the controller that reads it.
#[derive(Clone, Debug)]
pub struct ForwardDelay(Arc<AtomicI64>);

impl Default for ForwardDelay {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(UNKNOWN)))
    }
}

impl ForwardDelay {
    /// Delay of the newest datagram that the peer has reported, plus the offset of the two clocks, ps; `None` before
    /// the first report.
    #[must_use]
    pub fn latest_ps(&self) -> Option<i64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|&delay| delay != UNKNOWN)
    }
}

/// Stamps of one end of a connection.
#[derive(Clone, Debug)]
pub struct Stamper {
    forward_delay: ForwardDelay,
    /// One-way delay of the newest datagram that has arrived, ps.
    arrived: i64,
}

impl Stamper {
    /// Stamps for one end of a connection; `forward_delay` receives the delays of the datagrams that this end sends.
    #[must_use]
    pub fn new(forward_delay: ForwardDelay) -> Self {
        Self { forward_delay, arrived: UNKNOWN }
    }

    /// Appends a stamp to a datagram that leaves at `now_ps` by the clock of this host.
    pub fn stamp(&self, datagram: &mut Vec<u8>, now_ps: i64) {
        datagram.extend_from_slice(&now_ps.to_le_bytes());
        datagram.extend_from_slice(&self.arrived.to_le_bytes());
    }

    /// Removes the stamp of a datagram that arrived at `now_ps` by this host's clock. Returns false if the datagram is
    /// shorter than a stamp and therefore has no stamp.
    pub fn take(&mut self, datagram: &mut Vec<u8>, now_ps: i64) -> bool {
        let Some(length) = self.read(datagram, now_ps) else { return false };
        datagram.truncate(length);
        true
    }

    /// Reads the stamp of a datagram. Returns the length of the datagram without its stamp, bytes.
    pub fn read(&mut self, datagram: &[u8], now_ps: i64) -> Option<usize> {
        let length = unstamped(datagram)?;
        let word = |at: usize| {
            let bytes = datagram[at..at + 8].try_into().unwrap_or_default();
            i64::from_le_bytes(bytes)
        };
        let (left, reported) = (word(length), word(length + 8));
        self.arrived = now_ps.saturating_sub(left);
        if reported != UNKNOWN {
            self.forward_delay.0.store(reported, Ordering::Relaxed);
        }
        Some(length)
    }

    /// True while another owner, such as a controller, shares the delays of these stamps.
    #[cfg(feature = "socket")]
    pub(crate) fn is_read(&self) -> bool {
        Arc::strong_count(&self.forward_delay.0) > 1
    }

    /// Returns a handle to the one-way delays that these stamps measure.
    #[cfg(feature = "socket")]
    pub(crate) fn forward_delay(&self) -> ForwardDelay {
        self.forward_delay.clone()
    }
}

/// Length of a stamped datagram without its stamp, bytes; `None` if it is shorter than a stamp.
pub(crate) fn unstamped(datagram: &[u8]) -> Option<usize> {
    datagram.len().checked_sub(STAMP_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_learns_the_delay_that_its_peer_has_seen() {
        let (mine, theirs) = (ForwardDelay::default(), ForwardDelay::default());
        let (mut near, mut far) = (Stamper::new(mine.clone()), Stamper::new(theirs.clone()));
        let mut datagram = vec![1, 2, 3];
        near.stamp(&mut datagram, 1_000);
        assert!(far.take(&mut datagram, 26_000));
        assert_eq!((datagram.as_slice(), mine.latest_ps()), (&[1, 2, 3][..], None));
        let mut answer = vec![4];
        far.stamp(&mut answer, 26_000);
        assert!(near.take(&mut answer, 51_000));
        assert_eq!((mine.latest_ps(), theirs.latest_ps()), (Some(25_000), None));
        assert!(!near.take(&mut vec![0; 15], 0));
    }
}
