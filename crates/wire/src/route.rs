//! Routes to the other ends with the feature `tcp_usec_ts`, which most versions of `ip` do not support.

use std::io;
use std::net::Ipv4Addr;

use crate::sys;

// linux/rtnetlink.h
const RTM_NEWROUTE: u16 = 24;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_PREFSRC: u16 = 7;
const RTA_METRICS: u16 = 8;
const RTAX_INITCWND: u16 = 11;
const RTAX_FEATURES: u16 = 12;
const RTAX_CC_ALGO: u16 = 16;
const RTAX_FEATURE_TCP_USEC_TS: u32 = 1 << 4;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_STATIC: u8 = 4;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;
// linux/netlink.h
const NLM_F_REQUEST_ACK_CREATE_REPLACE: u16 = 0x1 | 0x4 | 0x400 | 0x100;
const HEADER_BYTES: usize = 16;

/// A route to one address.
#[derive(Clone, Copy, Debug)]
pub struct Route<'a> {
    /// Destination.
    pub to: Ipv4Addr,
    /// This host's own address on the route.
    pub from: Ipv4Addr,
    /// Index of the device.
    pub device: u32,
    /// Initial congestion window, segments.
    pub initial_window: Option<u32>,
    /// Congestion control of connections that do not select one.
    pub congestion: Option<&'a str>,
    /// True if connections over the route have time stamps in µs, and not in ms.
    pub microseconds: bool,
}

impl Route<'_> {
    /// Adds the route, or replaces an existing one.
    ///
    /// # Errors
    /// The kernel rejects the route; kernels before 6.7 have no time stamps in µs.
    pub fn set(&self) -> io::Result<()> {
        sys::ask_routing(&self.message())
    }

    fn message(&self) -> Vec<u8> {
        let mut metrics = Vec::new();
        if let Some(segments) = self.initial_window {
            attribute(&mut metrics, RTAX_INITCWND, &segments.to_ne_bytes());
        }
        if self.microseconds {
            attribute(&mut metrics, RTAX_FEATURES, &RTAX_FEATURE_TCP_USEC_TS.to_ne_bytes());
        }
        if let Some(name) = self.congestion {
            attribute(&mut metrics, RTAX_CC_ALGO, &[name.as_bytes(), &[0]].concat());
        }
        // struct rtmsg: family, prefix lengths, type of service, table, protocol, scope, type, flags.
        let mut body = vec![libc::AF_INET as u8, 32, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST];
        body.extend([0; 4]);
        attribute(&mut body, RTA_DST, &self.to.octets());
        attribute(&mut body, RTA_PREFSRC, &self.from.octets());
        attribute(&mut body, RTA_OIF, &self.device.to_ne_bytes());
        attribute(&mut body, RTA_METRICS, &metrics);
        let mut message = Vec::with_capacity(HEADER_BYTES + body.len());
        message.extend(((HEADER_BYTES + body.len()) as u32).to_ne_bytes());
        message.extend(RTM_NEWROUTE.to_ne_bytes());
        message.extend(NLM_F_REQUEST_ACK_CREATE_REPLACE.to_ne_bytes());
        message.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        message.extend(body);
        message
    }
}

/// Appends an attribute, padded to four bytes.
fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    to.extend((4 + value.len() as u16).to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_states_its_length_and_its_attributes() {
        let route = Route {
            to: Ipv4Addr::new(10, 0, 0, 2),
            from: Ipv4Addr::new(10, 0, 0, 1),
            device: 3,
            initial_window: Some(10),
            congestion: None,
            microseconds: true,
        };
        let message = route.message();
        assert_eq!(message.len(), 16 + 12 + 3 * 8 + 4 + 2 * 8);
        assert_eq!(message[..4], (message.len() as u32).to_ne_bytes());
        assert_eq!(message[28..36], [8, 0, 1, 0, 10, 0, 0, 2]);
        assert_eq!(message[message.len() - 8..], [8, 0, 12, 0, 16, 0, 0, 0]);
        assert_eq!(Route { microseconds: false, ..route }.message().len(), message.len() - 8);
        let named = Route { congestion: Some("el_hcc"), ..route }.message();
        assert_eq!(named[named.len() - 12..], [11, 0, 16, 0, b'e', b'l', b'_', b'h', b'c', b'c', 0, 0]);
    }
}
