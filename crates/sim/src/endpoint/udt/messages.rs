//! Messages of a receiver to its sender: the payloads of ACKs and NAKs.

/// Message of an ACK or a NAK. The message is stored in the flow's sidecar; the packet itself has only a packet number.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Message {
    /// An ACK.
    Ack {
        /// Number of the ACK, which its ACK2 repeats.
        number: u32,
        /// The receiver's RTT, s. Real packets also carry the RTT's variation, which no sender reads.
        rtt: f64,
        /// Arrival rate, packets/s; 0 if unknown.
        arrival_rate: f64,
        /// Capacity of the path, packets/s; 0 if unknown.
        capacity: f64,
    },
    /// A NAK: runs `[first, past)` that are missing.
    Gaps(Vec<(u32, u32)>),
}

const ACK: u8 = 0;
const NAK: u8 = 1;

impl Message {
    /// The message as a payload.
    pub(super) fn to_bytes(&self) -> Box<[u8]> {
        let mut bytes = Vec::new();
        match self {
            Self::Ack { number, rtt, arrival_rate, capacity } => {
                bytes.push(ACK);
                bytes.extend(number.to_le_bytes());
                [rtt, arrival_rate, capacity].into_iter().for_each(|value| bytes.extend(value.to_le_bytes()));
            }
            Self::Gaps(gaps) => {
                bytes.push(NAK);
                gaps.iter()
                    .for_each(|(first, past)| bytes.extend([*first, *past].map(u32::to_le_bytes).as_flattened()));
            }
        }
        bytes.into()
    }

    /// Reads a payload; `None` if the payload is not a message.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&kind, rest) = bytes.split_first()?;
        match kind {
            ACK => {
                let (number, rest) = rest.split_first_chunk::<4>()?;
                let values = values(rest, f64::from_le_bytes)?;
                let &[rtt, arrival_rate, capacity] = &*values else { return None };
                Some(Self::Ack { number: u32::from_le_bytes(*number), rtt, arrival_rate, capacity })
            }
            NAK => {
                let words = values(rest, u32::from_le_bytes)?;
                let gaps = words.chunks_exact(2);
                gaps.remainder().is_empty().then(|| Self::Gaps(gaps.map(|gap| (gap[0], gap[1])).collect()))
            }
            _ => None,
        }
    }
}

/// Reads values of `N` bytes each; `None` if bytes remain.
fn values<T, const N: usize>(bytes: &[u8], read: fn([u8; N]) -> T) -> Option<Vec<T>> {
    let chunks = bytes.chunks_exact(N);
    let whole = chunks.remainder().is_empty();
    whole.then(|| chunks.filter_map(|chunk| chunk.try_into().ok().map(read)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were() {
        let ack = Message::Ack { number: u32::MAX, rtt: 0.1, arrival_rate: 1e6 / 3.0, capacity: 0.0 };
        for message in [ack, Message::Gaps(vec![(1, 2)]), Message::Gaps(vec![(7, 9), (u32::MAX - 1, u32::MAX)])] {
            let bytes = message.to_bytes();
            assert_eq!(Message::from_bytes(&bytes), Some(message));
            assert_eq!(Message::from_bytes(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(Message::from_bytes(&[]), None);
        assert_eq!(Message::from_bytes(&[2, 0]), None);
    }
}
