//! What only real brokers can show: `./check --clusters kafka` runs it.

use std::fs;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};

use crate::broker::Broker;
use crate::servers;
use crate::support::{Dice, Folder, PATIENCE, until};
use crate::topics::{committed, end, keys, start, start_with, write};

/// The last batch whose answers a reader of committed messages sees.
fn last_batch(broker: &Broker, folder: &Folder, topic: &str) -> u64 {
    let Ok(id) = fs::read_to_string(folder.path("state/kafka-id")) else { return 0 };
    let found = broker.committed(&format!("tamis-{}-answers", id.trim()), topic);
    found.get(&0).map_or(0, |batch| u64::try_from(*batch).unwrap_or(0))
}

/// The answers in a topic, once there are this many. That a transaction is committed is known before its messages can
/// be read: brokers that have just started take their time to mark them.
fn all_of(broker: &Broker, topic: &str, expected: usize) -> Vec<String> {
    let since = Instant::now();
    loop {
        let answers = broker.sorted(topic);
        if answers.len() >= expected || since.elapsed() > PATIENCE {
            return answers;
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// How answers, sorted, differ from those that should be.
fn difference(answers: &[String], expected: &[String]) -> String {
    let missing = expected.iter().filter(|key| answers.binary_search(key).is_err()).count();
    let strange = answers.iter().filter(|key| expected.binary_search(key).is_err()).count();
    format!(
        "{} answers, {} expected; {missing} are missing, {strange} are strange",
        answers.len(),
        expected.len()
    )
}

/// What was seen of runs that were killed.
#[derive(Debug, Default)]
struct Kills {
    ours: u32,
    brokers: u32,
    resumed: u32,
    replayed: u32,
    /// Runs of which the brokers had more answers than the commit knew.
    ahead: u32,
}

/// One of three brokers is away most of the time, and each of them leads something.
#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn killed_fifty_times_while_brokers_are_killed_nothing_is_lost_or_doubled() {
    let broker = Broker::real(&[("train", 3), ("ask", 2)]);
    let folder = Folder::new();
    let train = keys(20_000, 20_000, 5);
    write(&broker, "train", 3, &train, 7);
    write(&broker, "ask", 2, &keys(16_000, 20_000, 6), 8);
    let line = format!(
        "stream --train {} --query {} --batch 400 --keys 20000 -q",
        broker.url("train"),
        broker.url("ask")
    );
    let begun = Instant::now();
    folder.ok(&format!("{line} --commit-every 0 --state calm -o calm.txt"));
    let time = begun.elapsed().as_micros() as u64;
    let mut calm: Vec<String> = folder.text("calm.txt").lines().map(str::to_owned).collect();
    calm.sort();
    folder.write("train.txt", train.join("\n"));
    folder.ok("build train.txt --keys 20000 -o built.tamis");
    let mut dice = Dice(11);
    let (brokers, mut seen) = servers::restless(12, |_| {
        let mut seen = Kills::default();
        for round in 0.. {
            if seen.ours >= 50 {
                break;
            }
            let topic = format!("seen-{round}");
            broker.create(&topic, 2);
            let _ = fs::remove_dir_all(folder.path("state"));
            kill_until_done(&broker, &folder, &line, &topic, time, &mut dice, &mut seen);
            let answers = all_of(&broker, &topic, calm.len());
            assert!(answers == calm, "{topic}: {}", difference(&answers, &calm));
            assert!(folder.read("state/filter.tamis") == folder.read("built.tamis"), "{topic}");
        }
        seen
    });
    seen.brokers = brokers;
    eprintln!("{seen:?}");
    assert!(seen.ours >= 50 && seen.brokers >= 3, "{seen:?}");
    assert!(seen.resumed >= 10 && seen.replayed >= 10 && seen.ahead >= 5, "{seen:?}");
}

/// Runs a command until it comes to its end, and kills it on the way: at a moment of chance, in an open transaction,
/// or between the commit of the brokers and our own.
fn kill_until_done(
    broker: &Broker,
    folder: &Folder,
    line: &str,
    topic: &str,
    time: u64,
    dice: &mut Dice,
    seen: &mut Kills,
) {
    for attempt in 0u64.. {
        assert!(attempt < 60, "it never comes to an end");
        let commits = if attempt.is_multiple_of(2) { "--commit-every 0" } else { "--commit-every 30ms" };
        let line = format!("{line} {commits} --state state -o {}", broker.url(topic));
        let step = match attempt % 4 {
            0 => Some("stream/synced"),
            2 => Some("stream/answered"),
            _ => None,
        };
        // Later attempts are left alone for longer: it is to end at some time.
        let moment = Duration::from_micros(300_000 + dice.below(2 * time) + attempt * time / 2);
        let mut child = match step {
            Some(step) if attempt < 16 => {
                let held = format!("{step}:{}", folder.path("held").display());
                start_with(folder, &line, &[("TAMIS_TEST_HOLD_AT", &held)])
            }
            _ => start(folder, &line),
        };
        if step.is_some() && attempt < 16 {
            for _ in 0..=dice.below(4) {
                until("the step, or the end", || {
                    (folder.path("held").exists() || child.try_wait().unwrap().is_some()).then_some(())
                });
                let _ = fs::remove_file(folder.path("held"));
            }
            until("the step, or the end", || {
                (folder.path("held").exists() || child.try_wait().unwrap().is_some()).then_some(())
            });
        } else {
            let since = Instant::now();
            while since.elapsed() < moment && child.try_wait().unwrap().is_none() {
                thread::sleep(Duration::from_millis(1));
            }
        }
        child.kill().unwrap();
        let (code, said) = child.said();
        let _ = fs::remove_file(folder.path("held"));
        if code == Some(0) {
            return;
        }
        assert_eq!(code, None, "a run ended by itself: {said}");
        let last = committed(folder, "state");
        let ahead = last_batch(broker, folder, topic) > last;
        let log = fs::metadata(folder.path("state/plan.log"));
        seen.ours += 1;
        seen.resumed += u32::from(last > 0);
        seen.replayed += u32::from(log.is_ok_and(|log| log.len() > 0));
        seen.ahead += u32::from(ahead);
    }
}

/// A run that is left alone outlives the brokers, one after the other.
#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn a_topic_is_followed_while_its_leaders_are_killed() {
    let broker = Broker::real(&[("train", 3), ("ask", 2), ("seen", 2)]);
    let folder = Folder::new();
    let train = keys(30_000, 20_000, 31);
    let line = format!(
        "stream --train {} --query {} -o {} --follow --every 20ms --commit-every 100ms --keys 20000 --state state -q",
        broker.url("train"),
        broker.url("ask"),
        broker.url("seen")
    );
    let (mut child, mut shut_out) = (start(&folder, &line), 0);
    let (kills, asked) = servers::restless(32, |kills| {
        let (mut dice, mut asked) = (Dice(33), 0);
        let parts = train.chunks(100).len() as u32;
        for (number, part) in train.chunks(100).enumerate() {
            write(&broker, "train", 3, part, dice.below(1000));
            for _ in 0..50 {
                broker.send("ask", asked % 2, 0, &format!("key-{asked}"));
                asked += 1;
            }
            broker.flush();
            if child.try_wait().unwrap().is_some() {
                // Brokers that fail while they give out the number of a producer may shut it out: then it is the next
                // run that goes on.
                let (code, said) = child.said();
                assert!(code == Some(1) && said.contains("the brokers have shut this run out"), "{said}");
                (child, shut_out) = (start(&folder, &line), shut_out + 1);
            }
            // Each broker is killed twice meanwhile.
            while kills.load(SeqCst) * parts < 7 * number as u32 {
                thread::sleep(Duration::from_millis(20));
            }
        }
        asked
    });
    folder.write("train.txt", train.join("\n"));
    folder.ok("build train.txt --keys 20000 -o built.tamis");
    let since = Instant::now();
    while folder.read("built.tamis") != fs::read(folder.path("state/filter.tamis")).unwrap_or_default() {
        assert!(child.try_wait().unwrap().is_none(), "{}", child.said().1);
        assert!(
            since.elapsed() < PATIENCE,
            "it does not learn all: {:?} are written; {}",
            [0, 1, 2].map(|partition| broker.high("train", partition)),
            folder.text("state/commit.json")
        );
        thread::sleep(Duration::from_millis(100));
    }
    // Each was asked once, most of them too early; one more, now that all is known.
    broker.send("ask", 0, 0, &train[0]);
    broker.flush();
    until("the last answer", || broker.sorted("seen").contains(&train[0]).then_some(()));
    let (code, said) = end(&mut child);
    assert_eq!(code, Some(0), "{said}");
    let mut answers = broker.sorted("seen");
    let last = answers.iter().position(|answer| *answer == train[0]).unwrap();
    answers.remove(last);
    let mut once = answers.clone();
    once.dedup();
    eprintln!(
        "{kills} brokers killed, {shut_out} runs shut out, {asked} keys asked, {} answers",
        answers.len()
    );
    assert!(answers == once && answers.len() > 100 && kills >= 6);
}

#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn brokers_that_all_go_away_are_waited_for_or_named() {
    let broker = Broker::real(&[("train", 2), ("ask", 1), ("seen", 1)]);
    let folder = Folder::new();
    let line = format!(
        "stream --train {} --query {} -o {} --follow --every 20ms --keys 1000 --fpr 1e-9 --state run",
        broker.url("train"),
        broker.url("ask"),
        broker.url("seen")
    );
    let ask_until_seen = |key: &str| {
        broker.send("train", 1, 1, key);
        until("an answer", || {
            broker.send("ask", 0, 1, key);
            broker.flush();
            thread::sleep(Duration::from_millis(200));
            broker.messages("seen")[0].iter().any(|seen| seen == key).then_some(())
        });
    };
    let mut child = start(&folder, &format!("{line} --kafka-timeout 2m"));
    ask_until_seen("before");
    (1..=servers::BROKERS).for_each(servers::kill);
    thread::sleep(Duration::from_millis(1500));
    assert!(child.try_wait().unwrap().is_none(), "{}", child.said().1);
    servers::start();
    ask_until_seen("after");
    let (code, said) = end(&mut child);
    assert_eq!(code, Some(0), "{said}");
    // One that has not so much patience says so, and the same command goes on.
    let mut child = start(&folder, &format!("{line} --kafka-timeout 3s"));
    ask_until_seen("again");
    (1..=servers::BROKERS).for_each(servers::kill);
    let (code, said) = child.said();
    assert!(code == Some(1) && said.contains("no broker has answered for 3 s"), "{said}");
    servers::start();
    let mut child = start(&folder, &line);
    ask_until_seen("at last");
    let (code, said) = end(&mut child);
    assert_eq!(code, Some(0), "{said}");
}

