//! The two ends of a UDT flow, over datagrams, after draft-gg-udt-03 (Gu Y, 2010), section 6, and the UDT library,
//! version 4. The ends apply the decisions of [`elephan_cc::udt`]: the sending period, and the largest number of
//! unacknowledged packets.
//!
//! The receiver sends an ACK once per SYN interval, and light ACKs every 64 packets in between. The receiver reports a
//! gap at once, and measures the round-trip time by ACK2s. The sender retransmits packets reported lost before it sends
//! new packets, and retransmits all unacknowledged packets when its expiration timer fires. Control packets cross the
//! links like data packets.
//!
//! The model omits the handshake, shutdown, keep-alive, messages, and the end of a connection after sixteen
//! expirations. The receiver's buffer never fills, since its application reads at once. When a NAK arrives, the library
//! sends a packet at once, independently of the period; here, as in the draft, the period applies.

mod kinds;
mod losses;
mod messages;
mod receiver;
mod sender;

pub use self::receiver::UdtReceiver;
pub use self::sender::UdtSender;
