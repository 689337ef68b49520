//! Kinds of UDT's packets, in [`crate::packet::Packet::extra`].

/// A word of a NAK's list: a packet, or one end of a run.
pub(super) const WORD_BYTES: u32 = 4;

/// [`crate::packet::Packet::extra`] of data.
pub(super) const DATA: u32 = 0;
/// The number of an ACK2; its segment is the number of the ACK that it acknowledges.
pub(super) const ACK2: u32 = 1;
/// The number of a light ACK; the number of an ACK or a NAK is that of its message.
pub(super) const LIGHT_ACK: u32 = u32::MAX;
