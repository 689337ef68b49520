//! A QUIC server that sends as many bytes as its client asks for, and the client, with quinn.
//!
//! A client writes the number of bytes as eight bytes into a stream, and the server answers with so many zeros.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::{ClientConfig, Endpoint, Incoming, ServerConfig, TransportConfig};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::RootCertStore;

static ZEROS: [u8; 65536] = [0; 65536];
/// Time for the client's last packet, which closes the connection.
const FAREWELL: Duration = Duration::from_millis(1);

type Outcome = Result<(), Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address] => serve(address.parse()?).await,
        ["fetch", address, bytes, certificate] => fetch(address.parse()?, bytes.parse()?, certificate).await,
        _ => Err("write: quinn-transfer serve ADDRESS:PORT, or: quinn-transfer fetch ADDRESS:PORT BYTES CERTIFICATE".into()),
    }
}

/// Serve all clients. The certificate is made at the start, in the working directory.
async fn serve(address: SocketAddr) -> Outcome {
    let made = rcgen::generate_simple_self_signed(["transfer".to_string()])?;
    std::fs::write("certificate.der", made.cert.der())?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())?;
    let mut transport = TransportConfig::default();
    match std::env::var("CC").as_deref().unwrap_or("cubic") {
        "cubic" => transport.congestion_controller_factory(Arc::new(CubicConfig::default())),
        "newreno" => transport.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
        "bbr" => transport.congestion_controller_factory(Arc::new(BbrConfig::default())),
        other => return Err(format!("CC is '{other}', not cubic, newreno or bbr").into()),
    };
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::server(config, address)?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            if let Err(error) = answer(incoming).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

async fn answer(incoming: Incoming) -> Outcome {
    let connection = incoming.await?;
    let (mut send, mut receive) = connection.accept_bi().await?;
    let mut asked = [0; 8];
    receive.read_exact(&mut asked).await?;
    let mut left = u64::from_be_bytes(asked) as usize;
    while left > 0 {
        let chunk = left.min(ZEROS.len());
        send.write_all(&ZEROS[..chunk]).await?;
        left -= chunk;
    }
    send.finish()?;
    connection.closed().await;
    Ok(())
}

async fn fetch(to: SocketAddr, bytes: u64, certificate: &str) -> Outcome {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(std::fs::read(certificate)?))?;
    let mut endpoint = Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
    endpoint.set_default_client_config(ClientConfig::with_root_certificates(Arc::new(roots))?);
    let connection = endpoint.connect(to, "transfer")?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(&bytes.to_be_bytes()).await?;
    send.finish()?;
    let (mut got, mut buffer) = (0, vec![0; 65536]);
    while let Some(length) = receive.read(&mut buffer).await? {
        got += length as u64;
    }
    connection.close(0_u32.into(), b"");
    tokio::time::sleep(FAREWELL).await;
    if got != bytes {
        return Err(format!("got {got} of {bytes} bytes").into());
    }
    println!("got {got} bytes");
    Ok(())
}
