//! The experiment of Logothetis N. Fragkoulis (Implementation of Bloom Filter and Count-Min Sketch in
//! Apache Spark): a Bloom filter and a Count-Min sketch trained by one stream of
//! addresses, and asked by another, in micro-batches; every answer compared with the exact truth.

mod render;
mod spark;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::Common;
use tamis::sizing::Kind;
use tamis_make::count_min::rank;
use tamis_make::files;
use tamis_make::plan::Counters;
use tamis_make::rows::BadRows;
use tamis_read::error::{Error, Result};
use tamis_read::refusal;
use tamis_read::{Control, Options};
use tamis_stream::{Batch, ByRole, Counts, Idle, Input, Lost, Named, Role, Sizing, Target, Watch};

use crate::generate;

pub use render::REMARKS;
pub use spark::{Spark, requests};

/// The run that fills both sketches.
const TRAINING: &str = "training";

/// The runs that ask them.
const QUERIES: [&str; 2] = ["queries, filter", "queries, counts"];

/// Keys for which the growing filter begins.
const FIRST_KEYS: u64 = 1 << 20;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Job {
    /// Addresses to train with.
    pub rows: u64,
    /// Addresses to ask for.
    pub queries: u64,
    /// Different addresses, and the exponent of Zipf's law by which they come, where some come more
    /// often than others.
    pub skewed: (u64, f64),
    /// Records in a batch.
    pub batch: usize,
    /// The rate of the filter.
    pub fpr: f64,
    /// The error of counts, as a share of all rows, and how probably it is larger.
    pub epsilon: f64,
    /// See there.
    pub delta: f64,
    /// The seed of the addresses.
    pub seed: u64,
    /// Threads that parse.
    pub threads: usize,
}

/// One run of the stream.
#[derive(Debug, Clone)]
pub struct Run {
    /// What it does.
    pub name: &'static str,
    /// Rows trained.
    pub rows: u64,
    /// Queries.
    pub queries: u64,
    /// How long it took, with its start and its last commit.
    pub time: Duration,
    /// How long Spark took for the same, where it was measured.
    pub spark: Option<Duration>,
}

impl Run {
    /// Rows and queries in a second.
    pub fn per_second(&self) -> f64 {
        self.in_a_second(self.time)
    }

    /// The same of Spark, where it was measured.
    pub fn spark_per_second(&self) -> Option<f64> {
        self.spark.map(|time| self.in_a_second(time))
    }

    /// How many times as long Spark took, where it was measured.
    pub fn times_spark(&self) -> Option<f64> {
        Some(self.per_second() / self.spark_per_second()?)
    }

    fn in_a_second(&self, time: Duration) -> f64 {
        (self.rows + self.queries) as f64 / time.as_secs_f64().max(1e-9)
    }
}

/// The answers of the filter in one batch, or in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sieved {
    /// Distinct addresses that were asked for, each within its batch.
    pub asked: u64,
    /// Those of them that had come in the training stream by then.
    pub seen: u64,
    /// Those that the filter gave.
    pub answered: u64,
}

impl Sieved {
    /// Addresses that had not come.
    pub fn negatives(&self) -> u64 {
        self.asked - self.seen
    }

    /// The share of them that were given.
    pub fn rate(&self) -> f64 {
        self.false_positives() as f64 / self.negatives().max(1) as f64
    }

    /// Those of them that were given. (None that had come is missing: see [`Answers::missing`].)
    pub fn false_positives(&self) -> u64 {
        self.answered.saturating_sub(self.seen)
    }
}

/// The estimates of the Count-Min sketch.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counted {
    /// Distinct addresses that were asked for, each within its batch.
    pub asked: u64,
    /// Estimates below the truth: none.
    pub below: u64,
    /// Estimates more than ε times the rows so far above it.
    pub over: u64,
    /// The sum of all errors.
    pub errors: u64,
    /// The largest.
    pub largest: u64,
}

/// What the answers of both streams side by side are worth.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// By batch.
    pub batches: Vec<Sieved>,
    /// Answers that are missing: addresses that had come, and were not given.
    pub missing: u64,
    /// The counts.
    pub counts: Counted,
}

