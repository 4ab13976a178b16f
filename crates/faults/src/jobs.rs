//! The jobs that are disturbed: each verb that writes, on a folder in which older outputs stand.

use std::collections::hash_map::Entry;

use crate::folder::{self, Folder};
use crate::trace::{End, Stage};

/// A job, and what is there when it begins.
#[derive(Debug, Clone)]
pub struct Job {
    pub name: &'static str,
    /// Commands that make what is there, beside the inputs of all jobs.
    pub before: &'static [&'static str],
    /// The command.
    pub line: &'static str,
    /// A command whose result is a part of it, at which it may end: that is promised.
    pub part: Option<&'static str>,
    pub keeps: Keeps,
}

/// What a job does with what was there.
#[derive(Debug, Clone, Copy)]
pub enum Keeps {
    /// Nothing is kept: it makes all of its outputs again, whatever is there.
    Nothing,
    /// The file is changed, and a second run would change it again.
    Changes,
    /// It goes on where an earlier run ended.
    State(Kept),
}

/// What is kept between runs.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    /// The state: a file, or a folder with a slash. Its bytes name places, and differ from run to run.
    pub state: &'static str,
    /// Outputs that are continued.
    pub continued: &'static [&'static str],
    /// Inputs that grow between runs.
    pub growing: &'static [&'static str],
}

const DEDUP: Kept =
    Kept { state: "seen.tamis", continued: &["out.txt", "again.txt"], growing: &["0.txt", "2.txt"] };
const STREAM: Kept =
    Kept { state: "state/", continued: &["out.txt", "hits.txt"], growing: &["train.csv", "ask.txt"] };

/// The output appears whole although a state is kept.
const REPLACED: Kept = Kept { continued: &[], ..DEDUP };

/// The output grows as the stream comes, and nothing is kept.
const LIVE: Kept = Kept { growing: &[], ..STREAM };

const BUILT: &[&str] = &["build more.csv --key id -o out.tamis"];
const EXACT: &[&str] = &["build more.csv --key id --group g --exact -o out.tamis"];
const SIEVE: &[&str] = &[
    "build more.csv --key id --exact -o set.tamis",
    "filter set.tamis old.csv -o out.csv --rejected no.csv",
];

