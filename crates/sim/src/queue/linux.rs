//! Names and parameters of Linux's own queue disciplines. The engine does not run Linux's disciplines; they run on the
//! path inside a Linux guest.
//!
//! Names, units and defaults are those of the engine's discipline of the same name, so that a scenario needs to change
//! only one word. A parameter that the kernel does not have is absent here, and a scenario with it is rejected.

use std::collections::BTreeMap;

use elephan_cc::param::{BuildError, MS, S, Settings, Type, US, Value, derived, duration, flag, int, num};

use super::codel::CodelParameters;
use super::entry::Entry;
use super::fq_codel::FqCodelParameters;
use super::red;
use crate::time::Time;

elephan_cc::params! {
    /// Parameters of Linux's FQ-CoDel that the engine's FQ-CoDel does not have.
    pub struct FqCodelOfLinux {
        /// Packets that the longest queue loses at once when the limit is reached, at most half of that queue.
        drop_batch: u32 = int(64.0, 1.0, 1e6, Unit::Packets), "Linux 6.12, net/sched/sch_fq_codel.c";
    }
}

elephan_cc::params! {
    /// Parameters of Linux's PIE, whose burst allowance (150 ms) and threshold for marks (0.1) are fixed.
    pub struct PieOfLinux {
        /// Target queueing delay.
        target: Time = duration(15.0 * MS, 1.0 * US, 100.0 * S), "RFC 8033 section 4.2; Linux 6.12, include/net/pie.h";
        /// Interval between two updates of the probability; the kernel rounds up to whole jiffies.
        update: Time = duration(15.0 * MS, 1.0 * MS, 100.0 * S), "RFC 8033 section 4.2; Linux 6.12, include/net/pie.h";
        /// Weight of the difference from the target, a multiple of 1/16.
        alpha: f64 = num(0.125, 0.0, 2.0, Unit::PerSecond), "RFC 8033 section 4.2; Linux 6.12, net/sched/sch_pie.c";
        /// Weight of the trend, a multiple of 1/16.
        beta: f64 = num(1.25, 0.0, 2.0, Unit::PerSecond), "RFC 8033 section 4.2; Linux 6.12, net/sched/sch_pie.c";
        /// ECN-capable packets are marked and not dropped.
        ecn: bool = flag(true), "RFC 8033 section 5.1";
    }
}

elephan_cc::params! {
    /// Parameters of Linux's RED, which has no gentle mode.
    pub struct RedOfLinux {
        /// Average queue below which no packet is dropped.
        min: f64 = derived(Type::Packets, "2.5 ms of the link's rate, at least 5 packets, at most max / 3", 1.0, 1e6, Unit::Packets),
            "Floyd, Gummadi & Shenker 2001, section 4";
        /// Average queue from which every packet is dropped or marked.
        max: f64 = derived(Type::Packets, "3 min", 2.0, 1e6, Unit::Packets), "Floyd, Gummadi & Shenker 2001, section 4";
        /// Probability of a drop at max.
        max_p: f64 = num(0.1, 1e-6, 1.0, Unit::None), "ns-2 red.cc (linterm_)";
        /// Weight of an arrival in the average, a power of two.
        weight: f64 = derived(Type::Number, "the power of two nearest to 1 - exp(-1/C), C the link's rate in packets/s", 1e-9, 0.5, Unit::None),
            "Floyd, Gummadi & Shenker 2001, section 4; Linux 6.12, include/net/red.h";
        /// Adapt the probability at max, so that the average stays in the middle between the thresholds.
        adaptive: bool = flag(false), "Floyd, Gummadi & Shenker 2001, section 4; Linux 6.12, include/net/red.h";
        /// ECN-capable packets are marked and not dropped.
        ecn: bool = flag(true), "RFC 3168 section 5";
        /// Above max, ECN-capable packets are dropped too.
        harddrop: bool = flag(false), "Linux 6.12, net/sched/sch_red.c";
    }
}

elephan_cc::params! {
    /// Parameters of Linux's FQ, which serves flows by deficit round robin.
    pub struct FqOfLinux {
        /// Packets of one flow that may wait.
        flow_limit: u32 = int(100.0, 1.0, 1e9, Unit::Packets), "Linux 6.12, net/sched/sch_fq.c";
        /// Bytes that a flow may send in a turn.
        quantum: u32 = int(3028.0, 1.0, 1e6, Unit::Bytes), "Linux 6.12, net/sched/sch_fq.c";
        /// Bytes that a flow may send in its first turn.
        initial_quantum: u32 = int(15_140.0, 1.0, 1e6, Unit::Bytes), "Linux 6.12, net/sched/sch_fq.c";
    }
}