/// The settings of a client that is let in.
fn properties(folder: &Folder, ca: &str, password: &str) {
    let user = servers::setting("TAMIS_KAFKA_USER");
    folder.write(
        "kafka.properties",
        format!(
            "security.protocol=sasl_ssl\nsasl.mechanisms=SCRAM-SHA-512\nsasl.username={user}\nsasl.password={password}\nssl.ca.location={ca}\n"
        ),
    );
}

#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn passwords_and_certificates_are_checked_and_what_is_wrong_is_said() {
    let broker = Broker::real(&[("train", 2), ("ask", 1), ("seen", 1)]);
    let folder = Folder::new();
    let train = keys(500, 400, 41);
    write(&broker, "train", 2, &train, 42);
    write(&broker, "ask", 1, &train[..10], 43);
    let [ca, other, password] =
        ["TAMIS_KAFKA_CA", "TAMIS_KAFKA_OTHER_CA", "TAMIS_KAFKA_PASSWORD"].map(servers::setting);
    let safe = servers::setting("TAMIS_KAFKA_SAFE");
    let url = |servers: &str, topic: &str| format!("kafka://{servers}/{}", broker.name(topic));
    let line = |servers: &str| {
        format!(
            "stream --train {} --query {} -o {} --keys 400 --fpr 1e-9 --kafka-config kafka.properties --kafka-timeout 20s",
            url(servers, "train"),
            url(servers, "ask"),
            url(servers, "seen")
        )
    };
    properties(&folder, &ca, &password);
    folder.ok(&format!("{} --state run", line(&safe)));
    folder.write("train.txt", train.join("\n"));
    folder.ok("build train.txt --keys 400 --fpr 1e-9 -o built.tamis");
    assert!(folder.read("run/filter.tamis") == folder.read("built.tamis"));
    assert_eq!(broker.sorted("seen").len(), 10);

    // Of an output alone, too: there a producer is refused, and not a reader.
    let writing = format!(
        "stream --train train.txt --query train.txt -o {} --keys 400 --kafka-config kafka.properties",
        url(&safe, "seen")
    );
    let refused = |says: &str| {
        for line in
            [format!("{} --state other", line(&safe)), format!("{writing} --state third"), writing.clone()]
        {
            let done = folder.run(&line);
            done.refused(&line, 1, &["the connection was refused", says, "check the user, the password"]);
            assert!(!done.err.contains(&password), "{}", done.err);
        }
    };
    properties(&folder, &ca, "wrong");
    refused("Authentication failed");
    properties(&folder, &other, &password);
    refused("certificate verify failed");
    // The plain port knows no TLS, and the other no client without.
    properties(&folder, &ca, &password);
    let plain = servers::setting("TAMIS_KAFKA");
    let line = |servers: &str, more: &str| {
        format!("stream --train {} --keys 400 --kafka-timeout 3s --state s {more}", url(servers, "train"))
    };
    let done = folder.run(&line(&plain, "--kafka-config kafka.properties"));
    done.refused("TLS to the plain port", 1, &["no broker has answered for 3 s", "SSL_HANDSHAKE"]);
    let done = folder.run(&line(&safe, ""));
    done.refused(
        "no TLS to the port that has it",
        1,
        &["no broker has answered for 3 s", "security.protocol"],
    );
}