#[rustfmt::skip]
pub const JOBS: &[Job] = &[
    again("build", BUILT, "build rows.csv --key id -o out.tamis"),
    again("build, new", &[], "build rows.csv --key id --group g -o out.tamis"),
    again("build, fuse", BUILT, "build rows.csv --key id --kind fuse -o out.tamis"),
    again("build, ribbon", BUILT, "build rows.csv --key id --kind ribbon -o out.tamis"),
    again("build, murmur3", BUILT, "build rows.csv --key id --kind bloom --hash murmur3 -o out.tamis"),
    again("build, count-min", BUILT, "build rows.csv --key id --weight n --kind count-min --epsilon 0.01 --heavy 0.05 -o out.tamis"),
    again("build, large", BUILT, "build rows.csv --key id --size 3MB -o out.tamis"),
    again("build --exact", EXACT, "build rows.csv --key id --group g --exact -o out.tamis"),
    again("build --exact, new", &[], "build rows.csv --key id --exact -o out.tamis"),
    again("build --params", &["plan rows.csv --key id -o params.json", "build more.csv --key id -o out.tamis"],
        "build rows.csv --params params.json -o out.tamis"),
    again("plan -o", &["plan more.csv --key id --fpr 0.1 -o params.json"], "plan rows.csv --key id -o params.json"),
    again("plan --chart", &["plan --keys 10 --fpr 0.1 --chart chart.svg"], "plan --keys 1000 --fpr 0.01 --chart chart.svg"),
    change("add", BUILT, "add out.tamis rows.csv"),
    change("add, exact", EXACT, "add out.tamis rows.csv --new-groups"),
    change("add --new-groups", &["build more.csv --key id --group g -o out.tamis"], "add out.tamis rows.csv --new-groups"),
    Job {
        part: Some("add out.tamis more.csv big.csv --new-groups"),
        ..change("add --rebuild-above", EXACT, "add out.tamis more.csv big.csv --new-groups --rebuild-above 0.02")
    },
    change("remove", &["build more.csv rows.csv --key id --kind counting -o out.tamis"], "remove out.tamis rows.csv"),
    change("remove-group", &["build more.csv --key id --group g -o out.tamis"], "remove-group out.tamis b"),
    change("remove-group, exact", EXACT, "remove-group out.tamis b"),
    again("merge", &["build more.csv --key id --keys 80 -o a.tamis", "build rows.csv --key id --keys 80 -o b.tamis", "build old.csv --key id -o out.tamis"],
        "merge a.tamis b.tamis -o out.tamis"),
    change("merge, into one", &["build more.csv --key id --keys 80 -o out.tamis", "build rows.csv --key id --keys 80 -o b.tamis"],
        "merge out.tamis b.tamis -o out.tamis"),
    again("filter", SIEVE, "filter set.tamis rows.csv -o out.csv"),
    again("filter, to standard output", SIEVE, "filter set.tamis rows.csv"),
    again("filter --rejected", SIEVE, "filter set.tamis rows.csv -o out.csv --rejected no.csv"),
    again("filter --strict", SIEVE, "filter set.tamis rows.csv --strict -o out.csv --rejected no.csv"),
    again("filter, gz", SIEVE, "filter set.tamis rows.csv -o out.csv.gz"),
    again("filter, zst", SIEVE, "filter set.tamis rows.csv -o out.csv.zst"),
    again("filter, bz2", SIEVE, "filter set.tamis rows.csv -o out.csv.bz2"),
    again("filter, xz", SIEVE, "filter set.tamis rows.csv -o out.csv.xz"),
    again("filter, parquet", SIEVE, "filter set.tamis rows.csv -o out.parquet --rejected no.parquet"),
    again("parquet index", &["dedup more.csv --key id -o more.parquet --seed 1", "dedup old.csv --key id -o out.parquet --seed 1"],
        "parquet index more.parquet --column id -o out.parquet"),
    again("build --bad-rows-to", BUILT, "build holes.csv --key id --bad-rows-to bad.ndjson -o out.tamis"),
    again("dedup", &["dedup old.csv -o out.csv --key id --seed 1"], "dedup rows.csv more.csv --key id -o out.csv --seed 1"),
    again("dedup --rejected", SIEVE, "dedup rows.csv more.csv --key id -o out.csv --rejected no.csv --seed 1"),
    again("dedup --strict", SIEVE, "dedup rows.csv more.csv --key id --strict -o out.csv --rejected no.csv --seed 1"),
    keep("dedup --state, new", &[], "dedup 0.txt 1.txt 2.txt --state seen.tamis -o out.txt --size 4kB --commit-every 0ms --seed 1", DEDUP),
    keep("dedup --state", &["dedup 0.txt --state seen.tamis -o out.txt --size 4kB --seed 1"],
        "dedup 0.txt 1.txt 2.txt --state seen.tamis -o out.txt --size 4kB --commit-every 0ms --seed 1", DEDUP),
    keep("dedup --state, many commits", &[], "dedup parts --state seen.tamis -o out.txt --size 4kB --commit-every 0ms --seed 1",
        Kept { growing: &["parts/4.txt", "parts/9.txt"], ..DEDUP }),
    keep("dedup --state --bad-rows-to", &["dedup holes.csv --key id --state seen.tamis -o out.csv --size 4kB --bad-rows-to bad.ndjson --seed 1"],
        "dedup holes.csv --key id --state seen.tamis -o out.csv --size 4kB --bad-rows-to bad.ndjson --seed 1",
        Kept { continued: &["out.csv", "bad.ndjson"], growing: &["holes.csv"], ..DEDUP }),
    keep("dedup --state, in place of another", &["dedup old.csv --key id -o out.txt --seed 1"],
        "dedup 0.txt 1.txt 2.txt --state seen.tamis -o out.txt --size 4kB --commit-every 0ms --seed 1", REPLACED),
    keep("dedup --state, scalable", &["dedup 0.txt --state seen.tamis -o out.txt --seed 1"],
        "dedup 0.txt 1.txt 2.txt --state seen.tamis -o out.txt --rejected again.txt --seed 1", DEDUP),
    keep("stream", &[], "stream --train train.csv --key key --query ask.txt --query-key 1 --keys 30 --batch 10 -o out.txt", LIVE),
    again("stream, two outputs", &["stream --train ask.txt --query train.csv --query-key key --keys 30 -o out.txt --counts hits.txt --epsilon 0.1 --bad-rows-to bad.txt"],
        "stream --train train.csv --key key --query ask.txt --query-key 1 --keys 30 --batch 10 -o out.txt --counts hits.txt --epsilon 0.1 --bad-rows-to bad.txt"),
    keep("stream --state, new", &[],
        "stream --train train.csv --key key --query ask.txt --query-key 1 --keys 60 --batch 10 --counts hits.txt --epsilon 0.1 --commit-every 0 --state state -o out.txt", STREAM),
    keep("stream --state", &["stream --train train.csv --key key --query ask.txt --query-key 1 --keys 60 --batch 10 --commit-every 0 --state state -o out.txt"],
        "stream --train train.csv --key key --query ask.txt --query-key 1 --keys 60 --batch 10 --commit-every 0 --state state -o out.txt", STREAM),
    keep("stream --state, seldom", &[],
        "stream --train train.csv --key key --query ask.txt --query-key 1 --keys 60 --batch 10 --commit-every 1h --state state -o out.txt", STREAM),
    keep("stream --window", &[],
        "stream --train train.csv --key key --query ask.txt --query-key 1 --keys 60 --batch 10 --window 3d --slide 1d --time at --commit-every 0 --state state -o out.txt", STREAM),
    keep("stream --bad-rows-to", &[],
        "stream --train holes.csv --key id --query ask.txt --query-key 1 --keys 60 --batch 10 --commit-every 0 --bad-rows-to bad.txt --state state -o out.txt",
        Kept { continued: &["out.txt", "bad.txt"], growing: &["holes.csv", "ask.txt"], ..STREAM }),
    again("test --report", &["build rows.csv --key id --group g -o set.tamis", "test set.tamis rows.csv --report page.html"],
        "test set.tamis rows.csv --random 50 --report page.html"),
    again("explain --report", &["explain blocked --keys 100 --fpr 0.1 --report page.html"],
        "explain bloom --keys 100 --fpr 0.1 --report page.html"),
    again("inspect --raw-bits", &["build rows.csv --key id -o set.tamis"], "inspect set.tamis --raw-bits bits"),
    again("generate", &[], "generate ratings --rows 50 -o out.tsv"),
];

