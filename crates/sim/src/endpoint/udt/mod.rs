//! The two ends of a UDT flow, over datagrams: Y. Gu, draft-gg-udt-03 (2010) section 6, and the UDT library, version 4. What
//! [`elephan_cc::udt`] decides (how far apart packets are sent, and how many may be unacknowledged) they carry out.
//!
//! The receiver acknowledges every SYN, and with a light ACK every 64 packets in between. It reports a gap at once.
//! ACK2s give it the round-trip time. The sender repeats what is reported lost before it sends anything new, and
//! everything
//! unacknowledged when it hears nothing for too long. Control packets cross the links like others.
//!
//! Left out: the handshake (a TCP flow has none here either), shutdown and keep-alive, messages, and giving up after sixteen
//! expirations. The receiver's buffer never fills, since its application reads at once. The library lets a packet leave at
//! once, whatever the period, when a NAK comes; here, as in the draft, it does not.

mod kinds;
mod losses;
mod messages;
mod receiver;
mod sender;

pub use self::receiver::UdtReceiver;
pub use self::sender::UdtSender;
