//! Sizes of UDT's packets.

/// Size of the headers of IP, UDP and UDT, which have 20, 8 and 16 bytes. An ACK2 consists of headers only.
pub const HEADER_BYTES: u32 = 44;

/// Size of a light ACK: headers and a packet number.
pub const LIGHT_ACK_BYTES: u32 = HEADER_BYTES + 4;

/// Size of an ACK: headers, and packet number, RTT, RTTVar, free buffer, arrival rate and capacity of 4 bytes each.
pub const ACK_BYTES: u32 = HEADER_BYTES + 24;