#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn partitions_that_are_added_are_read_while_the_topic_is_followed() {
    let broker = Broker::real(&[("train", 1), ("named", 1)]);
    let folder = Folder::new();
    let follow = |url: String, state: &str| {
        let line =
            format!("stream --train {url} --follow --every 20ms --commit-every 0 --keys 1000 --fpr 1e-9");
        start(&folder, &format!("{line} --state {state}"))
    };
    let knows = |state: &str, key: &str| {
        let found = folder.run_with(&format!("query {state}/filter.tamis"), format!("{key}\n"));
        found.out == format!("{key}\tyes\n")
    };
    let mut child = follow(broker.url("train"), "run");
    let mut other = follow(broker.url("named?partitions=0"), "named");
    for topic in ["train", "named"] {
        broker.send(topic, 0, 1, "first");
    }
    broker.flush();
    until("the first key", || (knows("run", "first") && knows("named", "first")).then_some(()));
    for topic in ["train", "named"] {
        broker.widen(topic, 3);
        broker.send(topic, 2, 2, "second");
    }
    broker.flush();
    until("the key of a new partition", || knows("run", "second").then_some(()));
    broker.send("train", 1, 3, "third");
    broker.send("train", 0, 3, "fourth");
    broker.flush();
    until("the keys of all partitions", || (knows("run", "third") && knows("run", "fourth")).then_some(()));
    // Killed and started again, it learns nothing twice, and goes on where it was.
    child.kill().unwrap();
    let (_, said) = child.said();
    assert!(said.contains("has 3 partitions now, and had 1"), "{said}");
    broker.send("train", 2, 4, "fifth");
    broker.flush();
    let report = folder.json(&format!(
        "stream --train {} --every 20ms --commit-every 0 --keys 1000 --fpr 1e-9 --state run",
        broker.url("train")
    ));
    assert_eq!(report["rows"].as_u64(), Some(1));
    assert!(knows("run", "fifth"));
    // Who names partitions reads those.
    let (code, said) = end(&mut other);
    assert!(code == Some(0) && !said.contains("partitions now"), "{said}");
    assert!(!knows("named", "second"));
}

