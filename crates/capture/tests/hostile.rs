//! Damaged and hostile files end with an error or with what could be read, and never with a panic.

use std::fs;
use std::path::{Path, PathBuf};

use elephan_capture::{Options, list, read};
use proptest::prelude::*;

const PACKETS: u8 = 40;

/// A TCP packet over IPv4 and Ethernet, with a timestamp and a SACK block.
fn packet(number: u8) -> Vec<u8> {
    let from_a = number % 2 == 0;
    let payload = if from_a { 100 } else { 0 };
    let total = 20 + 20 + 24 + payload;
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    bytes.extend([0x45, 0, 0, total as u8, 0, 0, 0x40, 0, 64, 6, 0, 0]);
    let (a, b) = ([192, 0, 2, 1], [198, 51, 100, 2]);
    bytes.extend(if from_a { [a, b].concat() } else { [b, a].concat() });
    bytes.extend(if from_a { [0x9c, 0x41, 0x14, 0x51] } else { [0x14, 0x51, 0x9c, 0x41] });
    bytes.extend(u32::to_be_bytes(1000 + 100 * u32::from(number)));
    bytes.extend(u32::to_be_bytes(1000 + 100 * u32::from(number)));
    bytes.extend([0xb0, if number == 0 { 2 } else { 0x10 }, 1, 0, 0, 0, 0, 0]);
    bytes.extend([1, 1, 8, 10, 0, 0, 0, number, 0, 0, 0, number]);
    bytes.extend([1, 1, 5, 10, 0, 0, 8, 0, 0, 0, 9, 0]);
    bytes.extend(vec![0; payload]);
    bytes
}

fn pcap() -> Vec<u8> {
    let mut file = [0xa1b2_c3d4_u32.to_le_bytes(), [2, 0, 4, 0], [0; 4], [0; 4], [0, 0, 4, 0], [1, 0, 0, 0]].concat();
    for number in 0..PACKETS {
        let data = packet(number);
        let length = (data.len() as u32).to_le_bytes();
        file.extend([[number, 0, 0, 0], [0; 4], length, length].concat());
        file.extend(data);
    }
    file
}

fn pcapng() -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, body, &length].concat()
    };
    let head = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    let mut file = block(0x0a0d_0d0a, &head);
    file.extend(block(1, &[1, 0, 0, 0, 0, 0, 4, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]));
    for number in 0..PACKETS {
        let data = packet(number);
        let length = (data.len() as u32).to_le_bytes();
        let mut body = [[0; 4], [0; 4], [0, 0, 0, number], length, length].concat();
        body.extend(&data);
        body.resize(body.len().next_multiple_of(4), 0);
        file.extend(block(6, &body));
    }
    file
}

struct Temporary(PathBuf);

impl Temporary {
    fn with(content: &[u8]) -> Self {
        let thread = format!("{:?}", std::thread::current().id());
        let name = format!("elephan-hostile-{}-{}", std::process::id(), thread.replace(['(', ')'], "-"));
        let path = std::env::temp_dir().join(name);
        fs::write(&path, content).expect("the folder for temporary files can be written");
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Packets of all connections, if the file is a capture.
fn all_packets(path: &Path) -> Option<usize> {
    let listing = list(path, || true).ok()?;
    let sizes = listing.connections.iter().flat_map(|connection| {
        [0, 1].map(|sender| {
            let options = Options { number: connection.number, sender, most_packets: 1000 };
            let reading = read(path, options, || true).expect("the file was read before");
            reading.segments.len() + reading.acks.len()
        })
    });
    Some(sizes.max().unwrap_or(0))
}

#[test]
fn whole_files_have_their_packets() {
    for content in [pcap(), pcapng()] {
        let file = Temporary::with(&content);
        assert_eq!(all_packets(&file.0), Some(usize::from(PACKETS) - 1));
    }
}

#[test]
fn more_packets_than_the_limit_are_counted() {
    let file = Temporary::with(&pcap());
    let options = Options { number: 1, sender: 0, most_packets: 10 };
    let reading = read(&file.0, options, || true).expect("a valid file");
    assert_eq!(reading.segments.len() + reading.acks.len(), 10);
    assert_eq!(reading.left_out, u64::from(PACKETS) - 11);
}

/// Changes of a file: a place as a fraction of its length, and new bytes there.
fn changes() -> impl Strategy<Value = Vec<(f64, Vec<u8>)>> {
    prop::collection::vec((0.0..1.0, prop::collection::vec(any::<u8>(), 1..9)), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn changed_files_are_read_or_refused(ng in any::<bool>(), changes in changes(), kept in 0.0..1.2_f64) {
        let mut content = if ng { pcapng() } else { pcap() };
        for (place, bytes) in changes {
            let start = (place * content.len() as f64) as usize;
            let end = (start + bytes.len()).min(content.len());
            content.splice(start..end, bytes);
        }
        content.truncate((kept * content.len() as f64) as usize);
        let file = Temporary::with(&content);
        prop_assert!(all_packets(&file.0).is_none_or(|packets| packets <= 2 * usize::from(PACKETS)));
    }

    #[test]
    fn random_bytes_after_a_valid_start_are_refused(ng in any::<bool>(), noise in prop::collection::vec(any::<u8>(), 0..4000)) {
        let mut content = if ng { pcapng() } else { pcap() };
        content.truncate(48);
        content.extend(noise);
        let file = Temporary::with(&content);
        prop_assert!(all_packets(&file.0).is_none_or(|packets| packets <= 100));
    }
}
