//! Containers in which packets wait for a node's turn. The containers are internals of the simulator, not a router's
//! buffer.
//!
//! ```text
//!  one feeder, in order:        mailbox  ─┐
//!  one feeder, in order:        mailbox  ─┼─► merged by time, ties by the feeders' order ──► turn of a link
//!  transfers of a source:       batch    ─┘
//!  more than eight feeders:     batch    ───► by time, then by the feeder's rank
//! ```

use crate::index::index;
use crate::packet::Packet;
use crate::prefetch;
use crate::time::Time;

index! {
    /// Index of a link.
    LinkId,
    /// Index of a mailbox.
    MailboxId,
    /// Index of a batch.
    BatchId,
    /// Index of a source of transfers.
    SourceId,
}

/// Container that feeds a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Port {
    /// Packets of one feeder.
    Mailbox(MailboxId),
    /// Packets of many feeders, or of the transfers of a source.
    Batch(BatchId),
}

/// Largest capacity, packets, of an empty mailbox that one transfer leaves to the next.
const MOST_KEPT: usize = 128;

/// Number of packets prefetched for a turn, in runs with thousands of flows: most turns have fewer.
const FETCHED: usize = 8;

/// Packets from one feeder that wait for a node's turn, in order: a ring buffer. The struct is aligned so that it lies
/// in one cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(32))]
pub(super) struct Mailbox {
    slots: Vec<Packet>,
    /// Numbers of packets taken and added since the mailbox was last empty, modulo 2³².
    taken: u32,
    put: u32,
}

impl Mailbox {
    /// Number of packets in the mailbox.
    #[inline(always)]
    fn held(&self) -> usize {
        self.put.wrapping_sub(self.taken) as usize
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.held() == self.slots.len()
    }

    /// Position of the packet number `count` in the ring.
    #[inline(always)]
    fn slot(&self, count: u32) -> usize {
        count as usize & self.slots.len().wrapping_sub(1)
    }

    /// Appends a packet; the ring must have a free slot. Returns true if the mailbox was empty.
    #[inline(always)]
    fn put(&mut self, packet: Packet) -> bool {
        let first = self.put == self.taken;
        if first {
            // Restarts at the beginning of the ring, whose memory was used last.
            (self.taken, self.put) = (0, 0);
        }
        let slot = self.slot(self.put);
        self.slots[slot] = packet;
        self.put = self.put.wrapping_add(1);
        first
    }

    /// Removes the oldest packet, which must exist. Returns this packet, and the arrival time of the next packet.
    #[inline(always)]
    fn take(&mut self) -> (Packet, Time) {
        let packet = self.slots[self.slot(self.taken)];
        self.taken = self.taken.wrapping_add(1);
        (packet, if self.put == self.taken { Time::NEVER } else { self.slots[self.slot(self.taken)].at })
    }

    /// The packet behind `places` other packets.
    #[inline(always)]
    pub(super) fn ahead(&self, places: usize) -> Option<&Packet> {
        (self.held() > places).then(|| &self.slots[self.slot(self.taken.wrapping_add(places as u32))])
    }

    /// Prefetches the slot for the next new packet.
    #[inline(always)]
    pub(super) fn fetch_free_slot(&self) {
        prefetch::element(&self.slots, self.slot(self.put));
    }

    /// Prefetches the oldest packets.
    #[inline(always)]
    pub(super) fn fetch_oldest(&self) {
        prefetch::elements(&self.slots, self.slot(self.taken), FETCHED);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Packet> {
        (0..self.held()).map(|i| &self.slots[self.slot(self.taken.wrapping_add(i as u32))])
    }

    /// Doubles the ring in place, since copying a large ring would need 50 % more memory. Returns the bytes that the ring
    /// has grown by; does nothing and returns `None` if these are more than `most_bytes`.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, most_bytes: u64) -> Option<u64> {
        let before = self.slots.len();
        let after = (before * 2).max(16);
        let bytes = ((after - before) * size_of::<Packet>()) as u64;
        if bytes > most_bytes {
            return None;
        }
        self.slots.reserve_exact(after - before);
        self.slots.resize(after, Packet::default());
        for i in 0..before {
            let slot = self.slot(self.taken.wrapping_add(i as u32));
            if slot >= before {
                self.slots[slot] = self.slots[slot - before];
            }
        }
        Some(bytes)
    }

    /// Memory of the slots, bytes.
    fn bytes(&self) -> u64 {
        (self.slots.len() * size_of::<Packet>()) as u64
    }
}

