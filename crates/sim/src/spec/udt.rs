//! Sizes of UDT's packets.

/// Headers of IP, UDP and UDT: 20, 8 and 16 bytes. An ACK2 is nothing but headers.
pub const HEADER_BYTES: u32 = 44;

/// A light ACK: headers and a packet number.
pub const LIGHT_ACK_BYTES: u32 = HEADER_BYTES + 4;

/// An ACK: besides, RTT, RTTVar, free buffer, arrival rate and capacity, 4 bytes each.
pub const ACK_BYTES: u32 = HEADER_BYTES + 24;
