//! Sample of an ACK (`RS` in the draft).

/// The sample of one ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub rate: f64,
    pub delivered: f64,
    pub prior_delivered: f64,
    pub tx_in_flight: f64,
    pub lost: f64,
    pub app_limited: bool,
}