/// All mailboxes, by number.
#[derive(Clone, Debug)]
pub(super) struct Mailboxes {
    boxes: Vec<Mailbox>,
    /// Arrival time of the oldest packet in each mailbox, or [`Time::NEVER`]. The times are in one list, since every
    /// turn reads the times of all transfers.
    heads: Vec<Time>,
    /// Memory of all slots, bytes, and its limit. The sum changes only if a mailbox grows or is freed: a sum in
    /// [`Mailboxes::push`] costs 3 % of a run.
    bytes: u64,
    most_bytes: u64,
    /// True if a mailbox would have exceeded the limit: packets are lost, and the run ends.
    overflown: bool,
}

impl Default for Mailboxes {
    fn default() -> Self {
        Self { boxes: Vec::new(), heads: Vec::new(), bytes: 0, most_bytes: u64::MAX, overflown: false }
    }
}

impl Mailboxes {
    /// Limits all mailboxes together to `bytes`.
    fn limit_memory(&mut self, bytes: u64) {
        self.most_bytes = bytes;
    }

    /// Adds a mailbox. Returns its number.
    pub(super) fn add(&mut self) -> MailboxId {
        self.boxes.push(Mailbox::default());
        self.heads.push(Time::NEVER);
        MailboxId(self.boxes.len() as u32 - 1)
    }

    /// Removes the last `count` mailboxes.
    pub(super) fn remove_last(&mut self, count: usize) {
        let kept = self.boxes.len() - count;
        self.bytes -= self.boxes[kept..].iter().map(Mailbox::bytes).sum::<u64>();
        self.boxes.truncate(kept);
        self.heads.truncate(self.boxes.len());
    }

    /// Frees the memory of an empty mailbox, if it is large.
    pub(super) fn trim(&mut self, id: MailboxId) {
        let mailbox = &mut self.boxes[id.index()];
        if mailbox.slots.len() > MOST_KEPT && mailbox.put == mailbox.taken {
            self.bytes -= mailbox.bytes();
            *mailbox = Mailbox::default();
        }
    }

    #[inline(always)]
    pub(super) fn head(&self, id: MailboxId) -> Time {
        self.heads[id.index()]
    }

    #[inline(always)]
    pub(super) fn push(&mut self, id: MailboxId, packet: Packet) {
        let mailbox = &mut self.boxes[id.index()];
        if mailbox.is_full() {
            let Some(bytes) = mailbox.grow(self.most_bytes.saturating_sub(self.bytes)) else {
                self.overflown = true;
                return;
            };
            self.bytes += bytes;
        }
        if mailbox.put(packet) {
            self.heads[id.index()] = packet.at;
        }
    }

    /// Prefetches the state of a mailbox, for a packet that is added or removed.
    #[inline(always)]
    pub(super) fn fetch(&self, id: MailboxId) {
        prefetch::element(&self.boxes, id.index());
        prefetch::element(&self.heads, id.index());
    }

    #[inline(always)]
    pub(super) fn pop(&mut self, id: MailboxId) -> Option<Packet> {
        (self.heads[id.index()] != Time::NEVER).then(|| self.take_head(id))
    }

    /// Takes the oldest packet of a mailbox that is not empty.
    #[inline(always)]
    pub(super) fn take_head(&mut self, id: MailboxId) -> Packet {
        let (packet, next) = self.boxes[id.index()].take();
        self.heads[id.index()] = next;
        packet
    }

    #[inline(always)]
    pub(super) fn of(&self, id: MailboxId) -> &Mailbox {
        &self.boxes[id.index()]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Mailbox> {
        self.boxes.iter()
    }
}

/// All containers.
#[derive(Clone, Debug, Default)]
pub(super) struct Ports {
    pub(super) mailboxes: Mailboxes,
    pub(super) batches: Vec<Batch>,
}

impl Ports {
    /// Arrival time of the next packet in a port.
    #[inline]
    pub(super) fn head(&self, port: Port) -> Time {
        match port {
            Port::Mailbox(id) => self.mailboxes.head(id),
            Port::Batch(id) => self.batches[id.index()].head,
        }
    }

    /// Arrival time of the next packet in any of `ports`.
    #[inline(always)]
    pub(super) fn head_of(&self, ports: &[Port]) -> Time {
        ports.iter().map(|&port| self.head(port)).min().unwrap_or(Time::NEVER)
    }