impl Answers {
    /// All batches together.
    pub fn total(&self) -> Sieved {
        self.batches.iter().fold(Sieved::default(), |sum, batch| Sieved {
            asked: sum.asked + batch.asked,
            seen: sum.seen + batch.seen,
            answered: sum.answered + batch.answered,
        })
    }
}

/// One kind of addresses.
#[derive(Debug, Clone)]
pub struct Data {
    /// What they are.
    pub name: &'static str,
    /// Different ones in the training stream.
    pub distinct: u64,
    /// The runs: training alone, queries alone, both.
    pub runs: Vec<Run>,
    /// What both together answered.
    pub answers: Answers,
    /// The error of the counts of all trained addresses, by rank.
    pub ranks: Vec<rank::Rank>,
}

/// All that was measured.
#[derive(Debug)]
pub struct Streams {
    /// What was asked for.
    pub job: Job,
    /// Addresses drawn uniformly, as Fragkoulis draws them, and skewed ones.
    pub data: Vec<Data>,
    /// What was measured on Spark beside it.
    pub spark: Option<Spark>,
}

/// Measures it, with files in this folder.
pub fn streams(job: &Job, folder: &Path, control: &Control) -> Result<Streams> {
    let (distinct, skew) = job.skewed;
    let data = [("any address", generate::ADDRESSES, 0.0), ("skewed", distinct, skew)];
    let measured = data.into_iter().enumerate().map(|(i, (name, distinct, skew))| {
        let folder = folder.join(i.to_string());
        fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        let generate = |out: &mut dyn Write, rows, seed| generate::ips(out, rows, distinct, skew, seed);
        measure(job, name, &folder, &generate, control)
    });
    Ok(Streams { job: job.clone(), data: measured.collect::<Result<_>>()?, spark: None })
}

type Generate<'g> = &'g dyn Fn(&mut dyn Write, u64, u64) -> io::Result<()>;

fn measure(
    job: &Job,
    name: &'static str,
    folder: &Path,
    generate: Generate<'_>,
    control: &Control,
) -> Result<Data> {
    let [train, ask] = &["train.txt", "ask.txt"].map(|name| folder.join(name));
    for (path, rows, seed) in [(train, job.rows, job.seed), (ask, job.queries, job.seed + 1)] {
        files::write_whole(path, |out| generate(out, rows, seed))?;
    }
    let states = [0, 1, 2, 3].map(|number| folder.join(format!("run-{number}")));
    let learned = |name: &str| Some(states[0].join(name));
    let parts = [
        (TRAINING, Some(train), None, None),
        (QUERIES[0], None, Some(ask), learned("filter.tamis")),
        (QUERIES[1], None, Some(ask), learned("counts.tamis")),
        ("both streams", Some(train), Some(ask), None),
    ];
    let (mut runs, mut batches) = (Vec::new(), Vec::new());
    for ((name, train, ask, from), state) in parts.into_iter().zip(&states) {
        let (report, of_batches) = run(job, train, ask, from, state, control)?;
        let status = &report.status;
        runs.push(Run { name, rows: status.rows, queries: status.queries, time: report.time, spark: None });
        batches = of_batches;
    }
    let [trained, asked] = [addresses(train)?, addresses(ask)?];
    let (distinct, answers) = judge(job, &trained, &asked, &batches, &states[3])?;
    let ranks = ranks(job, train, &states[3].join("counts.tamis"), control)?;
    Ok(Data { name, distinct, runs, answers, ranks })
}

