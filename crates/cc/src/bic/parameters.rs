//! Parameters of BIC.

use crate::param::{choice, choices, flag, num, params};

choices! {
    /// Increase rule:
    /// * `paper`: the paper's pseudo-code.
    /// * `linux`: Linux's divisor for the window counter.
    pub enum Form { Paper = "paper", Linux = "linux" }

    /// Time of a new target of the binary search:
    /// * `ack`: a new target with each ACK, as in the pseudo-code.
    /// * `round`: a new target once a round trip, as in the paper's description.
    pub enum SearchUpdate { Ack = "ack", Round = "round" }

    /// Maximum with which fast convergence compares the window at a loss:
    /// * `recorded`: the maximum recorded at the last loss.
    /// * `max_win`: the variable `max_win`, as in the pseudo-code. After probing, `max_win` is "large", so every loss
    ///   counts as a shrinking share of the link.
    pub enum Against { Recorded = "recorded", MaxWin = "max_win" }
}

params! {
    /// Parameters of BIC.
    pub struct BicParams {
        /// The paper's increase rule or Linux's.
        form: Form = choice("paper", Form::WORDS), "Xu et al. 2004 §III; Linux tcp_bic.c";
        /// Largest increase for each round trip (S_max).
        s_max: f64 = num(32.0, 0.01, 1e6, Unit::Segments), "Xu et al. 2004; Linux has 16";
        /// Smallest increase for each round trip (S_min); the paper's form.
        s_min: f64 = num(0.01, 1e-6, 1e3, Unit::Segments), "Xu et al. 2004";
        /// Fraction of the window given up on a loss (β).
        beta: f64 = num(0.125, 0.0, 1.0, Unit::None), "Xu et al. 2004; Linux has 205/1024";
        /// Window below which BIC grows as standard TCP.
        low_window: f64 = num(14.0, 0.0, 1e9, Unit::Segments), "Xu et al. 2004; Linux";
        /// Set the target below the last maximum if that maximum is lower than the one before.
        fast_convergence: bool = flag(true), "Xu et al. 2004 §III.D";
        /// Reference of fast convergence, with which the window at a loss is compared; the paper's form.
        converge_against: Against = choice("recorded", Against::WORDS), "Xu et al. 2004 §III.D; max_win is the pseudo-code";
        /// Time of a new target; the paper's form.
        search_update: SearchUpdate = choice("ack", SearchUpdate::WORDS), "Xu et al. 2004 §III";
        /// Inverse of the fraction of the distance to the maximum by which the search moves each round trip; Linux's
        /// form.
        search_divisor: f64 = num(4.0, 2.0, 1e3, Unit::None), "Linux tcp_bic.c BICTCP_B";
        /// Round trips that the last `search_divisor` segments below the maximum take; Linux's form.
        smooth_part: f64 = num(20.0, 1.0, 1e4, Unit::None), "Linux tcp_bic.c; 11 up to 2.6.12";
        /// Correct for delayed ACKs by an estimate of the segments per ACK, and grow by 5 % a round trip before the
        /// first loss; Linux's form.
        per_ack_estimate: bool = flag(true), "Linux tcp_bic.c; not up to 2.6.12";
        /// Count the segments that an ACK acknowledges towards the window's growth; off: count one for each ACK.
        /// Arithmetic 'linux' only.
        count_segments: bool = flag(true), "Linux tcp_bic.c since 5.7";
    }
}
