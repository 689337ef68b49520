//! The AccECN option (RFC 9768 section 3.2.3): how many bytes of payload arrived with each codepoint of the ECN field.
//!
//! A receiver follows the recommended simple scheme of section 3.2.3.3: an ACK has the option if one of the counters has
//! grown since the last option, with a field for each counter that has ever grown. If the header has no room for all of
//! them, the option ends behind the last one that has grown, and of three SACK blocks the third gives way.
//!
//! Data segments have no option: they acknowledge no data, so none of its counters would ever grow.
//!
//! A Linux host sends the option with every packet that has room for it (Linux 7.2, `net.ipv4.tcp_ecn_option = 2`), data segments
//! included, with all three fields and EE1B first (`tcp_options_fit_accecn`).

use super::negotiation::Codepoint;
use crate::sidecar::AccEcnOption;

/// Counters of a connection that begins: r.e0b, r.ceb and r.e1b, in the order of the fields (section 3.2.1).
const FIRST: [u32; 3] = [1, 0, 1];
/// Place of ECEB.
const CE: usize = 1;
/// Values of a field (`DIVOPT` of appendix A.1).
const VALUES: u32 = 1 << 24;
/// Bytes for the options of a TCP header, without those for timestamps.
const ROOM: u16 = 40;
/// Header without options of IP and TCP, bytes, and the timestamps option with its padding.
const HEADERS: u32 = 40;
const STAMPS: u16 = 12;
/// SACK option without blocks, with its padding, and a block, bytes.
const SACK: u16 = 4;
const BLOCK: u16 = 8;
/// SACK blocks that have precedence over the option.
const KEPT_BLOCKS: u16 = 2;

/// Counters of a receiver.
#[derive(Clone, Copy, Debug)]
pub struct Octets {
    counts: [u32; 3],
    /// Counters that have ever grown, and those that have grown since the last option.
    used: [bool; 3],
    grown: [bool; 3],
    /// Bytes of a segment that are not payload, and bytes of an ACK's header for this option and for SACK.
    header: u16,
    room: u16,
    is_linux: bool,
}

impl Octets {
    /// The counters of a connection whose segments have `header_bytes` of headers.
    pub fn new(header_bytes: u32, is_linux: bool) -> Self {
        let stamps = if header_bytes >= HEADERS + u32::from(STAMPS) { STAMPS } else { 0 };
        let (header, room) = (header_bytes as u16, ROOM - stamps);
        Self { counts: FIRST, used: [is_linux; 3], grown: [false; 3], header, room, is_linux }
    }

    /// Takes a segment of `bytes` that arrived with a codepoint.
    pub fn note(&mut self, codepoint: Codepoint, bytes: u64) {
        let place = match codepoint {
            Codepoint::NotEct => return,
            Codepoint::Ect0 => 0,
            Codepoint::Ce => CE,
            Codepoint::Ect1 => 2,
        };
        let payload = bytes.saturating_sub(self.header.into()) as u32;
        self.counts[place] = self.counts[place].wrapping_add(payload);
        self.used[place] = true;
        self.grown[place] = true;
    }

    /// The option of an ACK with `blocks` SACK blocks, and the number of blocks that it leaves room for.
    pub fn write(&mut self, blocks: u16) -> (AccEcnOption, u16) {
        let is_order_1 = self.used[2];
        let past = |which: [bool; 3]| {
            let last = (0..which.len()).rfind(|&i| which[if is_order_1 { 2 - i } else { i }]);
            last.map_or(0, |last| last as u8 + 1)
        };
        let (needed, wanted) = (past(self.grown), past(self.used));
        let fits = |count: u8, blocks: u16| {
            let sack = if blocks > 0 { SACK + BLOCK * blocks } else { 0 };
            AccEcnOption::bytes(count) + sack <= self.room
        };
        let counts = || (needed..=wanted).rev();
        let fitting = |blocks: u16| counts().find(|&count| fits(count, blocks)).map(|count| (count, blocks));
        let found = match needed {
            0 if self.is_linux => fitting(blocks),
            0 => None,
            _ => fitting(blocks).or_else(|| fitting(blocks.min(KEPT_BLOCKS))),
        };
        let Some((count, blocks)) = found else { return (AccEcnOption::default(), blocks) };
        self.grown = [false; 3];
        (AccEcnOption { fields: self.counts.map(|count| count % VALUES), count, is_order_1 }, blocks)
    }
}