const fn again(name: &'static str, before: &'static [&'static str], line: &'static str) -> Job {
    Job { name, before, line, part: None, keeps: Keeps::Nothing }
}

const fn change(name: &'static str, before: &'static [&'static str], line: &'static str) -> Job {
    Job { name, before, line, part: None, keeps: Keeps::Changes }
}

const fn keep(name: &'static str, before: &'static [&'static str], line: &'static str, kept: Kept) -> Job {
    Job { name, before, line, part: None, keeps: Keeps::State(kept) }
}

impl Job {
    pub fn kept(&self) -> Option<Kept> {
        match self.keeps {
            Keeps::State(kept) => Some(kept),
            _ => None,
        }
    }

    /// The command with what all have in common: nothing depends on the cores of the machine.
    pub fn line(&self) -> String {
        common(self.line)
    }

    /// The same of its part.
    pub fn part(&self) -> Option<String> {
        self.part.map(common)
    }

    /// Has all be there with which it begins.
    pub fn begin(&self, stage: &Stage<'_>, old: &Folder) -> Result<(), String> {
        let put = |old: &Folder| folder::put(stage.folder, old).map_err(|error| error.to_string());
        if self.kept().is_none() {
            return put(old);
        }
        let mut begun = stage.begun.borrow_mut();
        match begun.entry(self.name) {
            Entry::Occupied(old) => put(old.get()),
            Entry::Vacant(place) => put(place.insert(self.prepare(stage)?)),
        }
    }

    /// The inputs that its commands name, and a folder for temporary files.
    fn inputs(&self) -> Folder {
        let named = |path: &str| {
            let name = path.split('/').next().unwrap_or(path);
            self.before.iter().chain([&self.line]).any(|line| line.split(' ').any(|word| word == name))
        };
        let mut found = Folder::from([("tmp".to_owned(), None)]);
        for (path, text) in inputs().into_iter().filter(|(path, _)| named(path)) {
            if let Some((folder, _)) = path.split_once('/') {
                found.insert(folder.into(), None);
            }
            found.insert(path, Some(text.into_bytes()));
        }
        found
    }

    /// What is there when it begins.
    pub fn prepare(&self, stage: &Stage<'_>) -> Result<Folder, String> {
        let said = |error: std::io::Error| format!("{}: {error}", self.name);
        folder::put(stage.folder, &self.inputs()).map_err(said)?;
        for line in self.before {
            let ran = stage.run(&common(line)).map_err(said)?;
            if ran.end != End::Exit(0) {
                return Err(format!("{}: tamis {line}: {:?}\n{}", self.name, ran.end, ran.said));
            }
            if let Some(kept) = self.kept() {
                folder::append(stage.folder, &growth(&kept, 0)).map_err(said)?;
            }
        }
        folder::take(stage.folder).map_err(said)
    }
}

fn common(line: &str) -> String {
    let threads = ["plan --keys", "generate", "remove-group", "merge", "inspect"];
    let threads = if threads.iter().any(|verb| line.starts_with(verb)) { "" } else { " --threads 1" };
    format!("{line} -q{threads}")
}

/// What the inputs of a job with a state grow by before a next run.
pub fn growth(kept: &Kept, round: usize) -> Vec<(&'static str, String)> {
    let row = |name: &str, i: usize| match name {
        "holes.csv" if i.is_multiple_of(5) => ",a,1\n".to_owned(),
        "holes.csv" => format!("r{i},a,1\n"),
        "train.csv" => format!("k{},2020-01-{:02}\n", i * 7 % 60, 5 + round),
        _ => format!("k{}\n", i * 11 % 70),
    };
    let rows = |name: &'static str| (20 * round..20 * round + 20).map(|i| row(name, i)).collect();
    kept.growing.iter().map(|name| (*name, rows(name))).collect()
}

/// The inputs of all jobs.
fn inputs() -> Vec<(String, String)> {
    let table = |ids: std::ops::Range<u32>, groups: &[&str]| -> String {
        let row = |id: u32| format!("r{id},{},{}\n", groups[id as usize % groups.len()], id % 5 + 1);
        "id,g,n\n".to_owned() + &ids.map(row).collect::<String>()
    };
    let keys =
        |from: u32, to: u32, of: u32| (from..to).map(|i| format!("k{}\n", i * 7 % of)).collect::<String>();
    let timed =
        |to: u32| (0..to).map(|i| format!("k{},2020-01-{:02}\n", i * 7 % 40, i / 10 + 1)).collect::<String>();
    let files = [
        ("rows.csv", table(0..40, &["a", "b"])),
        ("more.csv", table(30..60, &["b", "c"])),
        ("big.csv", table(100..300, &["b"])),
        (
            "holes.csv",
            table(0..9, &["a", "b"]) + ",a,1\n" + &table(9..30, &["a"])["id,g,n\n".len()..] + ",,\n",
        ),
        ("old.csv", table(50..90, &["d"])),
        ("0.txt", keys(0, 30, 40)),
        ("1.txt", keys(20, 60, 50)),
        ("2.txt", keys(40, 70, 60)),
        ("train.csv", "key,at\n".to_owned() + &timed(40)),
        ("ask.txt", keys(5, 45, 45)),
    ];
    let files = files.into_iter().map(|(name, text)| (name.to_owned(), text));
    files
        .chain((0..10).map(|part| (format!("parts/{part}.txt"), keys(8 * part, 8 * part + 12, 90))))
        .collect()
}