/// One run, with its answers in the folder of its state; and what is told of its batches.
fn run(
    job: &Job,
    train: Option<&PathBuf>,
    ask: Option<&PathBuf>,
    from: Option<PathBuf>,
    state: &Path,
    control: &Control,
) -> Result<(tamis_stream::Report, Vec<Batch>)> {
    fs::create_dir_all(state).map_err(Error::io(state))?;
    let input = |role| {
        let path = match role {
            Role::Train => train,
            Role::Query => ask,
            Role::Remove => None,
        };
        let named = path.map(|path| Named::of(&[path.display().to_string()])).transpose()?;
        let (recipe, options) = (Recipe::lines(), Options::default());
        Ok::<_, Error>(named.map(|named| Input { named, recipe, options }))
    };
    let file = |name: &str| match ask {
        Some(_) => Target::File(state.join(name)),
        None => Target::Nowhere,
    };
    let common = |kind| Common { kind, hash: Scheme::DEFAULT, recipe: Recipe::lines() };
    let (kind, sizing) = match &from {
        None => (Kind::Scalable, Sizing::Growing(FIRST_KEYS, job.fpr)),
        Some(path) => {
            let params = files::open(path)?.params().clone();
            let kind = params.common.kind;
            let grown = (kind == Kind::Scalable).then_some(Sizing::Growing(FIRST_KEYS, job.fpr));
            (kind, grown.unwrap_or(Sizing::Params(params)))
        }
    };
    let counts = match from {
        Some(_) => None,
        None => Some(Counts {
            common: common(Kind::CountMin),
            sizing: Sizing::Counters(Counters::for_error(job.epsilon, job.delta, 64)?),
            output: file("counts.txt"),
        }),
    };
    let batches: Arc<Mutex<Vec<Batch>>> = Arc::default();
    let heard = Arc::clone(&batches);
    let watch =
        Watch::hearing(move |batch, _| heard.lock().unwrap_or_else(PoisonError::into_inner).push(*batch));
    let job = tamis_stream::Job {
        inputs: ByRole::try_of(input)?,
        follow: false,
        options: Options::default(),
        common: common(kind),
        sizing,
        counts,
        from,
        batch: job.batch,
        every: None,
        output: file("seen.txt"),
        rebuild_above: None,
        window: None,
        state: Some(state.into()),
        commit_every: Duration::from_secs(1),
        reconnect: None,
        lost: Lost::Stop,
        idle: Idle::default(),
        kafka: Default::default(),
        bad_rows: BadRows::Fail,
        threads: job.threads,
    };
    let report = tamis_stream::stream(&job, control, &watch)?;
    drop(watch);
    let batches = batches.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok((report, batches))
}

/// The error of the counts by the rank of the addresses that were trained.
fn ranks(job: &Job, train: &Path, sketches: &Path, control: &Control) -> Result<Vec<rank::Rank>> {
    let test = rank::Job {
        said: tamis_make::foreign::Said::default(),
        sketches: sketches.into(),
        inputs: vec![train.display().to_string()],
        options: Options::default(),
        recipe: Recipe::lines(),
        bad_rows: BadRows::Fail,
        threads: job.threads,
    };
    Ok(rank::check(&test, control)?.ranks)
}

/// A line that a stream should not have written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Something else in the place of an address.
    #[error("{line:?} is not an address")]
    NotAnAddress {
        /// The line.
        line: String,
    },
    /// Something else in the place of an answer.
    #[error("{line:?} is not an estimate of {address}")]
    NotAnEstimate {
        /// The line.
        line: String,
        /// The address that was asked for.
        address: Ipv4Addr,
    },
}

impl refusal::Refusal for Refusal {}

/// The addresses of a file.
fn addresses(path: &Path) -> Result<Vec<u32>> {
    let file = File::open(path).map_err(Error::io(path))?;
    let lines = BufReader::new(file).lines();
    lines.map(|line| address(&line.map_err(Error::io(path))?, path)).collect()
}

fn address(line: &str, path: &Path) -> Result<u32> {
    let wrong = |_| Error::input(path, Refusal::NotAnAddress { line: line.to_owned() });
    line.parse::<Ipv4Addr>().map(u32::from).map_err(wrong)
}

