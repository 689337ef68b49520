//! Units of parameters.

/// Unit of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A ratio, a switch or a word.
    None,
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
    /// Per second.
    PerSecond,
    /// Round trips.
    RoundTrips,
    /// Segments.
    Segments,
    /// Per segment.
    PerSegment,
    /// Segments per second.
    SegmentsPerSecond,
    /// Growth of a cubic function.
    SegmentsPerSecondCubed,
    /// Packets.
    Packets,
    /// Packets per second.
    PacketsPerSecond,
    /// Packets or bytes, by the user's choice.
    PacketsOrBytes,
    /// Unit of UDT's β: packets × bytes for each bit/s of available bandwidth.
    PacketByteSecondsPerBit,
    /// Bytes.
    Bytes,
    /// Bits per second.
    BitsPerSecond,
    /// Megabits per second.
    MegabitsPerSecond,
    /// Packet pairs.
    Pairs,
    /// Samples.
    Samples,
    /// Updates of the window.
    Updates,
    /// Decisions to grow or to shrink.
    Decisions,
    /// Congestion windows.
    Windows,
    /// 128ths, as in a kernel.
    Of128,
    /// 256ths.
    Of256,
    /// 1024ths.
    Of1024,
}

impl Unit {
    /// Name of the unit in lists and messages; empty for a ratio, a switch or a word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Seconds => "s",
            Self::Minutes => "min",
            Self::PerSecond => "1/s",
            Self::RoundTrips => "round trips",
            Self::Segments => "segments",
            Self::PerSegment => "1/segments",
            Self::SegmentsPerSecond => "segments/s",
            Self::SegmentsPerSecondCubed => "segments/s^3",
            Self::Packets => "packets",
            Self::PacketsPerSecond => "packets/s",
            Self::PacketsOrBytes => "packets or bytes",
            Self::PacketByteSecondsPerBit => "packets B s/bit",
            Self::Bytes => "bytes",
            Self::BitsPerSecond => "bit/s",
            Self::MegabitsPerSecond => "Mbit/s",
            Self::Pairs => "pairs",
            Self::Samples => "samples",
            Self::Updates => "updates",
            Self::Decisions => "decisions",
            Self::Windows => "windows",
            Self::Of128 => "1/128",
            Self::Of256 => "1/256",
            Self::Of1024 => "1/1024",
        }
    }
}
