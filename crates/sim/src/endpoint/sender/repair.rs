//! State of loss recovery.

use crate::endpoint::linux::frto::{FRto, Shown};
use crate::endpoint::linux::rules::HostRules;
use crate::endpoint::recovery::Episode;
use crate::spec::HostRule;
use crate::time::Time;

/// Loss recovery of a sender. `point` is the next new segment at its start: no other recovery begins before all segments
/// below it are acknowledged.
#[derive(Clone, Copy, Debug)]
pub enum Repair {
    /// No recovery.
    Open,
    /// Reduction of the window without a loss: after an ECN echo, or by the algorithm's own decision. A loss makes it a
    /// recovery. Stacks without Linux's rule have no such state.
    Cwr { episode: Episode, point: u32 },
    /// Recovery after a loss; in stacks without CWR also the response to an ECN echo. `sends_new` is true while an ACK is
    /// handled that shows an original while retransmissions are in flight: it releases new data only.
    Recovery { episode: Episode, point: u32, undo: Option<Undo>, sends_new: bool },
    /// Recovery after a timeout, until all segments outstanding at the timeout are acknowledged.
    Loss { point: u32, undo: Option<Undo>, frto: FRto },
}

/// Evidence that shows a recovery to be spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undo {
    /// An ACK of an original.
    ByOriginal,
    /// Also any ACK that does not advance: the recovery had ended before it began, since it continues a reduction of which
    /// all segments are acknowledged, and the ACK echoes a segment from before the retransmission
    /// (`tcp_try_undo_recovery`).
    ByAny,
}

/// State that remains of the recoveries so far.
#[derive(Clone, Copy, Debug)]
pub struct Past {
    /// True if an undo restores the window: no mark was echoed since the last recovery began, and it did not continue a
    /// reduction (`prior_ssthresh`).
    pub restores: bool,
    /// Send time of the last recovery's first retransmission (`retrans_stamp`).
    pub first_resent: Time,
    /// Lowest segment outstanding at the last timeout.
    pub timed_out: Option<u32>,
}

impl Repair {
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    pub fn is_cwr(&self) -> bool {
        matches!(self, Self::Cwr { .. })
    }

    pub fn is_loss(&self) -> bool {
        matches!(self, Self::Loss { .. })
    }

    /// True if a loss would begin a recovery.
    pub fn is_before_recovery(&self) -> bool {
        matches!(self, Self::Open | Self::Cwr { .. })
    }

    #[inline]
    pub fn episode(&self) -> Option<&Episode> {
        match self {
            Self::Cwr { episode, .. } | Self::Recovery { episode, .. } => Some(episode),
            Self::Open | Self::Loss { .. } => None,
        }
    }

    #[inline]
    pub fn episode_mut(&mut self) -> Option<&mut Episode> {
        match self {
            Self::Cwr { episode, .. } | Self::Recovery { episode, .. } => Some(episode),
            Self::Open | Self::Loss { .. } => None,
        }
    }

    fn point(&self) -> Option<u32> {
        match *self {
            Self::Open => None,
            Self::Cwr { point, .. } | Self::Recovery { point, .. } | Self::Loss { point, .. } => Some(point),
        }
    }

    /// The undo of the current recovery, if it is still possible.
    #[inline(always)]
    pub fn undo(&self) -> Option<Undo> {
        match *self {
            Self::Open | Self::Cwr { .. } => None,
            Self::Recovery { undo, .. } | Self::Loss { undo, .. } => undo,
        }
    }

    /// True if an ACK may show the current recovery to be spurious.
    #[inline(always)]
    pub fn may_be_spurious(&self) -> bool {
        match *self {
            Self::Open | Self::Cwr { .. } => false,
            Self::Recovery { undo, .. } => undo.is_some(),
            Self::Loss { undo, frto, .. } => undo.is_some() || frto != FRto::Off,
        }
    }

    /// Excludes an undo of the current recovery.
    pub fn exclude_undo(&mut self) {
        if let Self::Recovery { undo, .. } | Self::Loss { undo, .. } = self {
            *undo = None;
        }
    }

