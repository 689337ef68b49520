//! The sending end. It sends a file, and reports measurements of the connection.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use elephan_quinn::stamp::ForwardDelay;
use quinn::{ClientConfig, Connection, Endpoint};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use tokio::io::AsyncReadExt;

use crate::{Control, FILE, Failure, PIECE, ZEROS, end};

/// Sampling interval of the delays while a file is sent.
const SAMPLE_EVERY: Duration = Duration::from_millis(10);

/// A client that sends files.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The receiver.
    pub to: SocketAddr,
    /// The receiver's certificate, in DER; the sender trusts no other.
    pub certificate: Vec<u8>,
    /// Congestion control of the file's connection.
    pub control: Control,
    /// True if the receiver sends zeros during the transfer, on another connection with the receiver's algorithm, to
    /// fill the queue of the reverse path.
    pub against: bool,
}

/// Counts and times of the connection of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Bytes of the file.
    pub bytes: u64,
    /// Time from the first byte to the receiver's answer, s.
    pub seconds: f64,
    /// Packets that quinn declared lost.
    pub lost: u64,
    /// Mean of the smoothed RTT, ms, read every 10 ms.
    pub rtt_ms: f64,
    /// Mean of the forward delay minus its smallest value, ms, read every 10 ms. There are no values before the
    /// receiver's first report.
    pub forward_queueing_ms: f64,
    /// Zeros received during the transfer, bytes.
    pub zeros: u64,
}

impl Report {
    /// Goodput of the file, Mbit/s.
    #[must_use]
    pub fn goodput_mbps(&self) -> f64 {
        mbps(self.bytes, self.seconds)
    }
}

fn mbps(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 * 8.0 / seconds / 1e6
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, seconds) = (self.bytes as f64 / 1e6, self.seconds);
        write!(f, "{bytes:.1} MB in {seconds:.2} s: {:.2} Mbit/s, {} packets lost", self.goodput_mbps(), self.lost)?;
        write!(f, ", mean RTT {:.1} ms, forward queueing delay {:.1} ms", self.rtt_ms, self.forward_queueing_ms)?;
        match self.zeros {
            0 => Ok(()),
            zeros => write!(f, "; reverse path {:.2} Mbit/s", mbps(zeros, seconds)),
        }
    }
}

/// Delays sampled while a file was sent.
#[derive(Debug, Default)]
struct Samples {
    rtt_s: f64,
    count: f64,
    delays_ps: Vec<i64>,
}

impl Samples {
    fn take(&mut self, connection: &Connection, forward_delay: &ForwardDelay) {
        self.rtt_s += connection.rtt().as_secs_f64();
        self.count += 1.0;
        self.delays_ps.extend(forward_delay.latest_ps());
    }

    fn queueing_ms(&self) -> f64 {
        let Some(&least) = self.delays_ps.iter().min() else { return f64::NAN };
        let above: f64 = self.delays_ps.iter().map(|&delay| (delay - least) as f64).sum();
        above / self.delays_ps.len() as f64 / 1e9
    }
}

impl Sender {
    /// Sends the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, the algorithm is unknown or not supported, or the connection fails.
    pub async fn send(&self, path: &Path) -> Result<Report, Failure> {
        self.control.check()?;
        let named = |error| format!("{}: {error}", path.display());
        let file = tokio::fs::File::open(path).await.map_err(named)?;
        let reverse = if self.against { Some(self.reverse().await?) } else { None };
        let (endpoint, connection, forward_delay) = self.connect(&self.control).await?;
        let zeros_before = reverse.as_ref().map_or(0, received);
        let started = Instant::now();
        let transfer = tokio::spawn(transfer(connection.clone(), file, path.to_owned()));
        let mut samples = Samples::default();
        while !transfer.is_finished() {
            samples.take(&connection, &forward_delay);
            tokio::time::sleep(SAMPLE_EVERY).await;
        }
        let (bytes, ended) = transfer.await??;
        let report = Report {
            bytes,
            seconds: ended.duration_since(started).as_secs_f64(),
            lost: connection.stats().path.lost_packets,
            rtt_ms: samples.rtt_s / samples.count * 1e3,
            forward_queueing_ms: samples.queueing_ms(),
            zeros: reverse.as_ref().map_or(0, received) - zeros_before,
        };
        connection.close(0_u32.into(), b"done");
        endpoint.wait_idle().await;
        Ok(report)
    }

    /// Requests zeros from the receiver, and waits until they have filled the reverse path.
    async fn reverse(&self) -> Result<Reverse, Failure> {
        let (endpoint, connection, _) = self.connect(&Control::new("quinn:cubic")).await?;
        let (mut send, mut recv) = connection.open_bi().await?;
        send.write_all(&[ZEROS]).await?;
        send.finish()?;
        let zeros = Arc::new(AtomicU64::new(0));
        let counted = zeros.clone();
        tokio::spawn(async move {
            while let Ok(Some(chunk)) = recv.read_chunk(PIECE, true).await {
                counted.fetch_add(chunk.bytes.len() as u64, Ordering::Relaxed);
            }
        });
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok(Reverse { _endpoint: endpoint, _connection: connection, zeros })
    }

    async fn connect(&self, control: &Control) -> Result<(Endpoint, Connection, ForwardDelay), Failure> {
        let own = match self.to {
            to if to.ip().is_loopback() => SocketAddr::new(to.ip(), 0),
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let (endpoint, socket) = end::endpoint(own, None)?;
        let forward_delay = socket.forward_delay(self.to);
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(self.certificate.clone()))?;
        let mut client = ClientConfig::with_root_certificates(Arc::new(roots))?;
        client.transport_config(end::transport(control, forward_delay.clone())?);
        let connection = endpoint.connect_with(client, self.to, "localhost")?.await?;
        Ok((endpoint, connection, forward_delay))
    }
}

/// Traffic on the reverse path; it ends when this object is dropped.
struct Reverse {
    _endpoint: Endpoint,
    _connection: Connection,
    zeros: Arc<AtomicU64>,
}

fn received(reverse: &Reverse) -> u64 {
    reverse.zeros.load(Ordering::Relaxed)
}

/// Sends a file, and waits for the receiver's answer. Returns the number of bytes, and the time of the answer.
async fn transfer(connection: Connection, mut file: tokio::fs::File, path: PathBuf) -> Result<(u64, Instant), Failure> {
    let (mut send, mut recv) = connection.open_bi().await?;
    send.write_all(&[FILE]).await?;
    let mut piece = vec![0; PIECE];
    let mut bytes = 0;
    loop {
        let count = file.read(&mut piece).await.map_err(|error| format!("{}: {error}", path.display()))?;
        if count == 0 {
            break;
        }
        send.write_all(&piece[..count]).await?;
        bytes += count as u64;
    }
    send.finish()?;
    let mut answer = [0; 8];
    recv.read_exact(&mut answer).await?;
    match u64::from_le_bytes(answer) {
        received if received == bytes => Ok((bytes, Instant::now())),
        received => Err(format!("{bytes} bytes were sent, and the receiver has {received}").into()),
    }
}