elephan_cc::params! {
    /// Parameters of Linux's DualPI2, which Linux has since 6.17.
    pub struct DualPi2OfLinux {
        /// Target delay of the classic queue.
        target: Time = duration(15.0 * MS, 1.0 * US, 100.0 * S), "Linux 6.17, net/sched/sch_dualpi2.c; RFC 9332 Appendix A.1";
        /// Interval between two updates of the probability (Tupdate).
        update: Time = duration(16.0 * MS, 100.0 * US, 4.0 * S), "Linux 6.17, net/sched/sch_dualpi2.c";
        /// Weight of the difference from the target, a multiple of 1/256.
        alpha: f64 = num(41.0 / 256.0, 1.0 / 256.0, 1e3, Unit::PerSecond), "Linux 6.17, net/sched/sch_dualpi2.c";
        /// Weight of the trend, a multiple of 1/256.
        beta: f64 = num(819.0 / 256.0, 1.0 / 256.0, 1e3, Unit::PerSecond), "Linux 6.17, net/sched/sch_dualpi2.c";
        /// Coupling factor k: the marking probability of the scalable queue is k times the square root of the classic
        /// probability.
        coupling: u32 = int(2.0, 1.0, 255.0, Unit::None), "Linux 6.17, net/sched/sch_dualpi2.c; RFC 9332 Appendix A.1";
        /// Smallest delay at which every packet of the scalable queue is marked.
        step: Time = duration(1.0 * MS, 1.0 * US, 4.0 * S), "Linux 6.17, net/sched/sch_dualpi2.c";
        /// Smallest percentage of the rate for the classic queue while both queues are busy.
        classic_percent: u32 = int(10.0, 0.0, 100.0, Unit::None), "Linux 6.17, net/sched/sch_dualpi2.c";
        /// ECN codepoints of the scalable queue: 1 is ECT(1), 2 is ECT(0), 3 is both. Linux's DCTCP sends ECT(0).
        ecn_mask: u32 = int(1.0, 1.0, 3.0, Unit::None), "Linux 6.17, net/sched/sch_dualpi2.c";
    }
}

/// A discipline of Linux, and the check of its parameters.
#[derive(Debug)]
pub struct Row {
    /// Declaration of the discipline.
    pub entry: Entry,
    /// Rejects values that contradict each other.
    pub check: fn(&Settings) -> Result<(), BuildError>,
}

const ROWS: &[Row] = &[
    Row {
        entry: Entry::new(
            "linux:fq",
            "Linux's fair queue: flows served in turn, each with a limit of its own",
            "Linux 6.12, net/sched/sch_fq.c",
            &[FqOfLinux::TABLE],
        ),
        check: |_| Ok(()),
    },
    Row {
        entry: Entry::new(
            "linux:fq_codel",
            "Linux's flow queues with controlled delay",
            "Linux 6.12, net/sched/sch_fq_codel.c",
            &[CodelParameters::TABLE, FqCodelParameters::TABLE, FqCodelOfLinux::TABLE],
        ),
        check: |_| Ok(()),
    },
    Row {
        entry: Entry::new(
            "linux:codel",
            "Linux's controlled delay",
            "Linux 6.12, net/sched/sch_codel.c",
            &[CodelParameters::TABLE],
        ),
        check: |_| Ok(()),
    },
    Row {
        entry: Entry::new(
            "linux:pie",
            "Linux's proportional integral controller enhanced",
            "Linux 6.12, net/sched/sch_pie.c",
            &[PieOfLinux::TABLE],
        ),
        check: check_pie,
    },
    Row {
        entry: Entry::new(
            "linux:dualpi2",
            "Linux's dual queue coupled AQM, in kernels from 6.17 on",
            "Linux 6.17, net/sched/sch_dualpi2.c",
            &[DualPi2OfLinux::TABLE],
        ),
        check: check_dualpi2,
    },
    Row {
        entry: Entry {
            derive: derive_red,
            ..Entry::new(
                "linux:red",
                "Linux's random early detection, adaptive where asked for",
                "Linux 6.12, net/sched/sch_red.c",
                &[RedOfLinux::TABLE],
            )
        },
        check: check_red,
    },
];

/// Steps of the weights of PIE in Linux.
const PIE_STEPS: f64 = 16.0;
/// Steps of the weights of DualPI2 in Linux.
const DUALPI2_STEPS: f64 = 256.0;

