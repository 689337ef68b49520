//! Files over the loopback interface.

use std::path::PathBuf;

use quic_transfer::{Control, Receiver, Sender, parameter};

fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    folder.join(name)
}

fn receiver(into: Option<PathBuf>) -> Sender {
    let listening =
        Receiver::listen(([127, 0, 0, 1], 0).into(), Control::new("quinn:cubic"), into).expect("it listens");
    let to = listening.address().expect("it has one");
    let certificate = listening.certificate().to_vec();
    tokio::spawn(listening.serve());
    Sender { to, certificate, control: Control::new("hcc"), against: false }
}

#[tokio::test]
async fn a_file_arrives_whole_and_hcc_learns_forward_delays() {
    let (from, into) = (scratch("sent"), scratch("received"));
    let text: Vec<u8> = (0..3_000_000_u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    std::fs::write(&from, &text).expect("it is written");
    let report = receiver(Some(into.clone())).send(&from).await.expect("it is sent");
    assert_eq!(report.bytes, 3_000_000);
    assert!(report.forward_queueing_ms >= 0.0, "{report}");
    assert!(std::fs::read(into).expect("it is there") == text, "the file has changed on its way");
}

#[tokio::test]
async fn quinns_own_cubic_sends_while_the_reverse_path_is_used() {
    let from = scratch("both");
    std::fs::write(&from, vec![1; 1_000_000]).expect("it is written");
    let sender = Sender { control: Control::new("quinn:cubic"), against: true, ..receiver(None) };
    let report = sender.send(&from).await.expect("it is sent");
    assert!(report.zeros > 0 && report.to_string().contains("reverse path"), "{report}");
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_in_a_sentence() {
    let sender = receiver(None);
    let missing = sender.send(&scratch("missing")).await.expect_err("there is none").to_string();
    assert!(missing.contains("missing: No such file"), "{missing}");
    let from = scratch("small");
    std::fs::write(&from, "text").expect("it is written");
    for (name, reason) in [("bbr", "pacing rate"), ("quinn:reno", "quinn has no 'reno'"), ("hc", "hcc")] {
        let error = Sender { control: Control::new(name), ..sender.clone() }.send(&from).await.expect_err("refused");
        assert!(error.to_string().contains(reason), "{error}");
    }
    for (text, reason) in [("alpha=-1", "alpha"), ("alfa=50", "not a parameter of hcc")] {
        let parameters = vec![parameter(text).expect("it has both")];
        let error = Control { parameters, ..Control::new("hcc") }.check().expect_err("refused").to_string();
        assert!(error.contains(reason), "{error}");
    }
    assert!(parameter("alpha").is_err());
}
