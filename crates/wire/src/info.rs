//! `struct tcp_info`, read by offset: the structure has grown over kernel versions, and an absent field is
//! distinguished from one that is 0.

use std::io;
use std::os::fd::AsRawFd;

use crate::sys;

/// Value of a slow-start threshold that is not set (`TCP_INFINITE_SSTHRESH`).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// Linux's report on a sender.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpInfo {
    /// `tcpi_ca_state`.
    pub state: u8,
    /// Payload of a full segment, bytes.
    pub segment_bytes: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments; `None` before the first loss.
    pub ssthresh: Option<u32>,
    /// Smoothed RTT, µs.
    pub srtt_us: u32,
    unacknowledged: u32,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// Retransmissions since the beginning.
    pub retransmits: u64,
    /// Timeouts since the beginning; `None` before Linux 6.7.
    pub timeouts: Option<u64>,
    /// Number of sent segments with data; 0 before Linux 4.6: older kernels do not report this number.
    pub data_segments_sent: u32,
    /// Time with data to send, µs.
    pub busy_us: u64,
    /// Time of `busy_us` in which the receive window limited the sender, µs.
    pub receive_window_limited_us: u64,
}

impl TcpInfo {
    /// Reads the kernel's report about a socket.
    ///
    /// # Errors
    /// The socket is not a TCP socket.
    pub fn read(socket: &impl AsRawFd) -> io::Result<Self> {
        let mut bytes = [0; 512];
        let length = sys::read_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
        Self::parse(&bytes[..length]).ok_or_else(|| io::Error::other("the kernel's tcp_info is too short"))
    }

    /// Reads the structure.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let half = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        Some(Self {
            state: *bytes.get(1)?,
            segment_bytes: word(16)?,
            unacknowledged: word(24)?,
            sacked: word(28)?,
            lost: word(32)?,
            retransmitted: word(36)?,
            srtt_us: word(68)?,
            ssthresh: word(76).filter(|threshold| *threshold < NO_THRESHOLD),
            cwnd: word(80)?,
            retransmits: u64::from(word(100)?),
            data_segments_sent: word(156).unwrap_or(0),
            busy_us: long(168).unwrap_or(0),
            receive_window_limited_us: long(176).unwrap_or(0),
            timeouts: half(240).map(u64::from),
        })
    }

    /// Outstanding segments that are neither lost nor SACKed, plus retransmissions (`tcp_packets_in_flight`).
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        (self.unacknowledged + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }

    /// Smoothed RTT, s; `None` before the first sample.
    #[must_use]
    pub fn srtt_s(&self) -> Option<f64> {
        (self.srtt_us > 0).then(|| f64::from(self.srtt_us) * 1e-6)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A `tcp_info` of a sender that has sent data, in the given state with the given window.
    pub(crate) fn bytes(state: u8, cwnd: u32) -> Vec<u8> {
        let mut bytes = vec![0; 248];
        bytes[1] = state;
        for (at, value) in [(68, 40_500_u32), (76, NO_THRESHOLD), (80, cwnd), (156, 1)] {
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        bytes
    }

    pub(crate) fn info(state: u8, cwnd: u32) -> TcpInfo {
        TcpInfo::parse(&bytes(state, cwnd)).expect("long enough")
    }

    #[test]
    fn a_shorter_structure_of_an_older_kernel_is_read_too() {
        let mut bytes = [0_u8; 248];
        bytes[1] = 3;
        for (at, value) in [(24, 100_u32), (28, 30), (32, 20), (36, 5), (68, 40_500), (76, NO_THRESHOLD), (80, 77)] {
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        bytes[240] = 2;
        let whole = TcpInfo::parse(&bytes).expect("long enough");
        assert_eq!((whole.state, whole.cwnd, whole.ssthresh, whole.in_flight()), (3, 77, None, 55));
        assert_eq!((whole.timeouts, whole.srtt_s()), (Some(2), Some(0.0405)));
        let older = TcpInfo::parse(&bytes[..192]).expect("long enough");
        assert_eq!(older, TcpInfo { timeouts: None, ..whole });
        assert_eq!(TcpInfo::parse(&bytes[..80]), None);
    }
}
