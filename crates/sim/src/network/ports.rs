//! Containers in which packets wait for a node's turn: bookkeeping of the simulator, not a router's buffer.
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

/// An empty mailbox for more packets than this is not handed on from one transfer to the next.
const MOST_KEPT: usize = 128;

/// Packets that are fetched at once for the turn of a flow: in a crowd a turn finds few.
const FETCHED_OF_CROWD: usize = 3;

/// Packets that are fetched at once for the turn of a transfer: most turns find fewer.
const FETCHED: usize = 8;

/// Packets from one feeder that wait for a node's turn, in order: a ring of the packets that were put in and not taken
/// out. It is aligned so that it lies in one line of the cache.
#[derive(Clone, Debug, Default)]
#[repr(align(32))]
pub(super) struct Mailbox {
    slots: Vec<Packet>,
    /// Packets taken and put since it was empty, modulo 2³².
    taken: u32,
    put: u32,
}

impl Mailbox {
    /// Packets in it.
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

    /// Appends where there is room; answers whether there was no packet before.
    #[inline(always)]
    fn put(&mut self, packet: Packet) -> bool {
        let first = self.put == self.taken;
        if first {
            // From the beginning, where memory was last used.
            (self.taken, self.put) = (0, 0);
        }
        let slot = self.slot(self.put);
        self.slots[slot] = packet;
        self.put = self.put.wrapping_add(1);
        first
    }

    /// The oldest, of which there must be one, and when the next arrives.
    #[inline(always)]
    fn take(&mut self) -> (Packet, Time) {
        let packet = self.slots[self.slot(self.taken)];
        self.taken = self.taken.wrapping_add(1);
        (packet, if self.put == self.taken { Time::NEVER } else { self.slots[self.slot(self.taken)].at })
    }

    /// The packet that `places` others stand before.
    #[inline(always)]
    pub(super) fn ahead(&self, places: usize) -> Option<&Packet> {
        (self.held() > places).then(|| &self.slots[self.slot(self.taken.wrapping_add(places as u32))])
    }

    /// Fetches the slot that the next packet will be put into.
    #[inline(always)]
    pub(super) fn fetch_free_slot(&self) {
        prefetch::element(&self.slots, self.slot(self.put));
    }

    /// Fetches the oldest packets, as many as the turn of one of thousands of flows finds.
    #[inline(always)]
    pub(super) fn fetch_oldest(&self) {
        prefetch::elements(&self.slots, self.slot(self.taken), FETCHED_OF_CROWD);
    }

    /// Fetches the oldest packets.
    #[inline(always)]
    pub(super) fn fetch_some(&self) {
        prefetch::elements(&self.slots, self.slot(self.taken), FETCHED);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Packet> {
        (0..self.held()).map(|i| &self.slots[self.slot(self.taken.wrapping_add(i as u32))])
    }

    /// Doubles the ring, in place: a copy of a large one would need half as much memory again. Answers whether that is not more
    /// than `most_bytes`; if it is, nothing is done.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, most_bytes: u64) -> bool {
        let before = self.slots.len();
        let after = (before * 2).max(16);
        if (after * size_of::<Packet>()) as u64 > most_bytes {
            return false;
        }
        self.slots.reserve_exact(after - before);
        self.slots.resize(after, Packet::default());
        for i in 0..before {
            let slot = self.slot(self.taken.wrapping_add(i as u32));
            if slot >= before {
                self.slots[slot] = self.slots[slot - before];
            }
        }
        true
    }
}

/// All mailboxes, by number.
#[derive(Clone, Debug)]
pub(super) struct Mailboxes {
    boxes: Vec<Mailbox>,
    /// Arrival of the oldest packet in each, or [`Time::NEVER`]: side by side, since every turn looks at those of all
    /// transfers.
    heads: Vec<Time>,
    /// The largest that one may become, bytes.
    most_bytes: u64,
    /// One wanted to become larger: packets are lost, and the run is over.
    overflown: bool,
}

impl Default for Mailboxes {
    fn default() -> Self {
        Self { boxes: Vec::new(), heads: Vec::new(), most_bytes: u64::MAX, overflown: false }
    }
}

impl Mailboxes {
    /// Lets no mailbox become larger than so many bytes.
    fn limit_memory(&mut self, bytes: u64) {
        self.most_bytes = bytes;
    }

    /// Makes one more; answers its number.
    pub(super) fn add(&mut self) -> MailboxId {
        self.boxes.push(Mailbox::default());
        self.heads.push(Time::NEVER);
        MailboxId(self.boxes.len() as u32 - 1)
    }

    /// Takes away the last so many.
    pub(super) fn remove_last(&mut self, count: usize) {
        self.boxes.truncate(self.boxes.len() - count);
        self.heads.truncate(self.boxes.len());
    }