    /// The port in `ports` with the earliest packet that arrives before `horizon`; in a tie the first port.
    #[inline(always)]
    pub(super) fn earliest_before(&self, ports: &[Port], horizon: Time) -> Option<Port> {
        let mut best = horizon;
        let mut from = None;
        for &port in ports {
            let head = self.head(port);
            if head < best {
                best = head;
                from = Some(port);
            }
        }
        from
    }

    /// Takes the next packet in a port.
    #[inline(always)]
    pub(super) fn pop(&mut self, port: Port) -> Option<Packet> {
        match port {
            Port::Mailbox(id) => self.mailboxes.pop(id),
            Port::Batch(id) => self.batches[id.index()].pop(),
        }
    }

    /// Adds a packet of a feeder with this rank to a port.
    #[inline(always)]
    pub(super) fn put(&mut self, port: Port, packet: Packet, rank: u32) {
        match port {
            Port::Mailbox(id) => self.mailboxes.push(id, packet),
            Port::Batch(id) => self.batches[id.index()].push(packet, rank),
        }
    }

    /// Limits the mailboxes together, and each batch, to `bytes`.
    pub(super) fn limit_memory(&mut self, bytes: u64) {
        self.mailboxes.limit_memory(bytes);
        self.batches.iter_mut().for_each(|batch| batch.limit_memory(bytes));
    }

    /// Memory of all packets, bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.mailboxes.bytes + self.batches.iter().map(Batch::bytes).sum::<u64>()
    }

    /// True if a container would have exceeded its limit.
    pub(super) fn is_overflown(&self) -> bool {
        self.mailboxes.overflown || self.batches.iter().any(|batch| batch.overflown)
    }

    /// Iterates over all waiting packets.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Packet> {
        let mailed = self.mailboxes.iter().flat_map(Mailbox::iter);
        mailed.chain(self.batches.iter().flat_map(Batch::iter))
    }
}

/// Packets of many feeders, ordered by time, then by the feeder's rank, then by order of arrival. Packets are appended
/// during the feeders' turns, and sorted when the link takes its turn. Almost all packets are for the current turn, so
/// a single sort costs a tenth of a heap.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    packets: Vec<Packet>,
    /// Key of each packet: time, rank and position in `packets`. Packets keep their positions; the keys are sorted from
    /// `taken` on unless `mixed` is set.
    keys: Vec<u128>,
    taken: usize,
    mixed: bool,
    pub(super) head: Time,
    /// Latest arrival.
    last: Time,
    spread: Vec<u128>,
    /// End of each bucket in `spread`. A bucket has the keys of one interval of time.
    ends: Vec<u32>,
    /// Largest number of packets.
    room: usize,
    /// True if a packet did not fit: packets are lost, and the run ends.
    overflown: bool,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            packets: Vec::new(),
            keys: Vec::new(),
            taken: 0,
            mixed: false,
            head: Time::NEVER,
            last: Time::ZERO,
            spread: Vec::new(),
            ends: Vec::new(),
            room: usize::MAX,
            overflown: false,
        }
    }
}

/// Memory of a packet in a batch, bytes: the packet, its key (twice while keys are sorted), and the buckets of time.
const BATCH_PACKET_BYTES: u64 = (size_of::<Packet>() + 2 * size_of::<u128>() + 2 * size_of::<u32>()) as u64;

/// Number of taken packets that may remain in a [`Batch`], in addition to the number of waiting packets.
const MOST_GONE: usize = 4096;

/// Time of a key.
fn time_of(key: u128) -> u64 {
    (key >> 64) as u64
}

impl Batch {
    #[inline]
    pub(super) fn push(&mut self, packet: Packet, rank: u32) {
        if self.taken == self.keys.len() {
            self.packets.clear();
            self.keys.clear();
            (self.taken, self.last) = (0, Time::ZERO);
        }
        if self.packets.len() == self.packets.capacity() && !self.grow() {
            return;
        }
        let place = self.packets.len() as u128;
        self.keys.push(u128::from(packet.at.0) << 64 | u128::from(rank) << 32 | place);
        self.packets.push(packet);
        self.mixed = true;
        self.head = self.head.min(packet.at);
        self.last = self.last.max(packet.at);
    }

