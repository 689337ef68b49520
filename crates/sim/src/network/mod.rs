//! The network between the endpoints: links, the packets that wait for a turn, and the forwarding from hop to hop.
//!
//! ```text
//!  endpoint ──► [mailbox] ──► link ──► [mailbox] ──► link ──► receiver ──────────────────────┐
//!     ▲            ▲          turn        ▲          turn      (evaluated inline)            │ ACK
//!     └─ [mailbox] ◄── link ◄─────────────┴────────────────────────── [mailbox] ◄────────────┘
//! ```
//!
//! Time advances in *slices*. Within a slice, every *node* (an endpoint, or a link with several feeders) handles all of
//! its own events before the next node takes its turn, so there is no event list into which packets must be inserted,
//! and a node's state stays in the cache for a whole slice.
//!
//! **Why this is exact.** Let `d(a, b)` be the shortest time from an event at node `a` to its effect at node `b`, and
//! `w` the length of a slice. Draw an edge from `a` to `b` if `d(a, b) < w`. [`Plan`] chooses the longest `w` for which
//! these edges form no cycle, and orders the turns along the edges. Now take an event at `b` at time `t` inside the
//! slice `[s, s + w)`, caused by an event at `a` at `t' ≤ t − d(a, b)`. If `t' < s`, the event at `a` was handled in an
//! earlier slice. If `t' ≥ s`, then `d(a, b) ≤ t − t' < w`, so there is an edge, and `a` took its turn before `b`.
//! Either way, the packet is in `b`'s mailbox when `b`'s turn begins. Each node handles its own events in the order of
//! time: packets of one feeder are in order in one mailbox, and packets of several feeders are merged by time, where
//! the feeders' names break ties. So neither the length of a slice nor the order of flows changes a result.
//!
//! **Inline evaluation.** A link with a single feeder and without its own events gets its packets in order, so it needs
//! no turn: it is evaluated when a packet is forwarded to it, and so is a receiver, which has a turn only for the timers of
//! delayed ACKs. A link that can never queue only adds a time that depends on the packet's size (`quiet`).
//!
//! **Trains.** At the resolution `train` a packet may stand for several consecutive segments of a flow, or for their ACKs
//! (`packet`). It is handled when its last segment is, and carries the time by which the first is ahead of it. Everything that
//! the last segment meets is exact, and nothing depends on the future, so the proof above holds for trains too. Between the two
//! ends of a train the segments are taken to be evenly spaced, which a transmitter keeps: it sends them at its rate, or as they
//! arrive (`link/train`). While a queue has packets, the order of the packets of several flows changes neither the departures
//! of the transmitter nor the sum of the waits, so throughput and mean queue do not depend on the length of trains. What
//! depends on it is which flow finds the queue full, and by how many segments the queue seems shorter, because the segments of
//! a train are in it only when the last is: at most half of the trains under way. A train has therefore at most 1/256 of its
//! flow's window, or 1/2048 if it has more than 128 segments, and all flows' trains together at most 1/100 of a queue
//! (`spec/trains`). A train that does not fit into the queue is taken segment by segment. The random delays of hosts are drawn
//! for each segment of a train, or for the last ones of a long train, which leaves at the mean of its segments' times. The
//! bursts of segmentation offload leave together in any case, so each is a train if it is a small part of a steady window and
//! of the queue. A sender that paces puts several of them into a train, in which each leaves when it would leave alone, and
//! takes the ACKs of a train up to those that complete a burst. An algorithm that counts ACKs gets each of them.
//! Slow start, recovery, an RTT as of a nearly full queue, any other queue discipline, random loss, jitter of links, an
//! application, a log of events, an algorithm that needs something of each segment (`Needs`): single segments. `checks` runs
//! parts of each such run in single segments too, and compares.
//!
//! | file | idea |
//! | --- | --- |
//! | `hops` | a path as a list of hops, with the common case behind each hop computed beforehand |
//! | `ports` | the containers in which packets wait for a turn |
//! | `fabric` | the [`Network`] itself: forwarding from hop to hop |
//! | `turns` | the turn of a link |
//! | `sinks` | receivers that are evaluated inline |
//! | `attachment` | an endpoint's interface to the network, and its turn |
//! | `start` | the way of an end's packets to the first node at which they wait |
//! | `slots` | paths of the active transfers |
//! | `layout`, `plan` | the hops of a spec, and the order of turns |

mod attachment;
mod fabric;
mod hops;
mod layout;
mod plan;
mod ports;
mod sinks;
mod slots;
mod start;
mod turns;

pub use self::attachment::Attachment;
pub use self::fabric::{Count, Network};
pub use self::layout::build;
pub use self::plan::{Node, Plan};
pub use self::ports::{LinkId, MailboxId, SourceId};
pub use self::sinks::Sink;
pub use self::slots::TRANSFER_BYTES;
