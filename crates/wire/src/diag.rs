//! The TCP connections of all processes in this namespace to one peer (`sock_diag`).

use std::io;
use std::net::Ipv4Addr;

use crate::info::TcpInfo;
use crate::sys;

// linux/sock_diag.h, linux/inet_diag.h
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const MESSAGE_BYTES: usize = 72;
const PEER_AT: usize = 24;
// linux/netlink.h
const NLM_F_REQUEST_DUMP: u16 = 0x1 | 0x300;
const NLMSG_DONE: u16 = 3;
const HEADER_BYTES: usize = 16;
/// TCP states of the listed connections: established, and the two states after a close in which own data may still be
/// in flight.
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 8;

/// Lists the connections that have sent data to `peer`, with their ports.
///
/// # Errors
/// The kernel rejects the request.
pub fn connections_to(peer: Ipv4Addr) -> io::Result<Vec<((u16, u16), TcpInfo)>> {
    let mut found = Vec::new();
    sys::ask_sockets(&request(), |answer| read(answer, peer, &mut found))?;
    Ok(found)
}

fn request() -> Vec<u8> {
    let length = HEADER_BYTES + 56;
    let mut message = Vec::with_capacity(length);
    message.extend((length as u32).to_ne_bytes());
    message.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message.extend(NLM_F_REQUEST_DUMP.to_ne_bytes());
    message.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    message.extend([libc::AF_INET as u8, libc::IPPROTO_TCP as u8, 1 << (INET_DIAG_INFO - 1), 0]);
    message.extend(STATES.to_ne_bytes());
    message.resize(length, 0);
    message
}

/// Reads the messages of a reply. Returns true after the last message.
fn read(mut answer: &[u8], peer: Ipv4Addr, found: &mut Vec<((u16, u16), TcpInfo)>) -> bool {
    while let Some((length, kind)) = header(answer) {
        if kind != SOCK_DIAG_BY_FAMILY || length > answer.len() {
            return true; // NLMSG_DONE, or an error
        }
        if let Some(one) = connection(&answer[HEADER_BYTES..length], peer) {
            found.push(one);
        }
        answer = answer.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    false
}

fn header(bytes: &[u8]) -> Option<(usize, u16)> {
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    (length >= HEADER_BYTES || kind == NLMSG_DONE).then_some((length, kind))
}

fn connection(body: &[u8], peer: Ipv4Addr) -> Option<((u16, u16), TcpInfo)> {
    if body.get(PEER_AT..PEER_AT + 4)? != peer.octets() {
        return None;
    }
    let port = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
    let mut attributes = body.get(MESSAGE_BYTES..)?;
    while attributes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([attributes[0], attributes[1]]));
        let kind = u16::from_ne_bytes([attributes[2], attributes[3]]);
        if kind == INET_DIAG_INFO {
            let info = TcpInfo::parse(attributes.get(4..length)?)?;
            return (info.data_segments_sent > 0).then_some(((port(4), port(6)), info));
        }
        attributes = attributes.get(length.next_multiple_of(4).max(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::tests::bytes;

    #[test]
    fn of_several_sockets_those_to_the_peer_are_read() {
        let peer = Ipv4Addr::new(198, 19, 0, 1);
        let socket = |to: Ipv4Addr, port: u16, cwnd: u32| {
            let mut body = vec![0; MESSAGE_BYTES];
            body[4..6].copy_from_slice(&port.to_be_bytes());
            body[6..8].copy_from_slice(&80_u16.to_be_bytes());
            body[PEER_AT..PEER_AT + 4].copy_from_slice(&to.octets());
            let info = bytes(0, cwnd);
            body.extend([5, 0, 9, 0, 1, 0, 0, 0]);
            body.extend((4 + info.len() as u16).to_ne_bytes());
            body.extend(INET_DIAG_INFO.to_ne_bytes());
            body.extend(info);
            let mut message = ((HEADER_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
            message.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
            message.resize(HEADER_BYTES, 0);
            message.extend(body);
            message
        };
        let mut found = Vec::new();
        let answer = [socket(peer, 1000, 7), socket(Ipv4Addr::LOCALHOST, 1001, 8), socket(peer, 1002, 9)].concat();
        assert!(!read(&answer, peer, &mut found));
        let seen: Vec<_> = found.iter().map(|(ports, info)| (ports.0, ports.1, info.cwnd)).collect();
        assert_eq!(seen, [(1000, 80, 7), (1002, 80, 9)]);
        let mut done = 20_u32.to_ne_bytes().to_vec();
        done.extend(NLMSG_DONE.to_ne_bytes());
        done.resize(20, 0);
        assert!(read(&done, peer, &mut found));
    }
}