    /// Doubles the capacity, up to the limit. Returns true if there is room.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> bool {
        let more = self.packets.len().max(16).min(self.room.saturating_sub(self.packets.len()));
        self.packets.reserve_exact(more);
        self.overflown |= more == 0;
        more > 0
    }

    /// Limits the batch to `bytes`.
    fn limit_memory(&mut self, bytes: u64) {
        self.room = usize::try_from(bytes / BATCH_PACKET_BYTES).unwrap_or(usize::MAX);
    }

    /// Memory of the batch's packets, bytes.
    fn bytes(&self) -> u64 {
        self.packets.capacity() as u64 * BATCH_PACKET_BYTES
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Packet> {
        if self.mixed {
            self.sort();
        }
        let key = *self.keys.get(self.taken)?;
        self.taken += 1;
        self.head = self.keys.get(self.taken).map_or(Time::NEVER, |key| Time(time_of(*key)));
        Some(self.packets[key as u32 as usize])
    }

    /// The packet behind `places` other packets, if the packets are sorted.
    #[inline(always)]
    pub(super) fn ahead(&self, places: usize) -> Option<&Packet> {
        self.get(self.taken + places)
    }

    /// Prefetches the packet behind `places` other packets, if the packets are sorted.
    #[inline(always)]
    pub(super) fn fetch_ahead(&self, places: usize) {
        self.fetch(self.taken + places);
    }

    /// The next packet, if it arrives before `horizon`.
    #[inline]
    pub(super) fn pop_before(&mut self, horizon: Time) -> Option<Packet> {
        if self.head < horizon { self.pop() } else { None }
    }

    /// Places of the packets that arrive before `horizon`, in order.
    pub(super) fn due(&mut self, horizon: Time) -> std::ops::Range<usize> {
        if self.head >= horizon {
            return self.taken..self.taken;
        }
        if self.mixed {
            self.sort();
        }
        let due = self.keys[self.taken..].partition_point(|&key| time_of(key) < horizon.0);
        self.taken..self.taken + due
    }

    /// The packet at a place, if the packets are sorted.
    #[inline(always)]
    pub(super) fn get(&self, place: usize) -> Option<&Packet> {
        self.keys.get(place).map(|&key| &self.packets[key as u32 as usize])
    }

    /// Prefetches the packet at a place.
    #[inline(always)]
    pub(super) fn fetch(&self, place: usize) {
        if let Some(&key) = self.keys.get(place) {
            prefetch::element(&self.packets, key as u32 as usize);
        }
    }

    /// Records that all packets before a place have been taken.
    pub(super) fn note_taken(&mut self, place: usize) {
        self.taken = place;
        self.head = self.keys.get(self.taken).map_or(Time::NEVER, |key| Time(time_of(*key)));
    }

    #[inline(never)]
    fn sort(&mut self) {
        self.keys.drain(..self.taken);
        self.taken = 0;
        if self.packets.len() > 2 * self.keys.len() + MOST_GONE {
            self.forget_taken();
        }
        self.sort_keys();
        self.mixed = false;
    }

    /// Removes the packets that were taken; the waiting packets keep their order.
    #[cold]
    fn forget_taken(&mut self) {
        self.keys.sort_unstable_by_key(|&key| key as u32);
        let left = self.keys.iter().map(|&key| self.packets[key as u32 as usize]).collect();
        for (place, key) in self.keys.iter_mut().enumerate() {
            *key = (*key >> 32 << 32) | place as u128;
        }
        self.packets = left;
    }

    /// Sorts the keys by distributing them over about as many buckets of time as there are keys. Arrivals are spread
    /// over the turn, so each bucket gets few keys.
    fn sort_keys(&mut self) {
        let first = self.head.0;
        let slices = self.keys.len().next_power_of_two();
        let span = self.last.0.saturating_sub(first);
        let shift = (u64::BITS - span.leading_zeros()).saturating_sub(slices.trailing_zeros());
        let slice = |key: u128| ((time_of(key) - first) >> shift) as usize;
        self.ends.clear();
        self.ends.resize(slices, 0);
        self.keys.iter().for_each(|&key| self.ends[slice(key)] += 1);
        let mut before = 0;
        for end in &mut self.ends {
            // The bucket's start for now; it moves to the bucket's end as keys are added.
            before += std::mem::replace(end, before);
        }
        // Every position gets a key, so old contents need not be cleared.
        self.spread.resize(self.keys.len(), 0);
        for &key in &self.keys {
            let at = &mut self.ends[slice(key)];
            self.spread[*at as usize] = key;
            *at += 1;
        }
        let mut from = 0;
        for &end in &self.ends {
            if end > from + 1 {
                self.spread[from as usize..end as usize].sort_unstable();
            }
            from = end;
        }
        std::mem::swap(&mut self.keys, &mut self.spread);
    }

    fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.keys[self.taken..].iter().map(|key| &self.packets[*key as u32 as usize])
    }
}