/// A topic that forgets all but the last message of a key, as soon as it can.
const COMPACTED: [(&str, &str); 5] = [
    ("cleanup.policy", "compact"),
    ("segment.ms", "200"),
    ("min.cleanable.dirty.ratio", "0.001"),
    ("delete.retention.ms", "0"),
    ("min.compaction.lag.ms", "0"),
];

/// Writes until a message of partition 0 is gone: a segment is closed when a message of a later time comes, and
/// cleaned some time after that.
fn compact(broker: &Broker, topic: &str, offset: i64) {
    let (since, mut time) = (Instant::now(), 1000);
    while broker.read(topic)[0].iter().any(|read| read.offset == offset) {
        assert!(since.elapsed() < Duration::from_secs(60), "{topic} is not compacted");
        broker.send_with(topic, 0, time, Some("filler"), Some("filler"));
        time += 1000;
        broker.flush();
        thread::sleep(Duration::from_millis(250));
    }
}

#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn of_a_compacted_topic_what_is_there_is_learned_and_tombstones_are_no_values() {
    let broker = Broker::real(&[]);
    broker.create_with("users", 1, &COMPACTED);
    let folder = Folder::new();
    for (key, value) in [("ann", Some("v1")), ("bob", Some("v2")), ("cid", Some("v3")), ("ann", Some("v4"))] {
        broker.send_with("users", 0, 1, Some(key), value);
    }
    broker.send_with("users", 0, 1, Some("bob"), None);
    broker.flush();
    compact(&broker, "users", 0);
    let left = broker.read("users").remove(0);
    let values: Vec<&str> = left.iter().filter_map(|read| read.value.as_deref()).collect();
    assert!(values.contains(&"v3") && values.contains(&"v4") && !values.contains(&"v1"), "{left:?}");
    folder.write("values.txt", values.join("\n"));
    let keys: Vec<&str> = left.iter().filter_map(|read| read.key.as_deref()).collect();
    folder.write("keys.txt", keys.join("\n"));
    for (file, field) in [("values", "users"), ("keys", "users?field=key")] {
        let line = format!("stream --train {} --keys 1000 --fpr 1e-9 --state {file}", broker.url(field));
        let report = folder.json(&line);
        folder.ok(&format!("build {file}.txt --keys 1000 --fpr 1e-9 -o {file}.tamis"));
        assert!(
            folder.read(&format!("{file}.tamis")) == folder.read(&format!("{file}/filter.tamis")),
            "{report}"
        );
    }
}

