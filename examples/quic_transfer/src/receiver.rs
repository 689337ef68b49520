//! The receiving end. It receives files, and sends zeros on request.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use elephan_quinn::socket::StampedSocket;
use quinn::{Endpoint, Incoming, RecvStream, SendStream, ServerConfig};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::io::AsyncWriteExt;

use crate::{Control, FILE, Failure, PIECE, ZEROS, end};

/// A server that receives files.
pub struct Receiver {
    endpoint: Endpoint,
    socket: Arc<StampedSocket>,
    server: ServerConfig,
    control: Control,
    into: Option<PathBuf>,
    certificate: CertificateDer<'static>,
}

impl Receiver {
    /// Listens, with a new certificate. Received data are written to `into`, or discarded. `control` is the congestion
    /// control of the receiver's own packets.
    ///
    /// # Errors
    /// Fails if the address is in use, or if the algorithm is unknown or not supported here.
    pub fn listen(address: SocketAddr, control: Control, into: Option<PathBuf>) -> Result<Self, Failure> {
        control.check()?;
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        let certificate = made.cert.der().clone();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let mut server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
        server.migration(false); // a socket knows forward delays by the peer's address
        let (endpoint, socket) = end::endpoint(address, Some(server.clone()))?;
        Ok(Self { endpoint, socket, server, control, into, certificate })
    }

    /// The certificate that senders have to trust, in DER.
    #[must_use]
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Address at which the receiver listens.
    ///
    /// # Errors
    /// The operating system does not report the address.
    pub fn address(&self) -> Result<SocketAddr, Failure> {
        Ok(self.endpoint.local_addr()?)
    }

    /// Serves connections until the process ends.
    pub async fn serve(self) {
        while let Some(incoming) = self.endpoint.accept().await {
            let peer = incoming.remote_address();
            match self.accept(incoming) {
                Ok(connecting) => {
                    let into = self.into.clone();
                    tokio::spawn(async move {
                        if let Err(error) = connection(connecting, into).await {
                            eprintln!("{peer}: {error}");
                        }
                    });
                }
                Err(error) => eprintln!("{peer}: {error}"),
            }
        }
    }

    fn accept(&self, incoming: Incoming) -> Result<quinn::Connecting, Failure> {
        let forward_delay = self.socket.forward_delay(incoming.remote_address());
        let mut server = self.server.clone();
        server.transport_config(end::transport(&self.control, forward_delay)?);
        Ok(incoming.accept_with(Arc::new(server))?)
    }
}

async fn connection(connecting: quinn::Connecting, into: Option<PathBuf>) -> Result<(), Failure> {
    let connection = connecting.await?;
    while let Ok((send, mut recv)) = connection.accept_bi().await {
        let mut kind = [0];
        recv.read_exact(&mut kind).await?;
        match kind[0] {
            FILE => file(send, recv, into.as_ref()).await?,
            ZEROS => zeros(send).await,
            other => return Err(format!("a stream begins with {other}, which is no request").into()),
        }
    }
    Ok(())
}

/// Receives a file, and answers with its size.
async fn file(mut send: SendStream, mut recv: RecvStream, into: Option<&PathBuf>) -> Result<(), Failure> {
    let mut output = match into {
        Some(path) => {
            Some(tokio::fs::File::create(path).await.map_err(|error| format!("{}: {error}", path.display()))?)
        }
        None => None,
    };
    let mut total = 0_u64;
    while let Some(chunk) = recv.read_chunk(PIECE, true).await? {
        total += chunk.bytes.len() as u64;
        if let Some(output) = &mut output {
            output.write_all(&chunk.bytes).await?;
        }
    }
    if let Some(output) = &mut output {
        output.flush().await?;
    }
    send.write_all(&total.to_le_bytes()).await?;
    send.finish()?;
    Ok(())
}

/// Sends zeros until the peer closes the connection.
async fn zeros(mut send: SendStream) {
    while send.write_all(&[0; PIECE]).await.is_ok() {}
}
