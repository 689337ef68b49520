//! Kinds of UDT's packets, in [`crate::packet::Packet::extra`].

/// Bytes of a word of a NAK's list; a word is a packet number or one end of a run.
pub(super) const WORD_BYTES: u32 = 4;

/// [`crate::packet::Packet::extra`] of data.
pub(super) const DATA: u32 = 0;
/// [`crate::packet::Packet::extra`] of an ACK2, whose segment is the number of the acknowledged ACK.
pub(super) const ACK2: u32 = 1;
/// [`crate::packet::Packet::extra`] of a light ACK. In a full ACK or a NAK this field is the number of the message.
pub(super) const LIGHT_ACK: u32 = u32::MAX;
