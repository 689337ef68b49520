//! Short paths of ACKs.

/// Short path of a sender's ACKs, chosen when it begins to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortcut {
    None,
    /// That of a stack with none of Linux's rules.
    Plain,
    /// That of a stack with all rules of Linux that concern such an ACK, and without pacing.
    Linux,
}