/// Counters of a sender: s.e0b, s.ceb and s.e1b. Linux uses all of them, and RFC 9768 the second.
#[derive(Clone, Copy, Debug)]
pub struct Marked {
    counts: [u32; 3],
    /// Counter that is assumed to grow without an option.
    grows: Option<usize>,
    is_linux: bool,
}

impl Marked {
    pub fn new(is_linux: bool) -> Self {
        Self { counts: FIRST, grows: None, is_linux }
    }

    /// Takes an ACK that delivers `delivered` bytes. Returns the number of bytes that arrived marked since the last option
    /// (d.ceb, appendix A.1); `None` if it is not known.
    pub fn read(&mut self, option: Option<&AccEcnOption>, delivered: u32) -> Option<u32> {
        let before = self.counts[CE];
        let is_known = match option {
            Some(option) => self.take(option),
            None => self.take_none(delivered),
        };
        is_known.then(|| self.counts[CE].wrapping_sub(before))
    }

    /// Takes an option. Linux does not trust it at first, nor if two counters have grown beside the assumed one
    /// (`tcp_accecn_process_option`).
    fn take(&mut self, option: &AccEcnOption) -> bool {
        let (assumed, mut changed) = (self.grows, [None; 2]);
        for place in option.present() {
            let more = option.fields[place].wrapping_sub(self.counts[place]) % VALUES;
            self.counts[place] = self.counts[place].wrapping_add(more);
            if more > 0 && assumed != Some(place) {
                changed = [Some(place), changed[0]];
            }
        }
        let (grows, is_known) = match changed {
            [None, _] => (assumed, assumed.is_some()),
            [place, None] => (place, assumed.is_some()),
            _ => (None, false),
        };
        self.grows = grows;
        is_known || !self.is_linux
    }

