//! Rules of Linux 6.12 for TCP, at the sender and at the receiver. A stack with `host = "linux"` has those that
//! [`HostRule`](crate::spec::HostRule) names, except the ones in its `without`; the sender looks them up once
//! ([`rules::HostRules`]). RACK, bursts and pacing are fields of the stack of their own, on any host.
//!
//! | rule | in Linux | in its file | what it changes | here |
//! | --- | --- | --- | --- | --- |
//! | timer wheel, jiffies | `calc_index`, `usecs_to_jiffies` | `kernel/time/timer.c` | timers expire at interrupts | [`jiffies`] |
//! | clock for RTTs | `tcp_mstamp_refresh` | `tcp_output.c` | RTTs in whole µs, timestamps in whole ms | [`jiffies`] |
//! | RTT and timeout | `tcp_rtt_estimator` | `tcp_input.c` | deviation that rises at once and falls slowly | [`rtt_estimator`] |
//! | RTT samples | `tcp_clean_rtx_queue`, `tcp_sacktag_one` | `tcp_input.c` | samples of SACKed and of waiting segments | [`rtt_samples`] |
//! | restart of the timer | `tcp_rearm_rto` | `tcp_input.c` | the timeout counts from the oldest transmission | `sender/timer.rs` |
//! | tail loss probe (TLP) | `tcp_schedule_loss_probe`, `tcp_send_loss_probe` | `tcp_output.c` | a segment after two RTTs without an ACK | [`tlp`], `sender/expiry.rs` |
//! | RACK | `tcp_rack_advance`, `tcp_rack_detect_loss` | `tcp_recovery.c` | losses by time | [`rack`] |
//! | reordering window | `tcp_rack_update_reo_wnd`, `tcp_check_sack_reordering` | `tcp_recovery.c`, `tcp_input.c` | wait for overtaken segments | [`rack`] |
//! | D-SACK | `tcp_check_dsack`, `tcp_dsack_seen` | `tcp_input.c` | reports of duplicates | [`dsack`] |
//! | undo | `tcp_try_undo_recovery`, `…_partial`, `…_loss`, `…_dsack` | `tcp_input.c` | the window after a spurious loss | [`undo`] |
//! | F-RTO | `tcp_process_loss` | `tcp_input.c` | new data after a timeout, and its undo | [`frto`] |
//! | timeout | `tcp_enter_loss`, `tcp_timeout_mark_lost` | `tcp_input.c` | segments of the last RTT are kept | `sender/recover.rs`, [`rack`] |
//! | CWR | `tcp_enter_cwr`, `tcp_init_cwnd_reduction` | `tcp_input.c` | a reduction without recovery, which is signalled | [`cwr`] |
//! | PRR | `tcp_cwnd_reduction` | `tcp_input.c` | segments released in a reduction | [`prr`] |
//! | window validation | `tcp_cwnd_validate` | `tcp_output.c` | growth while the window limits | [`bursts`] |
//! | idle restart | `tcp_cwnd_restart` | `tcp_output.c` | the window falls for each timeout of idleness | [`idle`] |
//! | bursts (TSO) | `tcp_write_xmit`, `tcp_tso_autosize`, `tcp_tso_should_defer` | `tcp_output.c` | segments leave in bursts, which may wait | [`bursts`], [`tso`] |
//! | unsent buffers | `tcp_sendmsg_locked`, `tcp_grow_skb` | `tcp.c`, `tcp_output.c` | ends of bursts | [`send_buffer`] |
//! | pacing | `tcp_update_pacing_rate`, `tcp_update_skb_after_send` | `tcp_input.c`, `tcp_output.c` | rate ratios, times of bursts | [`pacing`] |
//! | receive window at the sender | `tcp_select_window` | `tcp_output.c` | window in units, parts of segments | [`announced`], [`parts`] |
//! | receive buffer | `tcp_grow_window`, `tcp_rcv_space_adjust` | `tcp_input.c` | the window that a reader announces | [`receive_window`] |
//! | quick ACKs | `tcp_incr_quickack`, `tcp_enter_quickack_mode` | `tcp_input.c` | segments acknowledged one by one | [`quick_acks`] |
//! | delayed ACKs | `tcp_event_data_recv`, `tcp_send_delayed_ack` | `tcp_input.c`, `tcp_output.c` | adaptive timeout of an ACK | [`delayed_acks`] |
//! | compressed ACKs | `__tcp_ack_snd_check` | `tcp_input.c` | ACKs above a gap wait | [`ack_compression`] |
//! | SACK blocks | `tcp_sack_new_ofo_skb` | `tcp_input.c` | their order | `receiver/blocks.rs` |
//! | timestamps | `tcp_rcv_rtt_measure_ts` | `tcp_input.c` | the receiver's RTT | [`timestamps`] |
//! | lost SYNs | `tcp_init_transfer`, `tcp_try_undo_spurious_syn` | `tcp_input.c` | timeouts of a SYN, first window | `sender/opening.rs` |

pub mod ack_compression;
pub mod announced;
pub mod bursts;
pub mod constants;
pub mod cwr;
pub mod delayed_acks;
pub mod dsack;
pub mod frto;
pub mod idle;
pub mod jiffies;
pub mod pacing;
pub mod parts;
pub mod prr;
pub mod quick_acks;
pub mod rack;
pub mod receive_window;
pub mod rtt_estimator;
pub mod rtt_samples;
pub mod rules;
pub mod send_buffer;
pub mod timestamps;
pub mod tlp;
pub mod tso;
pub mod undo;