    /// The segment below which originals show that the last timeout was spurious, if F-RTO may find that.
    #[inline(always)]
    pub fn judged_below(&self) -> Option<u32> {
        match *self {
            Self::Loss { point, frto, .. } if frto != FRto::Off => Some(point),
            _ => None,
        }
    }

    /// Takes an ACK after which the segments from `una` to `next` are outstanding. Returns true if F-RTO takes the timeout
    /// for spurious.
    pub fn judge(&mut self, una: u32, next: u32, ack: Shown) -> bool {
        match self {
            Self::Loss { point, frto, .. } => frto.on_ack(ack, *point, una, next),
            _ => false,
        }
    }

    /// True while an ACK is handled that releases new data instead of retransmissions.
    #[inline(always)]
    pub fn sends_new(&self) -> bool {
        match *self {
            Self::Open | Self::Cwr { .. } => false,
            Self::Recovery { sends_new, .. } => sends_new,
            Self::Loss { frto, .. } => frto == FRto::SendsNew,
        }
    }

    /// Lets the current ACK release new data only, in a recovery.
    pub fn send_new_only(&mut self) {
        if let Self::Recovery { sends_new, .. } = self {
            *sends_new = true;
        }
    }

    /// Ends the ACK that released new data, the last of which is below `next`. Returns true if F-RTO could send none, so that
    /// the sender retransmits.
    pub fn on_sent_new(&mut self, next: u32) -> bool {
        match self {
            Self::Recovery { sends_new, .. } => *sends_new = false,
            Self::Loss { point, frto, .. } => {
                *frto = if next == *point { FRto::Off } else { FRto::Waits };
                return *frto == FRto::Off;
            }
            Self::Open | Self::Cwr { .. } => {}
        }
        false
    }

    /// True if an ACK of all segments below `cumulative` ends the state. A reduction ends beyond its last segment, so
    /// that the receiver sees its report (CWR).
    pub fn ends_at(&self, cumulative: u32) -> bool {
        self.point().is_some_and(|point| if self.is_cwr() { cumulative > point } else { cumulative >= point })
    }

    /// Makes a recovery that begins a mere reduction of the window.
    pub fn become_reduction(&mut self) {
        if let Self::Recovery { episode, point, .. } = *self {
            *self = Self::Cwr { episode, point };
        }
    }

    /// Begins a recovery.
    pub fn recover(&mut self, episode: Episode, point: u32, undo: Option<Undo>) {
        *self = Self::Recovery { episode, point, undo, sends_new: self.sends_new() };
    }

    /// Begins the recovery after a timeout at `now`, whose undo is `undo`, while the segments from `una` to `next` are
    /// outstanding. In Linux, the timeout may belong to a loss for which the window is already reduced: in a reduction or a
    /// recovery, or after a timeout since which no ACK has advanced (`tcp_enter_loss`); then the earlier undo remains. A
    /// timeout may be spurious if no recovery is under way, or if it is repeated (RFC 5682 section 3.1, step 1).
    pub fn time_out(
        &mut self,
        now: Time,
        (una, next): (u32, u32),
        undo: Option<Undo>,
        past: &mut Past,
        rules: HostRules,
    ) -> Window {
        let (is_stuck, is_before) = (past.timed_out == Some(una), self.is_before_recovery());
        let is_reduced = rules.linux && (is_stuck || !self.is_loss()) && self.point().is_some_and(|point| point > una);
        let frto = if rules.has(HostRule::FRto) && (is_before || is_stuck) { FRto::Waits } else { FRto::Off };
        let undo = if is_reduced { self.undo().map(|_| Undo::ByOriginal) } else { undo };
        *self = Self::Loss { point: next, undo, frto };
        past.timed_out = Some(una);
        past.restores |= !is_reduced;
        if is_before || !rules.linux {
            past.first_resent = now;
        }
        if is_reduced { Window::AlreadyReduced } else { Window::Reduced }
    }
}

/// Effect of a timeout on the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    Reduced,
    AlreadyReduced,
}

impl Default for Past {
    fn default() -> Self {
        Self { restores: false, first_resent: Time::NEVER, timed_out: None }
    }
}
