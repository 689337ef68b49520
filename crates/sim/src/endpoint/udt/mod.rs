//! The two ends of a UDT flow, over datagrams: Y. Gu, draft-gg-udt-03 (2010) section 6, and the UDT library, version 4. What
//! [`elephan_cc::udt`] decides (how far apart packets are sent, and how many may be unacknowledged) they carry out.
//!
//! The receiver acknowledges every SYN, and by number alone every 64 packets in between; it reports a gap at once; ACK2s
//! tell it the round-trip time. The sender repeats what is reported lost before it sends anything new, and everything
//! unacknowledged when it hears nothing for too long. Control packets cross the links like others.
//!
//! Left out: the handshake (a TCP flow has none here either), shutdown and keep-alive, messages, and giving up after sixteen
//! expirations. The receiver's buffer never fills, since its application reads at once. The library lets a packet leave at
//! once, whatever the period, when a NAK comes; here, as in the draft, it does not.

mod kinds;
mod losses;
mod mail;
mod receiver;
mod sender;

use std::sync::Arc;

use elephan_cc::udt::Udt as Control;

use self::mail::Mail;
use self::receiver::UdtReceiver;
use self::sender::UdtSender;
use super::{Receiver, Sender};
use crate::network::{Count, Network};
use crate::spec::{FlowSpec, Spec};
use crate::time::Time;

/// A UDT flow.
#[derive(Debug)]
pub struct Udt {
    sender: UdtSender,
    receiver: UdtReceiver,
    mail: Mail,
}

impl Udt {
    /// The flow number `flow` of a spec, which starts at `start`.
    #[must_use]
    pub fn new(
        flow: u32,
        spec: &Spec,
        this: &FlowSpec,
        start: Time,
        control: Control,
        sample_times: &Arc<[Time]>,
    ) -> Self {
        let loose =
            this.reverse_path.iter().any(|&l| spec.links[l].impairments.as_ref().is_some_and(|i| i.disorders()));
        let receiver = UdtReceiver::new(flow, spec, this, *control.parameters(), sample_times);
        let sender = UdtSender::new(flow, spec, this, start, control, sample_times);
        Self { sender, receiver, mail: Mail::new(loose) }
    }

    /// The sender's turn: everything before `horizon`. Answers whether there was anything.
    pub fn run_sender(&mut self, horizon: Time, network: &mut Network) -> bool {
        self.sender.run(horizon, &mut self.mail, network)
    }

    /// The receiver's turn.
    pub fn run_receiver(&mut self, horizon: Time, network: &mut Network) -> bool {
        self.receiver.run(horizon, &mut self.mail, network)
    }

    /// When the sender next has something to do by itself.
    #[must_use]
    pub fn sender_timer(&self) -> Time {
        self.sender.timer()
    }

    /// The same of the receiver.
    #[must_use]
    pub fn receiver_timer(&self) -> Time {
        self.receiver.timer()
    }

    /// Ends the run, and writes everything that the tables want into the rows of a TCP flow's two ends.
    pub fn finish(&mut self, end: Time, sender: &mut Sender, receiver: &mut Receiver) {
        self.sender.finish(end);
        self.receiver.finish(end);
        self.sender.write_into(sender);
        self.receiver.write_into(receiver, sender);
    }

    /// The sending rate 1/P at each sample time, packets/s.
    #[must_use]
    pub fn rates(&self) -> &[f64] {
        self.sender.rates()
    }

    /// Adds the ACK2s to the count of what goes the data's way.
    pub fn count_ack2s(&self, data: &mut Count) {
        data.sent += self.sender.ack2s();
        data.received += self.receiver.ack2s();
    }
}
