//! A QUIC server that sends as many bytes as its client asks for, and the client, with s2n-quic.
//!
//! A client writes the number of bytes as eight bytes into a stream, and the server answers with so many zeros.

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic};
use s2n_quic::{Client, Connection, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

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
        _ => Err("write: s2n-quic-transfer serve ADDRESS:PORT, or: … fetch ADDRESS:PORT BYTES CERTIFICATE".into()),
    }
}

/// Serve all clients. The certificate is made at the start, in the working directory.
async fn serve(address: SocketAddr) -> Outcome {
    let made = rcgen::generate_simple_self_signed(["transfer".to_string()])?;
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    std::fs::write("certificate.pem", &certificate)?;
    let builder = Server::builder().with_tls((certificate.as_str(), key.as_str()))?.with_io(address)?;
    let mut server = match std::env::var("CC").as_deref().unwrap_or("cubic") {
        "cubic" => builder.with_congestion_controller(Cubic::default())?.start()?,
        "bbr" => builder.with_congestion_controller(Bbr::default())?.start()?,
        other => return Err(format!("CC is '{other}', neither cubic nor bbr").into()),
    };
    while let Some(connection) = server.accept().await {
        tokio::spawn(async move {
            if let Err(error) = answer(connection).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

async fn answer(mut connection: Connection) -> Outcome {
    while let Some(mut stream) = connection.accept_bidirectional_stream().await? {
        let mut left = stream.read_u64().await? as usize;
        while left > 0 {
            let chunk = left.min(ZEROS.len());
            stream.write_all(&ZEROS[..chunk]).await?;
            left -= chunk;
        }
        stream.close().await?;
    }
    Ok(())
}

async fn fetch(to: SocketAddr, bytes: u64, certificate: &str) -> Outcome {
    let client = Client::builder().with_tls(Path::new(certificate))?.with_io("0.0.0.0:0")?.start()?;
    let mut connection = client.connect(Connect::new(to).with_server_name("transfer")).await?;
    let mut stream = connection.open_bidirectional_stream().await?;
    stream.write_u64(bytes).await?;
    let (mut got, mut buffer) = (0, vec![0; 65536]);
    loop {
        match stream.read(&mut buffer).await? {
            0 => break,
            length => got += length as u64,
        }
    }
    connection.close(0_u32.into());
    tokio::time::sleep(FAREWELL).await;
    if got != bytes {
        return Err(format!("got {got} of {bytes} bytes").into());
    }
    println!("got {got} bytes");
    Ok(())
}
