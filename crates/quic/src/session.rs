//! A cryptographic session without encryption. The session's handshake takes one round trip, and tags are 16 zero
//! bytes, so packets have the same sizes as with TLS 1.3 and AES-GCM. The session draws no random numbers, so a run
//! depends on its seed alone.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair,
    Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};

/// Bytes that authenticated encryption adds to a packet.
const TAG_BYTES: usize = 16;
/// Bytes of a packet that header protection samples (RFC 9001 §5.4.2).
const SAMPLE_BYTES: usize = 16;

/// Configuration and keys of sessions that encrypt nothing.
pub struct Null;

fn pair<T: ?Sized>(make: impl Fn() -> Box<T>) -> KeyPair<Box<T>> {
    KeyPair { local: make(), remote: make() }
}

fn keys() -> Keys {
    Keys {
        header: pair(|| Box::new(Null) as Box<dyn HeaderKey>),
        packet: pair(|| Box::new(Null) as Box<dyn PacketKey>),
    }
}

impl PacketKey for Null {
    fn encrypt(&self, _packet: u64, buf: &mut [u8], _header_len: usize) {
        let text = buf.len() - TAG_BYTES;
        buf[text..].fill(0);
    }

    fn decrypt(&self, _packet: u64, _header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let text = payload.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        if payload[text..] != [0; TAG_BYTES] {
            return Err(CryptoError);
        }
        payload.truncate(text);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Null {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        SAMPLE_BYTES
    }
}

/// Fowler-Noll-Vo hash: reset tokens must differ, but need not be secret.
impl HmacKey for Null {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in data {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        for (i, out) in signature_out.iter_mut().enumerate() {
            *out = (hash.rotate_left(8 * (i as u32 % 8)) >> 7) as u8 ^ i as u8;
        }
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut own = vec![0; signature.len()];
        self.sign(data, &mut own);
        if own == signature { Ok(()) } else { Err(CryptoError) }
    }
}

impl AeadKey for Null {
    fn seal(&self, data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), CryptoError> {
        data.extend_from_slice(&[0; TAG_BYTES]);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _additional_data: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let text = data.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        Ok(&mut data[..text])
    }
}

impl HandshakeTokenKey for Null {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Null)
    }
}

impl ClientConfig for Null {
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(NullSession::new(Side::Client, params)))
    }
}

impl ServerConfig for Null {
    fn initial_keys(&self, _version: u32, _dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: &ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(NullSession::new(Side::Server, params))
    }
}

/// Position in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Client: no message sent. Server: no message received.
    Begin,
    /// Client: the hello is sent.
    Greeted,
    /// The peer's hello has arrived; the keys of the handshake are next.
    Answered,
    /// Keys of the handshake are in use.
    Keyed,
    /// Client: the server's last message of the handshake has arrived.
    Confirmed,
    /// Server: its last message of the handshake is sent.
    Finishing,
    /// The handshake is over.
    Done,
}

/// One side of a session. A message consists of its length (two bytes) and its content.
struct NullSession {
    side: Side,
    step: Step,
    own: Vec<u8>,
    peer: Option<Vec<u8>>,
    inbox: Vec<u8>,
}

impl NullSession {
    fn new(side: Side, params: &TransportParameters) -> Self {
        let mut own = Vec::new();
        params.write(&mut own);
        Self { side, step: Step::Begin, own, peer: None, inbox: Vec::new() }
    }

    /// Takes a whole message, if one has arrived.
    fn message(&mut self) -> Option<Vec<u8>> {
        let (length, rest) = self.inbox.split_first_chunk::<2>()?;
        let length = usize::from(u16::from_be_bytes(*length));
        let message = rest.get(..length)?.to_vec();
        self.inbox.drain(..2 + length);
        Some(message)
    }
}

fn put(buf: &mut Vec<u8>, message: &[u8]) {
    buf.extend_from_slice(&(message.len() as u16).to_be_bytes());
    buf.extend_from_slice(message);
}

impl Session for NullSession {
    fn initial_keys(&self, _dst_cid: &ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.step != Step::Done
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inbox.extend_from_slice(buf);
        while let Some(message) = self.message() {
            self.step = match (self.side, self.step) {
                (Side::Server, Step::Begin) | (Side::Client, Step::Greeted) => {
                    self.peer = Some(message);
                    Step::Answered
                }
                (Side::Client, Step::Keyed) => Step::Confirmed,
                (Side::Server, Step::Finishing) => Step::Done,
                (_, step) => step, // this program's peer sends no message out of order
            };
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(peer) = &self.peer else { return Ok(None) };
        TransportParameters::read(self.side, &mut &peer[..]).map(Some).map_err(Into::into)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let (next, keyed) = match (self.side, self.step) {
            (Side::Client, Step::Begin) => {
                put(buf, &self.own);
                (Step::Greeted, false)
            }
            (Side::Server, Step::Answered) => {
                put(buf, &self.own);
                (Step::Keyed, true)
            }
            (Side::Client, Step::Answered) => (Step::Keyed, true),
            (Side::Server, Step::Keyed) => {
                put(buf, b"finished");
                (Step::Finishing, true)
            }
            (Side::Client, Step::Confirmed) => {
                put(buf, b"finished");
                (Step::Done, true)
            }
            (_, step) => (step, false),
        };
        self.step = next;
        keyed.then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(pair(|| Box::new(Null) as Box<dyn PacketKey>))
    }

    fn is_valid_retry(&self, _orig_dst_cid: &ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        true
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        output.fill(0);
        Ok(())
    }
}
