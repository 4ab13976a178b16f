//! After `kill -9` at any moment the filters have the same bytes, and each answer is there once.

use std::fs;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};

use crate::broker::Broker;
use crate::kills::{Kills, Scene, difference};
use crate::mock::Step;
use crate::support::{Dice, Folder, until};
use crate::topics::{committed, end, keys, start, write};

/// Some are killed at a moment of a seed, and some where that is hard to meet: in a transaction, and
/// between the broker's commit and our own.
#[test]
fn killed_fifty_times_between_topics_nothing_is_lost_or_doubled() {
    let mut seen = Kills::default();
    let mut dice = Dice(11);
    let mut round = 0u64;
    for kind in ["--keys 20000", "--fpr 0.02"] {
        let scene = Scene::new(Broker::mocked(&[]), kind);
        let Scene { broker, folder, time, .. } = &scene;
        let enough = seen.ours + 26;
        for topic in 0.. {
            if seen.ours >= enough {
                break;
            }
            let topic = format!("seen-{topic}");
            scene.begin(&topic);
            for attempt in 0u64.. {
                round += 1;
                let commits =
                    if round.is_multiple_of(2) { "--commit-every 0" } else { "--commit-every 30ms" };
                let step = match round % 5 {
                    0 => Some(Step::Produced),
                    1 => Some(Step::Committed),
                    _ => None,
                };
                if let Some(step) = step {
                    broker.mock().stop_after(step, dice.below(4));
                }
                let mut child = start(folder, &scene.command(&topic, commits));
                let moment = Duration::from_micros(20_000 + dice.below(3 * time / 2) + attempt * time / 8);
                match step {
                    Some(_) => until("the step, or the end", || {
                        (broker.mock().stopped() || child.try_wait().unwrap().is_some()).then_some(())
                    }),
                    None => thread::sleep(moment),
                }
                child.kill().unwrap();
                let (code, said) = child.said();
                let stopped = step.filter(|_| broker.mock().stopped());
                broker.mock().go_on();
                if code == Some(0) {
                    break;
                }
                assert_eq!(code, None, "{said}");
                let ahead = seen.count(folder, broker.mock().last_batch(&topic).unwrap_or(0));
                assert!(ahead || stopped != Some(Step::Committed));
                assert!(attempt < 200, "it never comes to an end");
            }
            scene.check(&topic);
        }
        assert_eq!(broker.mock().seen.fenced.load(SeqCst), 0);
        assert!(broker.mock().seen.aborted.load(SeqCst) >= 3, "transactions were open when runs were killed");
    }
    eprintln!("{seen:?}");
    assert!(seen.ours >= 50 && seen.resumed >= 10 && seen.replayed >= 10 && seen.ahead >= 6, "{seen:?}");
}

/// Batches by time, of topics that grow: which query meets which key is a matter of chance, but what
/// is learned is not, and a batch that is run again gives the same answers.
#[test]
fn a_topic_that_is_followed_is_learned_once_whatever_is_killed() {
    let broker = Broker::with(&[("train", 3), ("ask", 1), ("seen", 1)]);
    let folder = Folder::new();
    let train = keys(6_000, 5_000, 21);
    let line = format!(
        "stream --train {} --query {} -o {} --follow --every 5ms --keys 5000 --state state -q",
        broker.url("train"),
        broker.url("ask"),
        broker.url("seen")
    );
    let mut dice = Dice(22);
    // Each is asked once: an answer that comes twice is one that was written twice.
    let mut asked = 0;
    for (round, part) in train.chunks(600).enumerate() {
        let commits = if round % 2 == 0 { "--commit-every 0" } else { "--commit-every 1h" };
        let mut child = start(&folder, &format!("{line} {commits}"));
        for keys in part.chunks(60) {
            write(&broker, "train", 3, keys, dice.below(1000));
            for _ in 0..40 {
                broker.send("ask", 0, 0, &format!("key-{asked}"));
                asked += 1;
            }
            broker.flush();
            thread::sleep(Duration::from_millis(dice.below(25)));
        }
        child.kill().unwrap();
        assert_eq!(child.said().0, None);
    }
    let mut child = start(&folder, &line.replace("--follow", "--follow --commit-every 50ms"));
    folder.write("train.txt", train.join("\n"));
    folder.ok("build train.txt --keys 5000 -o built.tamis");
    let since = Instant::now();
    while folder.read("built.tamis") != fs::read(folder.path("state/filter.tamis")).unwrap_or_default() {
        assert!(since.elapsed() < Duration::from_secs(60), "it does not learn all");
        thread::sleep(Duration::from_millis(20));
    }
    let (code, said) = end(&mut child);
    assert_eq!(code, Some(0), "{said}");
    let answers = broker.sorted("seen");
    let mut once = answers.clone();
    once.dedup();
    assert!(answers == once && answers.len() > 100, "{}", difference(&answers, &once));
}

#[test]
fn a_run_that_only_seemed_dead_can_write_no_more() {
    let broker = Broker::with(&[("train", 1), ("ask", 1), ("seen", 1)]);
    let folder = Folder::new();
    broker.send("train", 0, 1, "a");
    broker.send("ask", 0, 1, "a");
    broker.flush();
    let line = format!(
        "stream --train {} --query {} -o {} --keys 100 --every 10ms --commit-every 0",
        broker.url("train"),
        broker.url("ask"),
        broker.url("seen")
    );
    let mut child = start(&folder, &format!("{line} --follow --state state"));
    until("an answer", || (broker.sorted("seen") == ["a"]).then_some(()));
    until("a commit", || (committed(&folder, "state") > 0).then_some(()));
    // Another machine takes over, with a copy of the state.
    fs::create_dir(folder.path("copy")).unwrap();
    for file in fs::read_dir(folder.path("state")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if name != "lock" {
            fs::copy(folder.path(&format!("state/{name}")), folder.path(&format!("copy/{name}"))).unwrap();
        }
    }
    folder.ok(&format!("{line} --state copy"));
    broker.send("ask", 0, 2, "a");
    broker.flush();
    let (code, said) = child.said();
    assert!(code == Some(1) && said.contains("has taken over"), "{said}");
    assert_eq!(broker.sorted("seen"), ["a"]);
    // And the copy goes on; that of before does not.
    for expected in [&["a", "a"][..], &["a", "a", "a"]] {
        folder.ok(&format!("{line} --state copy"));
        assert_eq!(broker.sorted("seen"), expected);
        broker.send("ask", 0, 3, "a");
        broker.flush();
    }
    folder.refused(&format!("{line} --state state"), 1, &["seen", "an older copy", "--lost go-on"]);
}
