//! What waits in a topic, as it is shown: in the status line, in the log and in the metrics.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::broker::Broker;
use crate::support::{Folder, Guard, TAMIS, until};
use crate::topics::{keys, start_with, write};

/// The metrics of a run, asked for as Prometheus does.
fn metric(port: u16, name: &str) -> Option<f64> {
    use std::io::{Read, Write};
    let mut peer = std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
    peer.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").ok()?;
    let mut page = String::new();
    peer.read_to_string(&mut page).ok()?;
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

/// Messages in transactions have marks behind them, which are offsets, but wait for nobody.
#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn what_waits_in_a_topic_is_shown_and_comes_to_nothing_when_all_is_read() {
    let broker = Broker::real(&[("train", 2), ("ask", 1), ("seen", 2)]);
    let folder = Folder::new();
    let train = keys(3_000, 3_000, 51);
    write(&broker, "train", 2, &train, 52);
    write(&broker, "ask", 1, &train, 53);
    let line = format!("stream --train {} --keys 3000 --fpr 1e-9", broker.url("train"));
    // To its end: the log has what is left after each batch.
    let asking = format!(
        "{line} --query {} -o {} --state a --batch 1000 --log json",
        broker.url("ask"),
        broker.url("seen")
    );
    let log = folder.run(&asking).err;
    let lags = |stream: &str| -> Vec<u64> {
        let lines = log.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        lines.filter_map(|line| line["lag_messages"][stream].as_u64()).collect()
    };
    assert_eq!(lags("train"), [2000, 1000, 0], "{log}");
    assert_eq!(lags("query"), [2000, 1000, 0], "{log}");
    // What was written in transactions is followed: all of it is read, and nothing waits.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let held = format!("stream/planned:{}", folder.path("held").display());
    let line = format!(
        "stream --train {} --follow --every 20ms --batch 100 --keys 3000 --metrics 127.0.0.1:{port} --state b",
        broker.url("seen")
    );
    let mut child = start_with(&folder, &line, &[("TAMIS_TEST_HOLD_AT", &held)]);
    let lag = || metric(port, "tamis_stream_lag_messages{stream=\"train\"}");
    // Batch by batch; it is known what waits as soon as the brokers have said it.
    let (mut most, written): (f64, _) = (0.0, broker.sorted("seen").len());
    assert!(written > 1000, "{written} answers");
    until("nothing waits any more", || {
        most = most.max(lag().unwrap_or(0.0));
        thread::sleep(Duration::from_millis(if most == 0.0 { 400 } else { 20 }));
        let _ = fs::remove_file(folder.path("held"));
        let rows = metric(port, "tamis_stream_rows_trained_total");
        (rows == Some(written as f64) && lag() == Some(0.0)).then_some(())
    });
    assert!(most >= 100.0, "{most}");
    child.kill().unwrap();
    child.said();
}

/// The status line is for terminals; `script` makes one.
#[test]
fn the_status_line_shows_how_many_messages_wait() {
    let broker = Broker::with(&[("train", 2)]);
    let folder = Folder::new();
    write(&broker, "train", 2, &keys(3_000, 3_000, 55), 56);
    let line = format!("{TAMIS} stream --train {} --batch 1000 --keys 3000 --state run", broker.url("train"));
    let mut script = Command::new("script");
    script.args(["-qfec", &line, "shown"]).current_dir(folder.path(""));
    script.env("TAMIS_TEST_HOLD_AT", format!("stream/answered:{}", folder.path("held").display()));
    script.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    if Command::new("script").arg("--version").output().is_err() {
        eprintln!("left out: this system has no `script`, which makes a terminal");
        return;
    }
    let mut child = Guard::start(&mut script);
    let shows = |lag: &str| {
        fs::read(folder.path("shown")).is_ok_and(|all| String::from_utf8_lossy(&all).contains(lag))
    };
    // Each batch is held until it is shown what waits behind it.
    for lag in ["lag 2,000 messages", "lag 1,000 messages", "lag 0 messages"] {
        until(lag, || {
            thread::sleep(Duration::from_millis(20));
            shows(lag).then_some(())
        });
        fs::remove_file(folder.path("held")).unwrap();
    }
    assert!(child.end().success());
}
