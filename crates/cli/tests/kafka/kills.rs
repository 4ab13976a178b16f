//! Runs that are killed until they come to their end, and what must be there then.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use crate::broker::Broker;
use crate::support::Folder;
use crate::topics::{committed, keys, write};

/// What was seen of runs that were killed.
#[derive(Debug, Default)]
pub struct Kills {
    pub ours: u32,
    /// Runs that found a commit, and those that found batches after it.
    pub resumed: u32,
    pub replayed: u32,
    /// Those of which the brokers had more answers than the commit knew.
    pub ahead: u32,
}

impl Kills {
    /// Counts a run that was killed, by what it left in the folder `state`; whether the brokers were ahead of that.
    pub fn count(&mut self, folder: &Folder, last_batch: u64) -> bool {
        let last = committed(folder, "state");
        let log = fs::metadata(folder.path("state/plan.log"));
        self.ours += 1;
        self.resumed += u32::from(last > 0);
        self.replayed += u32::from(log.is_ok_and(|log| log.len() > 0));
        self.ahead += u32::from(last_batch > last);
        last_batch > last
    }
}

/// A command over topics, and what it gives when nobody kills it.
pub struct Scene {
    pub broker: Broker,
    pub folder: Folder,
    /// The command, but for its state and its output.
    pub line: String,
    /// How long it takes, in microseconds.
    pub time: u64,
    calm: Vec<String>,
}

impl Scene {
    pub fn new(broker: Broker, kind: &str) -> Scene {
        let folder = Folder::new();
        broker.create("train", 3);
        broker.create("ask", 2);
        write(&broker, "train", 3, &keys(20_000, 20_000, 5), 7);
        write(&broker, "ask", 2, &keys(16_000, 20_000, 6), 8);
        let line = format!(
            "stream --train {} --query {} --batch 400 {kind} -q",
            broker.url("train"),
            broker.url("ask")
        );
        let begun = Instant::now();
        folder.ok(&format!("{line} --commit-every 0 --state calm -o calm.txt"));
        let time = begun.elapsed().as_micros() as u64;
        let mut calm: Vec<String> = folder.text("calm.txt").lines().map(str::to_owned).collect();
        calm.sort();
        Scene { broker, folder, line, time, calm }
    }

    /// Begins again, with a topic for answers that is empty.
    pub fn begin(&self, topic: &str) {
        self.broker.create(topic, 2);
        let _ = fs::remove_dir_all(self.folder.path("state"));
    }

    /// The command of an attempt.
    pub fn command(&self, topic: &str, commits: &str) -> String {
        format!("{} {commits} --state state -o {}", self.line, self.broker.url(topic))
    }

    /// That all is as if nobody had been killed.
    pub fn check(&self, topic: &str) {
        self.broker.settled(topic);
        let answers = self.broker.sorted(topic);
        assert!(answers == self.calm, "{topic}: {}", difference(&answers, &self.calm));
        let same = self.folder.read("state/filter.tamis") == self.folder.read("calm/filter.tamis");
        assert!(same, "{topic}: {}: another filter", self.line);
    }
}

/// How answers differ from those that should be: which of them, and how often.
pub fn difference(answers: &[String], expected: &[String]) -> String {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    answers.iter().for_each(|answer| counts.entry(answer).or_default().0 += 1);
    expected.iter().for_each(|answer| counts.entry(answer).or_default().1 += 1);
    let of = |wrong: fn(usize, usize) -> bool| {
        let found = counts.iter().filter(|(_, (there, due))| wrong(*there, *due));
        let shown: Vec<String> = found
            .clone()
            .take(20)
            .map(|(answer, (there, due))| format!("{answer} ({there} of {due})"))
            .collect();
        format!("{}: {}", found.count(), shown.join(", "))
    };
    format!(
        "{} answers, {} expected\nmissing {}\ntoo often {}\nstrange {}",
        answers.len(),
        expected.len(),
        of(|there, due| there < due),
        of(|there, due| there > due && due > 0),
        of(|_, due| due == 0),
    )
}

#[test]
fn answers_that_differ_are_named() {
    let [there, due] = [["a", "a", "b", "x"], ["a", "b", "b", "c"]].map(|all| all.map(str::to_owned));
    let said = difference(&there, &due);
    for part in ["missing 2: b (1 of 2), c (0 of 1)", "too often 1: a (2 of 1)", "strange 1: x (1 of 0)"] {
        assert!(said.contains(part), "{said}");
    }
}