/// What was learned in a batch cannot be learned again when it is gone. Without a word it would be missing.
#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn a_batch_that_compaction_has_made_smaller_is_not_run_again_without_a_word() {
    let broker = Broker::real(&[]);
    broker.create_with("users", 1, &COMPACTED);
    let folder = Folder::new();
    for number in 0..6 {
        broker.send_with("users", 0, 1, Some(&format!("k{number}")), Some(&format!("v{number}")));
    }
    broker.flush();
    // Killed in the commit of its first batch, which is logged. It ends with a message that stays.
    let line = format!("stream --train {} --batch 6 --keys 100 --fpr 1e-9", broker.url("users"));
    let mut child =
        start_with(&folder, &format!("{line} --state run"), &[("TAMIS_TEST_END_AT", "stream/commit:1")]);
    assert_eq!(child.said().0, None, "it was killed");
    broker.send_with("users", 0, 2, Some("k1"), Some("w1"));
    broker.send_with("users", 0, 2, Some("k2"), None);
    broker.flush();
    compact(&broker, "users", 1);
    let line = format!("{line} --state run");
    folder.refused(
        &line,
        1,
        &["2 messages of a batch that was begun are gone (compaction?)", "--lost go-on"],
    );
    let done = folder.run(&format!("{line} --lost go-on"));
    assert!(done.code == 0 && done.err.contains("2 messages were gone"), "{}", done.err);
    let found = folder.run_with("query run/filter.tamis", "v0\nv1\nv5\nw1\n").out;
    assert_eq!(found, "v0\tyes\nv1\t\nv5\tyes\nw1\tyes\n");
}

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

#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn a_topic_that_was_created_again_is_not_taken_for_the_one_that_was_read() {
    let broker = Broker::real(&[("t", 2)]);
    let folder = Folder::new();
    let line = format!("stream --train {} --keys 100 --fpr 1e-9 --state run", broker.url("t"));
    write(&broker, "t", 2, &keys(20, 20, 61), 62);
    folder.ok(&line);
    broker.delete("t");
    broker.create("t", 2);
    folder.refused(&line, 1, &["the topic was cut or created again", "--lost go-on"]);
    broker.delete("t");
    broker.create("t", 1);
    folder.refused(&line, 1, &["partition 1 was there when the topic was read", "--lost go-on"]);
    broker.send("t", 0, 1, "new");
    broker.flush();
    folder.ok(&format!("{line} --lost go-on"));
    assert_eq!(folder.run_with("query run/filter.tamis", "new\n").out, "new\tyes\n");
}
