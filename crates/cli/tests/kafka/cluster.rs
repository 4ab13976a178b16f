//! What only real brokers can show: `./check --clusters kafka` runs it.

use std::fs;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};

use crate::broker::Broker;
use crate::kills::{Kills, Scene, difference};
use crate::servers;
use crate::support::{Dice, Folder, PATIENCE, until};
use crate::topics::{end, keys, learn_until_seen, start, start_with, write};

/// The last batch whose answers a reader of committed messages sees.
fn last_batch(broker: &Broker, folder: &Folder, topic: &str) -> u64 {
    let Ok(id) = fs::read_to_string(folder.path("state/kafka-id")) else { return 0 };
    let found = broker.committed(&format!("tamis-{}-answers", id.trim()), topic);
    found.get(&0).map_or(0, |batch| u64::try_from(*batch).unwrap_or(0))
}

/// One of three brokers is away most of the time, and each of them leads something.
#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn killed_fifty_times_while_brokers_are_killed_nothing_is_lost_or_doubled() {
    let scene = Scene::new(Broker::real(&[]), "--keys 20000");
    scene.folder.write("train.txt", keys(20_000, 20_000, 5).join("\n"));
    scene.folder.ok("build train.txt --keys 20000 -o built.tamis");
    assert!(scene.folder.read("calm/filter.tamis") == scene.folder.read("built.tamis"));
    let mut dice = Dice(11);
    let (brokers, seen) = servers::restless(12, |_| {
        let mut seen = Kills::default();
        for round in 0.. {
            if seen.ours >= 50 {
                break;
            }
            let topic = format!("seen-{round}");
            scene.begin(&topic);
            kill_until_done(&scene, &topic, &mut dice, &mut seen);
            scene.check(&topic);
        }
        seen
    });
    eprintln!("{brokers} brokers killed, {seen:?}");
    assert!(seen.ours >= 50 && brokers >= 3, "{seen:?}, {brokers} brokers");
    assert!(seen.resumed >= 10 && seen.replayed >= 10 && seen.ahead >= 5, "{seen:?}");
}

/// Runs a command until it comes to its end, and kills it on the way: at a moment of chance, in an open transaction,
/// or between the commit of the brokers and our own.
fn kill_until_done(scene: &Scene, topic: &str, dice: &mut Dice, seen: &mut Kills) {
    let Scene { broker, folder, time, .. } = scene;
    for attempt in 0u64.. {
        assert!(attempt < 60, "it never comes to an end");
        let commits = if attempt.is_multiple_of(2) { "--commit-every 0" } else { "--commit-every 30ms" };
        let line = scene.command(topic, commits);
        // Later attempts are left alone, and for longer: it is to end at some time.
        let step = match attempt % 4 {
            0 if attempt < 16 => Some("stream/synced"),
            2 if attempt < 16 => Some("stream/answered"),
            _ => None,
        };
        let moment = Duration::from_micros(300_000 + dice.below(2 * time) + attempt * time / 2);
        let mut child = match step {
            Some(step) => {
                let held = format!("{step}:{}", folder.path("held").display());
                start_with(folder, &line, &[("TAMIS_TEST_HOLD_AT", &held)])
            }
            None => start(folder, &line),
        };
        if step.is_some() {
            let steps = 1 + dice.below(4);
            for left in (0..=steps).rev() {
                until("the step, or the end", || {
                    (folder.path("held").exists() || child.try_wait().unwrap().is_some()).then_some(())
                });
                if left > 0 {
                    let _ = fs::remove_file(folder.path("held"));
                }
            }
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
        seen.count(folder, last_batch(broker, folder, topic));
    }
}

/// What is missing of what should have been learned.
fn shortfall(broker: &Broker, folder: &Folder) -> String {
    let written = [0, 1, 2].map(|partition| broker.high("train", partition));
    let commit = fs::metadata(folder.path("state/commit.json")).unwrap().modified().unwrap();
    let rows = |file: &str| folder.json(&format!("inspect {file}"))["groups"][0]["rows"].to_string();
    format!(
        "{written:?} are written; {} of {} rows are learned; committed {} s ago: {}",
        rows("state/filter.tamis"),
        rows("built.tamis"),
        commit.elapsed().unwrap().as_secs(),
        folder.text("state/commit.json")
    )
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
    let mut child = start(&folder, &line);
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
            assert!(child.try_wait().unwrap().is_none(), "{}", child.said().1);
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
        assert!(since.elapsed() < PATIENCE, "it does not learn all: {}", shortfall(&broker, &folder));
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
    eprintln!("{kills} brokers killed, {asked} keys asked, {} answers", answers.len());
    assert!(answers == once, "{}", difference(&answers, &once));
    assert!(answers.len() > 100 && kills >= 6);
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
    let ask_until_seen = |key: &str| learn_until_seen(&broker, 1, key);
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