    /// Frees the memory of an empty mailbox, if it is large.
    pub(super) fn trim(&mut self, id: MailboxId) {
        let mailbox = &mut self.boxes[id.index()];
        if mailbox.slots.len() > MOST_KEPT && mailbox.put == mailbox.taken {
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
        if mailbox.is_full() && !mailbox.grow(self.most_bytes) {
            self.overflown = true;
            return;
        }
        if mailbox.put(packet) {
            self.heads[id.index()] = packet.at;
        }
    }

    /// Memory of all slots, bytes. It is added up here, since a running total costs 3 % of a run in [`Mailboxes::push`].
    fn bytes(&self) -> u64 {
        self.boxes.iter().map(|mailbox| (mailbox.slots.len() * size_of::<Packet>()) as u64).sum()
    }

    /// Fetches what is to be known of a mailbox before a packet is put in or taken out.
    #[inline(always)]
    pub(super) fn fetch(&self, id: MailboxId) {
        prefetch::element(&self.boxes, id.index());
        prefetch::element(&self.heads, id.index());
    }

    pub(super) fn len(&self) -> usize {
        self.boxes.len()
    }

    #[inline(always)]
    pub(super) fn pop(&mut self, id: MailboxId) -> Option<Packet> {
        (self.heads[id.index()] != Time::NEVER).then(|| self.take_head(id))
    }

    /// The oldest, where its head has said that there is one.
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
    /// When the next packet in a port arrives.
    #[inline]
    pub(super) fn head(&self, port: Port) -> Time {
        match port {
            Port::Mailbox(id) => self.mailboxes.head(id),
            Port::Batch(id) => self.batches[id.index()].head,
        }
    }

    /// When the next packet in any of `ports` arrives.
    #[inline(always)]
    pub(super) fn head_of(&self, ports: &[Port]) -> Time {
        ports.iter().map(|&port| self.head(port)).min().unwrap_or(Time::NEVER)
    }

    /// Takes the earliest packet in `ports` that arrives before `horizon`; in a tie the packet of the first port.
    #[inline(always)]
    pub(super) fn next_before(&mut self, ports: &[Port], horizon: Time) -> Option<Packet> {
        let mut best = horizon;
        let mut from = None;
        for &port in ports {
            let head = self.head(port);
            if head < best {
                best = head;
                from = Some(port);
            }
        }
        match from? {
            Port::Mailbox(id) => self.mailboxes.pop(id),
            Port::Batch(id) => self.batches[id.index()].pop(),
        }
    }

    /// Lets none of them take more than so many bytes.
    pub(super) fn limit_memory(&mut self, bytes: u64) {
        self.mailboxes.limit_memory(bytes);
        self.batches.iter_mut().for_each(|batch| batch.limit_memory(bytes));
    }

    /// Memory of all packets, bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.mailboxes.bytes() + self.batches.iter().map(Batch::bytes).sum::<u64>()
    }

    /// True if one of them wanted more than it may take.
    pub(super) fn is_overflown(&self) -> bool {
        self.mailboxes.overflown || self.batches.iter().any(|batch| batch.overflown)
    }

    /// All packets that wait.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Packet> {
        let mailed = self.mailboxes.iter().flat_map(Mailbox::iter);
        mailed.chain(self.batches.iter().flat_map(Batch::iter))
    }
}

/// Packets from many feeders, ordered by time, then by the feeder's rank, then by order of arrival: put in as they come during
/// one turn, and sorted when the link takes its own. What is put in hardly ever is for a later turn, so sorting at once costs a
/// tenth of a heap.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    packets: Vec<Packet>,
    /// Time, rank and position in `packets`, which stay where they were put; sorted from `taken` on unless `mixed`.
    keys: Vec<u128>,
    taken: usize,
    mixed: bool,
    pub(super) head: Time,
    /// Latest arrival.
    last: Time,
    spread: Vec<u128>,
    /// End of the time slices that keys are spread over.
    ends: Vec<u32>,
    /// Packets that it may hold.
    room: usize,
    /// One more was to come: packets are lost, and the run is over.
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

/// Memory of a packet in a batch, bytes: itself, its key while keys are sorted, and the slices of time.
const BATCH_PACKET_BYTES: u64 = (size_of::<Packet>() + 2 * size_of::<u128>() + 2 * size_of::<u32>()) as u64;

/// Packets that were taken and may still lie in a [`Batch`], in addition to as many as there are others.
const MOST_GONE: usize = 4096;

/// Time in a key.
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

    /// Doubles the capacity, up to the limit; returns true if there is any.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> bool {
        let more = self.packets.len().max(16).min(self.room.saturating_sub(self.packets.len()));
        self.packets.reserve_exact(more);
        self.overflown |= more == 0;
        more > 0
    }

    /// Lets it take no more than so many bytes.
    fn limit_memory(&mut self, bytes: u64) {
        self.room = usize::try_from(bytes / BATCH_PACKET_BYTES).unwrap_or(usize::MAX);
    }

    /// Memory of its packets, bytes.
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

    /// The packet that `places` others stand before, where these are sorted.
    #[inline(always)]
    pub(super) fn ahead(&self, places: usize) -> Option<&Packet> {
        if let Some(&key) = self.keys.get(self.taken + 2 * places) {
            prefetch::element(&self.packets, key as u32 as usize);
        }
        self.keys.get(self.taken + places).map(|&key| &self.packets[key as u32 as usize])
    }

    /// The next packet, if it arrives before `horizon`.
    #[inline]
    pub(super) fn pop_before(&mut self, horizon: Time) -> Option<Packet> {
        if self.head < horizon { self.pop() } else { None }
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

    /// Packets that were taken make room; the rest keeps its order.
    #[cold]
    fn forget_taken(&mut self) {
        self.keys.sort_unstable_by_key(|&key| key as u32);
        let left = self.keys.iter().map(|&key| self.packets[key as u32 as usize]).collect();
        for (place, key) in self.keys.iter_mut().enumerate() {
            *key = (*key >> 32 << 32) | place as u128;
        }
        self.packets = left;
    }

    /// Arrivals are spread over the turn, so each of as many slices as there are keys holds few.
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
            // Its beginning for now; it moves to its end as keys come.
            before += std::mem::replace(end, before);
        }
        // Every place gets a key, so what is there need not be cleared.
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
