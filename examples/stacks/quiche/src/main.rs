//! A QUIC server that sends as many bytes as its client asks for, and the client, with quiche and a blocking socket.
//!
//! A client writes the number of bytes as eight bytes into stream 0, and the server answers with so many zeros.

use std::error::Error;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use quiche::{Config, Connection, ConnectionId, Header, RecvInfo, Type};

const STREAM: u64 = 0;
const DATAGRAM_BYTES: usize = 1350;
const WINDOW_BYTES: u64 = 16 << 20;
const IDLE_MS: u64 = 30_000;
/// Time in which a client's host gathers datagrams, as hosts do whose network cards and processors need some time: the
/// acknowledgement of both packets of a window of two is one packet then.
const GATHERED: Duration = Duration::from_millis(1);
const ZEROS: [u8; 65536] = [0; 65536];

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address] => serve(address.parse()?),
        ["fetch", address, bytes] => fetch(address.parse()?, bytes.parse()?),
        _ => Err("write: quiche-transfer serve ADDRESS:PORT, or: quiche-transfer fetch ADDRESS:PORT BYTES".into()),
    }
}

fn config() -> Result<Config, Box<dyn Error>> {
    let mut config = Config::new(quiche::PROTOCOL_VERSION)?;
    config.set_application_protos(&[b"transfer"])?;
    config.verify_peer(false);
    config.set_cc_algorithm_name(&std::env::var("CC").unwrap_or("cubic".into()))?;
    config.set_max_idle_timeout(IDLE_MS);
    config.set_max_recv_udp_payload_size(DATAGRAM_BYTES);
    config.set_max_send_udp_payload_size(DATAGRAM_BYTES);
    config.set_initial_max_data(WINDOW_BYTES);
    config.set_initial_max_stream_data_bidi_local(WINDOW_BYTES);
    config.set_initial_max_stream_data_bidi_remote(WINDOW_BYTES);
    config.set_initial_max_streams_bidi(1);
    Ok(config)
}

/// Serve one client after the other. The certificate is made at the start, in the working directory.
fn serve(address: SocketAddr) -> Outcome {
    let made = rcgen::generate_simple_self_signed(["transfer".to_string()])?;
    std::fs::write("certificate.pem", made.cert.pem())?;
    std::fs::write("key.pem", made.key_pair.serialize_pem())?;
    let mut config = config()?;
    config.load_cert_chain_from_pem_file("certificate.pem")?;
    config.load_priv_key_from_pem_file("key.pem")?;
    let socket = UdpSocket::bind(address)?;
    let mut datagram = [0; 65536];
    loop {
        socket.set_read_timeout(None)?;
        let (length, from) = socket.recv_from(&mut datagram)?;
        match Header::from_slice(&mut datagram[..length], quiche::MAX_CONN_ID_LEN) {
            Ok(header) if header.ty == Type::Initial => {}
            _ => continue, // the end of an earlier connection
        }
        let mut id = [0; quiche::MAX_CONN_ID_LEN];
        random(&mut id)?;
        let mut connection = quiche::accept(&ConnectionId::from_ref(&id), None, address, from, &mut config)?;
        connection.recv(&mut datagram[..length], RecvInfo { from, to: address })?;
        let (mut asked, mut wanted, mut sent) = (Vec::new(), None, 0);
        let ended = drive(&socket, &mut connection, Duration::ZERO, |connection| {
            let mut read = [0; 8];
            while let Ok((length, _)) = connection.stream_recv(STREAM, &mut read) {
                asked.extend_from_slice(&read[..length]);
                wanted = <[u8; 8]>::try_from(&asked[..]).ok().map(u64::from_be_bytes);
            }
            while let Some(left) = wanted.map(|all| (all - sent) as usize).filter(|left| *left > 0) {
                let chunk = left.min(ZEROS.len());
                match connection.stream_send(STREAM, &ZEROS[..chunk], chunk == left) {
                    Ok(0) | Err(quiche::Error::Done) => break,
                    Ok(length) => sent += length as u64,
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        });
        if let Err(error) = ended {
            eprintln!("{error}");
        }
    }
}

fn fetch(to: SocketAddr, bytes: u64) -> Outcome {
    let socket = UdpSocket::bind(("0.0.0.0", 0))?;
    socket.connect(to)?; // finds the local address
    let local = socket.local_addr()?;
    let socket = {
        drop(socket);
        UdpSocket::bind(local)?
    };
    let mut id = [0; quiche::MAX_CONN_ID_LEN];
    random(&mut id)?;
    let mut connection = quiche::connect(None, &ConnectionId::from_ref(&id), local, to, &mut config()?)?;
    let (mut is_asked, mut got, mut buffer) = (false, 0, [0; 65536]);
    drive(&socket, &mut connection, GATHERED, |connection| {
        if connection.is_established() && !is_asked {
            connection.stream_send(STREAM, &bytes.to_be_bytes(), true)?;
            is_asked = true;
        }
        while let Ok((length, is_last)) = connection.stream_recv(STREAM, &mut buffer) {
            got += length as u64;
            if is_last {
                connection.close(true, 0, b"")?;
            }
        }
        Ok(())
    })?;
    if got != bytes {
        return Err(format!("got {got} of {bytes} bytes").into());
    }
    println!("got {got} bytes");
    Ok(())
}

/// Move datagrams until the connection is closed; `step` uses the streams. Datagrams that arrive within `gathered` of
/// each other are read before an answer.
fn drive(
    socket: &UdpSocket,
    connection: &mut Connection,
    gathered: Duration,
    mut step: impl FnMut(&mut Connection) -> Outcome,
) -> Outcome {
    let (mut out, mut datagram, to) = ([0; DATAGRAM_BYTES], [0; 65536], socket.local_addr()?);
    loop {
        step(connection)?;
        loop {
            match connection.send(&mut out) {
                Ok((length, info)) => socket.send_to(&out[..length], info.to)?,
                Err(quiche::Error::Done) => break,
                Err(error) => return Err(error.into()),
            };
        }
        if connection.is_closed() || connection.is_draining() {
            return Ok(());
        }
        let timeout = connection.timeout();
        if timeout.is_some_and(|left| left.is_zero()) {
            connection.on_timeout();
            continue;
        }
        socket.set_read_timeout(timeout)?;
        match socket.recv_from(&mut datagram) {
            // A datagram that is none of this connection changes nothing.
            Ok((length, from)) => drop(connection.recv(&mut datagram[..length], RecvInfo { from, to })),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                connection.on_timeout();
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        if !gathered.is_zero() {
            std::thread::sleep(gathered);
            socket.set_nonblocking(true)?;
            while let Ok((length, from)) = socket.recv_from(&mut datagram) {
                drop(connection.recv(&mut datagram[..length], RecvInfo { from, to }));
            }
            socket.set_nonblocking(false)?;
        }
    }
}

fn random(id: &mut [u8]) -> Outcome {
    use std::io::Read;
    Ok(std::fs::File::open("/dev/urandom")?.read_exact(id)?)
}
