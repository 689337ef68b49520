//! Congestion control algorithms for long fat networks, one file for each algorithm.
//!
//! The caller reports ACKs, losses and timeouts to an algorithm, and the algorithm answers with a window. Units are
//! those of the papers: segments, seconds, segments per second. An algorithm reads no clock, takes random numbers only
//! from its caller's seed, and does not depend on a simulator. All transcendental functions come from `libm`, so
//! results are the same on every machine.
//!
//! [`build`] creates a [`Controller`] by name, and a transport drives it through [`Algorithm`]. The module
//! [`estimators`] has the measurements that the transport needs. A transport that counts bytes, such as a QUIC stack,
//! drives an algorithm through [`transport::ByteDriver`]:
//!
//! ```
//! use std::collections::BTreeMap;
//! use elephan_cc::build;
//! use elephan_cc::transport::{Acked, ByteDriver, Connection, Offers};
//!
//! let cubic = build("cubic", &BTreeMap::new())?;
//! let mut driver = ByteDriver::new(cubic, Connection::new(1200), Offers::default())?;
//! assert_eq!(driver.window(), 12_000);
//! let ms = 1_000_000_000; // picoseconds
//! driver.on_sent(0, 1200, 0);
//! driver.on_acked(&Acked { now_ps: 50 * ms, bytes: 1200, newest: 0, newest_sent_ps: 0, ..Acked::default() });
//! assert_eq!(driver.window(), 13_200); // slow start
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/toy_transport.rs` is a whole sender. To add an algorithm, write a file like those here and add one line to
//! `registry.rs`.
//!
//! | module | algorithm |
//! |---|---|
//! | [`reno`] | standard TCP |
//! | [`hstcp`] | HighSpeed TCP, RFC 3649 |
//! | [`stcp`] | Scalable TCP |
//! | [`htcp`] | H-TCP |
//! | [`bic`] | BIC-TCP |
//! | [`cubic`] | CUBIC, RFC 9438 |
//! | [`westwood`] | TCP Westwood+ |
//! | [`hybla`] | TCP Hybla |
//! | [`ltcp`] | LTCP, layered TCP |
//! | [`veno`] | TCP Veno |
//! | [`lp`] | TCP-LP, HSTCP-LP |
//! | [`dctcp`] | DCTCP, RFC 8257 |
//! | [`prague`] | TCP Prague |
//! | [`fast`] | FAST TCP |
//! | [`eefast`] | Enhanced FAST: FAST with the queueing delay of the forward path alone |
//! | [`vegas`] | TCP Vegas |
//! | [`cdg`] | CDG, CAIA delay gradient |
//! | [`nv`] | TCP NV |
//! | [`africa`] | TCP-Africa |
//! | [`areno`] | TCP Adaptive Reno |
//! | [`compound`] | Compound TCP |
//! | [`fusion`] | TCP-Fusion |
//! | [`illinois`] | TCP-Illinois |
//! | [`copa`] | Copa |
//! | [`ledbat`] | LEDBAT, RFC 6817 |
//! | [`ledbat_plus_plus`] | LEDBAT++ |
//! | [`libra`] | TCP Libra |
//! | [`bbr`] | BBR, version 1 |
//! | [`yeah`] | YeAH-TCP |
//! | [`bbr3`] | BBR, version 3 |
//! | [`c4`] | C4, for media over QUIC |
//! | [`vivace`] | PCC Vivace |
//! | [`hcc`] | HCC TCP |
//! | [`udt`] | UDT, which is not TCP and has its own endpoint |
//! | [`fixed`] | no congestion control, for comparison |
//! | [`expression`] | formulas of the user for growth and decrease |
//! | [`policy`] | a network that was learned |
//! | [`xcp`] | XCP: routers ask for a change of the rate |
//! | [`vcp`] | VCP: routers report their load |

mod ack;
pub mod africa;
mod algorithm;
pub mod areno;
pub mod bbr;
pub mod bbr3;
pub mod bic;
pub mod c4;
mod careful_resume;
pub mod cdg;
pub mod compound;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod delay_history;
mod detail;
pub mod draws;
pub mod eefast;
pub mod estimators;
mod event;
pub mod expression;
pub mod fast;
pub mod fixed;
pub mod formula;
pub mod forward_delay;
pub mod fusion;
pub mod hcc;
pub mod hstcp;
pub mod htcp;
pub mod hybla;
pub mod illinois;
pub mod jiffies;
pub mod ledbat;
pub mod ledbat_plus_plus;
pub mod libra;
pub mod linux;
pub mod loss_based;
pub mod loss_window;
pub mod lp;
pub mod ltcp;
pub mod network;
pub mod nv;
pub mod observe;
pub mod param;
#[cfg(test)]
mod path;
pub mod plain_window;
pub mod policy;
pub mod prague;
mod registry;
pub mod reno;
mod reports;
pub mod round_trip;
mod router;
pub mod slow_start;
pub mod spread;
pub mod stcp;
pub mod steering;
#[cfg(test)]
mod testing;
pub mod transport;
pub mod udt;
mod unit;
pub mod vcp;
pub mod vegas;
pub mod veno;
pub mod vivace;
pub mod westwood;
pub mod windowed;
mod words;
pub mod xcp;
pub mod yeah;

pub use ack::{Ack, Delivery};
pub use algorithm::{Algorithm, Ecn, Needs, Trains, Tunable};
pub use detail::{Detail, Form};
pub use event::Event;
pub use observe::{Observe, Observer, Variable};
pub use param::{BuildError, Entry, Kind, Parameter, Preset, Setting, Value};
pub use registry::{Controller, build, build_udt, other_transports, registry};
pub use reports::{Cause, Lost, Sent, Signal, Start};
pub use router::{Answer, Load, Request, Router};
