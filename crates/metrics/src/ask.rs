//! Arguments of a metric.

use crate::data::Window;

/// A setting of a metric: its name and its default.
pub type Setting = (&'static str, f64);

/// Arguments of a metric. The default are the measurement window, or the whole run for times of convergence; all flows;
/// and the bottleneck.
#[derive(Clone, Debug, Default)]
pub struct Ask<'a> {
    /// Start and end, s.
    pub window: Option<Window>,
    /// Names of flows.
    pub flows: Option<&'a [String]>,
    /// Name of a link.
    pub link: Option<&'a str>,
    /// Class of transfers: smallest payload, and the payload above which sizes are excluded, bytes.
    pub size_bytes: Option<(f64, f64)>,
    /// Settings other than their defaults.
    pub settings: &'a [(String, f64)],
}

impl Ask<'_> {
    /// The value of a setting.
    pub(crate) fn get(&self, setting: Setting) -> f64 {
        self.settings.iter().find(|(name, _)| name == setting.0).map_or(setting.1, |(_, value)| *value)
    }

    /// The value of a setting that counts seconds or bins.
    pub(crate) fn count(&self, setting: Setting) -> usize {
        self.get(setting) as usize
    }
}