/// Holds what both streams answered against the truth, which is counted again, batch by batch.
fn judge(
    job: &Job,
    trained: &[u32],
    asked: &[u32],
    batches: &[Batch],
    folder: &Path,
) -> Result<(u64, Answers)> {
    let mut truth: HashMap<u32, u64> = HashMap::new();
    // How often an address had to be given, and was.
    let mut due: HashMap<u32, (u64, u64)> = HashMap::new();
    let mut answers = Answers::default();
    let path = folder.join("counts.txt");
    let mut estimates = BufReader::new(File::open(&path).map_err(Error::io(&path))?).lines();
    let (mut trained, mut asked) = (trained.chunks(job.batch), asked.chunks(job.batch));
    let mut rows = 0;
    for batch in batches {
        for &address in trained.next().unwrap_or_default() {
            *truth.entry(address).or_default() += 1;
            rows += 1;
        }
        let bound = job.epsilon * rows as f64;
        let mut once = HashSet::new();
        let mut sieved = Sieved { answered: batch.answers, ..Sieved::default() };
        for &address in asked.next().unwrap_or_default().iter().filter(|address| once.insert(**address)) {
            let count = truth.get(&address).copied();
            sieved.asked += 1;
            sieved.seen += u64::from(count.is_some());
            due.entry(address).or_default().0 += u64::from(count.is_some());
            let line = estimates.next().transpose().map_err(Error::io(&path))?.unwrap_or_default();
            let estimate = estimate(&line, address, &path)?;
            answers.counts.take(count.unwrap_or(0), estimate, bound);
        }
        answers.batches.push(sieved);
    }
    let path = folder.join("seen.txt");
    for address in addresses(&path)? {
        due.entry(address).or_default().1 += 1;
    }
    answers.missing = due.values().map(|(due, given)| due.saturating_sub(*given)).sum();
    Ok((truth.len() as u64, answers))
}

/// The estimate in a line of answers, which must be that of this address.
fn estimate(line: &str, address: u32, path: &Path) -> Result<u64> {
    let wrong = || {
        let (line, address) = (line.to_owned(), Ipv4Addr::from(address));
        Error::input(path, Refusal::NotAnEstimate { line, address })
    };
    let (key, estimate) = line.split_once('\t').ok_or_else(wrong)?;
    if key.parse() != Ok(Ipv4Addr::from(address)) {
        return Err(wrong());
    }
    estimate.parse().map_err(|_| wrong())
}

impl Counted {
    fn take(&mut self, truth: u64, estimate: u64, bound: f64) {
        let error = estimate.saturating_sub(truth);
        self.asked += 1;
        self.below += u64::from(estimate < truth);
        self.over += u64::from(error as f64 > bound);
        self.errors += error;
        self.largest = self.largest.max(error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(batch: usize) -> Job {
        Job {
            rows: 30_000,
            queries: 20_000,
            skewed: (5_000, 1.0),
            batch,
            fpr: 0.01,
            epsilon: 0.001,
            delta: 0.01,
            seed: 1,
            threads: 2,
        }
    }

    #[test]
    fn answers_hold_against_the_truth_whatever_the_batches() {
        for batch in [1_000, 7_777, 1_000_000] {
            let folder = tempfile::tempdir().unwrap();
            let found = streams(&job(batch), folder.path(), &Control::default()).unwrap();
            assert!(found.passed(), "{:?}", found.data);
            for data in &found.data {
                let total = data.answers.total();
                assert_eq!(data.answers.batches.len(), 30_000usize.div_ceil(batch));
                assert_eq!(total.asked, data.answers.counts.asked);
                let false_rate = total.rate();
                assert!(false_rate <= 0.013, "{}: {false_rate}", data.name); // 0.01 and five deviations
            }
            let skewed = found.data[1].answers.total();
            assert!(skewed.seen > skewed.asked / 4, "files of different seeds are about the same addresses");
            assert!(found.page().html().contains("</html>"));
        }
    }

    /// A judge that cannot find fault proves nothing.
    #[test]
    fn an_answer_that_is_missing_and_an_estimate_that_is_too_low_are_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("seen.txt"), "0.0.0.1\n").unwrap();
        fs::write(folder.path().join("counts.txt"), "0.0.0.1\t1\n0.0.0.2\t1\n").unwrap();
        let batch = Batch {
            batch: 1,
            rows: 3,
            queries: 2,
            distinct: 2,
            answers: 1,
            removed: 0,
            missing: 0,
            time: Duration::ZERO,
            replayed: false,
        };
        let (distinct, answers) = judge(&job(10), &[1, 1, 2], &[1, 2, 1], &[batch], folder.path()).unwrap();
        assert_eq!((distinct, answers.missing, answers.counts.below), (2, 1, 1));
        assert!(judge(&job(10), &[1], &[3], &[batch], folder.path()).is_err(), "another key's estimate");
    }
}