/// Every discipline of Linux.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    ROWS.iter().map(|row| &row.entry)
}

/// The discipline of Linux with this name.
#[must_use]
pub fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.entry.name == name)
}

fn check_pie(settings: &Settings) -> Result<(), BuildError> {
    let p = PieOfLinux::read(settings)?;
    check_steps(settings, [("alpha", p.alpha), ("beta", p.beta)], PIE_STEPS)
}

fn check_dualpi2(settings: &Settings) -> Result<(), BuildError> {
    let p = DualPi2OfLinux::read(settings)?;
    check_steps(settings, [("alpha", p.alpha), ("beta", p.beta)], DUALPI2_STEPS)
}

/// Rejects weights between the steps that Linux counts in.
fn check_steps(settings: &Settings, weights: [(&'static str, f64); 2], steps: f64) -> Result<(), BuildError> {
    for (name, value) in weights {
        if (value * steps).fract() != 0.0 {
            let nearest = libm::round(value * steps).max(1.0) / steps;
            return settings.conflict_of(
                name,
                format!("{value} is no multiple of 1/{steps}, which Linux counts in; the nearest is {nearest}"),
            );
        }
    }
    Ok(())
}

fn check_red(settings: &Settings) -> Result<(), BuildError> {
    let p = RedOfLinux::read(settings)?;
    if p.min >= p.max {
        return settings.conflict_of("max", format!("{} packets must be more than min, {}", p.max, p.min));
    }
    let nearest = power_of_two(p.weight);
    if p.weight != nearest {
        return settings.conflict_of("weight", format!("{} is no power of two; the nearest is {nearest}", p.weight));
    }
    Ok(())
}

fn derive_red(given: &mut BTreeMap<String, Value>, rate: f64) {
    let stated = given.contains_key("weight");
    red::derive(given, rate);
    if let (false, Some(Value::Num(weight))) = (stated, given.get_mut("weight")) {
        *weight = power_of_two(*weight);
    }
}

/// The power of two nearest to a weight on a logarithmic scale, at most 1/2.
fn power_of_two(weight: f64) -> f64 {
    libm::exp2(libm::round(libm::log2(weight)).min(-1.0))
}

#[cfg(test)]
mod tests {
    use super::super::{check_form, form};
    use super::*;
    use serde_json::json;

    fn refused(kind: &str, given: &[(&str, f64)]) -> String {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), Value::Num(*value))).collect();
        form(kind, given, 10_000_000, 1500).expect_err("it is wrong").to_string()
    }

    #[test]
    fn a_form_with_all_defaults_is_one_that_a_spec_may_have_and_the_engine_does_not_run() {
        for entry in entries() {
            let mut queue = form(entry.name, BTreeMap::new(), 10_000_000, 1500).expect("it is right");
            queue.insert("kind".to_owned(), json!(entry.name));
            queue.insert("limit_packets".to_owned(), json!(100));
            let link = json!({"name": "l", "rate_bps": 10_000_000, "delay_ps": 1000, "queue": queue});
            let links = [serde_json::from_value(link).expect("a link")];
            check_form(&links).expect("it is right");
            let refusal = super::super::check(&links).expect_err("the engine has none").to_string();
            assert!(refusal.contains(entry.name), "{refusal}");
        }
    }

    #[test]
    fn what_linux_counts_otherwise_is_refused() {
        for (kind, given, message) in [
            ("linux:red", vec![("weight", 0.002)], "0.002 is no power of two; the nearest is 0.001953125"),
            ("linux:red", vec![("min", 30.0), ("max", 20.0)], "20 packets must be more than min, 30"),
            ("linux:pie", vec![("alpha", 0.1)], "0.1 is no multiple of 1/16, which Linux counts in"),
            (
                "linux:dualpi2",
                vec![("beta", 3.2)],
                "3.2 is no multiple of 1/256, which Linux counts in; the nearest is 3.19921875",
            ),
        ] {
            assert!(refused(kind, &given).contains(message), "{}", refused(kind, &given));
        }
    }

    #[test]
    fn a_parameter_that_linux_does_not_have_is_refused_by_name() {
        assert!(refused("linux:pie", &[("burst", 1e12)]).contains("burst"));
        assert!(refused("linux:red", &[("gentle", 1.0)]).contains("gentle"));
    }

    #[test]
    fn the_derived_weight_is_a_power_of_two() {
        let found = form("linux:red", BTreeMap::new(), 20_000_000, 1500).expect("it is right");
        assert_eq!(found["weight"], json!(libm::exp2(-11.0)));
    }
}
