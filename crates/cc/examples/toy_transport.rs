//! A toy transport that drives any algorithm of the registry: one sender, one link with a queue of 50 packets, RTT 40 ms.
//!
//! `cargo run -p elephan-cc --example toy_transport -- cubic`

use std::collections::{BTreeMap, VecDeque};

use elephan_cc::transport::{Acked, ByteDriver, Connection, Offers};
use elephan_cc::{Cause, build};

const MTU_BYTES: u64 = 1200;
/// Transmission time of a packet at 24 Mbit/s, ps.
const SERVICE_PS: u64 = MTU_BYTES * 8 * 1_000_000 / 24;
const RTT_PS: u64 = 40_000_000_000;
const QUEUE_PACKETS: u64 = 50;
const END_PS: u64 = 20_000_000_000_000;

/// A packet that the link has taken.
struct InFlight {
    number: u64,
    sent_ps: u64,
    acked_ps: u64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "cubic".to_owned());
    let algorithm = build(&name, &BTreeMap::new())?;
    let mut driver = ByteDriver::new(algorithm, Connection::new(MTU_BYTES as u32), Offers::default())?;
    let (mut now_ps, mut next, mut in_flight, mut delivered) = (0, 0, 0_u64, 0);
    let mut packets: VecDeque<InFlight> = VecDeque::new();
    let mut lost: VecDeque<(u64, u64)> = VecDeque::new(); // number, time of sending
    let (mut link_free_ps, mut report_ps) = (0, 0);
    while now_ps < END_PS {
        // Send as long as the window allows.
        while in_flight + MTU_BYTES <= driver.window() {
            let starts_ps = link_free_ps.max(now_ps);
            if (starts_ps - now_ps) / SERVICE_PS < QUEUE_PACKETS {
                link_free_ps = starts_ps + SERVICE_PS;
                packets.push_back(InFlight { number: next, sent_ps: now_ps, acked_ps: link_free_ps + RTT_PS });
            } else {
                lost.push_back((next, now_ps));
            }
            driver.on_sent(now_ps, MTU_BYTES, next);
            in_flight += MTU_BYTES;
            next += 1;
        }
        // The next ACK.
        let Some(packet) = packets.pop_front() else { break };
        (now_ps, in_flight, delivered) = (packet.acked_ps, in_flight - MTU_BYTES, delivered + MTU_BYTES);
        let (newest, newest_sent_ps) = (packet.number, packet.sent_ps);
        driver.on_acked(&Acked {
            now_ps,
            bytes: MTU_BYTES,
            newest,
            newest_sent_ps,
            in_flight_bytes: in_flight,
            ..Acked::default()
        });
        // A packet counts as lost once a packet whose number is higher by at least three is acknowledged (RFC 9002
        // §6.1.1).
        while let Some(&(number, sent_ps)) = lost.front().filter(|(number, _)| number + 3 <= packet.number) {
            driver.on_lost(now_ps, number);
            driver.on_congestion(now_ps, sent_ps, Cause::Loss, MTU_BYTES);
            in_flight -= MTU_BYTES;
            lost.pop_front();
        }
        if now_ps >= report_ps {
            let (at_s, srtt_ms) = (now_ps as f64 * 1e-12, driver.srtt() * 1e3);
            println!("{at_s:5.1} s  window {:4} packets  srtt {srtt_ms:5.1} ms", driver.window() / MTU_BYTES);
            report_ps += 1_000_000_000_000;
        }
    }
    println!("goodput {:.1} Mbit/s of 24 Mbit/s", delivered as f64 * 8e-6 / (now_ps as f64 * 1e-12));
    Ok(())
}
