//! Sends a file over QUIC with one of Elephan's congestion control algorithms, or one of quinn's own.
//!
//! ```text
//! quic-transfer receive &
//! quic-transfer send large.file --algorithm hcc
//! ```

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use elephan_quinn::Value;
use quic_transfer::{Control, Failure, Receiver, Sender, parameter};

/// A file over QUIC, with one of Elephan's congestion control algorithms or one of quinn's.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Receives files until it is stopped.
    Receive {
        /// Address at which to listen; only reachable from this host by default.
        #[arg(long, default_value = "127.0.0.1:4433")]
        listen: SocketAddr,
        /// File for the received data, which are discarded by default.
        #[arg(long)]
        into: Option<PathBuf>,
        /// Congestion control of the zeros that a sender requests with --against.
        #[arg(long, default_value = "quinn:cubic")]
        algorithm: String,
        /// File for this receiver's certificate, which senders need.
        #[arg(long, default_value = "quic-transfer.der")]
        certificate: PathBuf,
    },
    /// Sends a file.
    Send {
        /// The file.
        file: PathBuf,
        /// Address of the receiver.
        #[arg(long, default_value = "127.0.0.1:4433")]
        to: SocketAddr,
        /// Congestion control: one of Elephan's, such as hcc, or quinn:cubic, quinn:newreno or quinn:bbr.
        #[arg(long, default_value = "hcc")]
        algorithm: String,
        /// Parameter of one of Elephan's algorithms; may be repeated.
        #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parameter)]
        parameters: Vec<(String, Value)>,
        /// Requests zeros from the receiver on another connection, from 3 s before the file, so that the reverse path has a queue.
        #[arg(long)]
        against: bool,
        /// The receiver's certificate.
        #[arg(long, default_value = "quic-transfer.der")]
        certificate: PathBuf,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse().verb).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quic-transfer: {error}");
            ExitCode::from(2)
        }
    }
}

async fn run(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Receive { listen, into, algorithm, certificate } => {
            let receiver = Receiver::listen(listen, Control::new(&algorithm), into)?;
            let named = |error| format!("{}: {error}", certificate.display());
            std::fs::write(&certificate, receiver.certificate()).map_err(named)?;
            println!("listening at {}", receiver.address()?);
            receiver.serve().await;
        }
        Verb::Send { file, to, algorithm, parameters, against, certificate } => {
            let read = std::fs::read(&certificate);
            let certificate = read.map_err(|error| format!("{}: {error}", certificate.display()))?;
            let control = Control { algorithm, parameters };
            println!("{}", Sender { to, certificate, control, against }.send(&file).await?);
        }
    }
    Ok(())
}