    /// Takes an ACK without an option. Linux then takes the counter to have grown that grew with the last ones.
    fn take_none(&mut self, delivered: u32) -> bool {
        let grows = self.grows.filter(|_| self.is_linux);
        if let Some(place) = grows {
            self.counts[place] = self.counts[place].wrapping_add(delivered);
        }
        grows.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Codepoint::{Ce, Ect0, Ect1, NotEct};

    const FULL: u64 = 1500;

    fn octets() -> Octets {
        Octets::new(52, false)
    }

    /// Places of the fields of the option after segments with these codepoints.
    fn fields(octets: &mut Octets, codepoints: &[Codepoint]) -> (Vec<usize>, bool) {
        codepoints.iter().for_each(|&codepoint| octets.note(codepoint, FULL));
        let option = octets.write(0).0;
        (option.present().collect(), option.is_order_1)
    }

    #[test]
    fn the_examples_of_section_3_2_3_3() {
        let mut octets = octets();
        assert_eq!(fields(&mut octets, &[NotEct]), (vec![], false), "no counter has grown");
        assert_eq!(fields(&mut octets, &[Ect0, Ect0]), (vec![0], false), "EE0B alone");
        assert_eq!(fields(&mut octets, &[]), (vec![], false), "nothing is new");
        assert_eq!(fields(&mut octets, &[Ect0, Ce]), (vec![0, 1], false));
        assert_eq!(fields(&mut octets, &[Ect0]), (vec![0, 1], false), "ECEB has grown at some time");
        // A second connection begins with a mark, and then its packets are ECT(1).
        let mut octets = self::octets();
        assert_eq!(fields(&mut octets, &[Ce]), (vec![0, 1], false));
        assert_eq!(fields(&mut octets, &[Ect1]), (vec![2, 1], true));
        assert_eq!(fields(&mut octets, &[Ect0]), (vec![2, 1, 0], true));
    }

    #[test]
    fn counters_begin_as_in_section_3_2_1_and_count_payload() {
        let mut octets = octets();
        octets.note(Ect1, FULL);
        octets.note(Ce, FULL);
        assert_eq!(octets.write(0).0.fields, [1, 1448, 1449]);
    }

    #[test]
    fn lengths_are_those_of_table_5_in_whole_words() {
        // 2, 5, 8 and 11 bytes.
        assert_eq!([0, 1, 2, 3].map(AccEcnOption::bytes), [4, 8, 8, 12]);
    }

    #[test]
    fn two_sack_blocks_have_precedence_and_a_third_has_not() {
        let mut octets = octets();
        octets.note(Ect0, FULL);
        octets.note(Ect1, FULL);
        // Timestamps leave 28 bytes: two blocks take 20 of them, and EE1B to EE0B would need 12.
        let (option, blocks) = octets.write(2);
        assert_eq!((option.count, blocks), (0, 2), "the first and the last field have grown");
        let (option, blocks) = octets.write(1);
        assert_eq!((option.count, blocks), (3, 1), "they are told with the next");
        octets.note(Ce, FULL);
        let (option, blocks) = octets.write(3);
        assert_eq!((option.count, blocks), (2, 2), "the third block gives way, and EE0B, which has not grown");
    }

    #[test]
    fn the_example_of_appendix_a_1() {
        let mut marked = Marked { counts: [1, 33_554_433, 1], ..Marked::new(false) };
        let option = AccEcnOption { fields: [1, 1461, 1], count: 2, is_order_1: false };
        assert_eq!((marked.read(Some(&option), 0), marked.counts[CE]), (Some(1460), 33_555_893));
        assert_eq!(marked.read(Some(&AccEcnOption { count: 1, ..option }), 0), Some(0), "without the field");
        assert_eq!(marked.read(None, 1460), None);
    }

    #[test]
    fn linux_sends_three_fields_wherever_they_fit() {
        let mut octets = Octets::new(64, true);
        let fields = |(option, blocks): (AccEcnOption, u16)| (option.present().collect::<Vec<_>>(), blocks);
        assert_eq!(fields(octets.write(0)), (vec![2, 1, 0], 0), "also if nothing has grown");
        octets.note(Ect0, FULL);
        assert_eq!(fields(octets.write(1)), (vec![2, 1, 0], 1));
        octets.note(Ect0, FULL);
        assert_eq!(fields(octets.write(2)), (vec![], 2), "EE0B is the last field, and has grown");
        octets.note(Ce, FULL);
        assert_eq!(fields(octets.write(3)), (vec![], 3));
        octets.write(0);
        octets.note(Ce, FULL);
        assert_eq!(fields(octets.write(3)), (vec![2, 1], 2));
        assert_eq!(octets.write(0).0.fields, [2873, 2872, 1]);
    }

    #[test]
    fn linux_trusts_an_option_once_it_knows_which_counter_grows() {
        let option = |fields| AccEcnOption { fields, count: 3, is_order_1: true };
        let mut marked = Marked::new(true);
        assert_eq!(marked.read(None, 1440), None);
        assert_eq!(marked.read(Some(&option([1441, 0, 1])), 1440), None, "nothing was known before");
        assert_eq!(marked.read(Some(&option([1441, 1440, 1])), 1440), Some(1440));
        assert_eq!(marked.read(None, 2880), Some(2880), "marks go on");
        assert_eq!(marked.read(Some(&option([2881, 4320, 1])), 1440), Some(0));
        assert_eq!(marked.read(None, 1440), Some(0), "marks have ended");
        assert_eq!(marked.read(Some(&option([4321, 5760, 1441])), 2880), None, "two others have grown");
        assert_eq!(marked.read(None, 1440), None);
    }
}
