//! The same streams on Spark Structured Streaming: what goes there, and what comes back.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tamis::countmin;
use tamis::sizing::Kind;
use tamis_read::error::{Error, Result};

use super::{Data, Job, QUERIES, Streams, TRAINING, address, addresses, estimate};

/// What was measured on Spark.
#[derive(Debug, Clone)]
pub struct Spark {
    /// The cluster.
    pub on: String,
    /// Answers that are missing, and estimates below the truth: none.
    pub wrong: u64,
}

impl Spark {
    /// What stands below the table of times.
    pub(super) fn note(&self) -> String {
        format!(
            "Spark: Fragkoulis's design in Structured Streaming, in this run, on {}, with the same addresses and \
             batches: positions as keys, duplicates removed in each batch, the state in RocksDB, answers by a join. \
             Its time begins when its session is there; the first addresses also pay for warming up its Java.",
            self.on
        )
    }
}

/// The files of one kind of addresses in the folder of an experiment.
fn folder(scratch: &Path, at: usize) -> PathBuf {
    scratch.join(at.to_string())
}

/// What Spark is asked to do with the addresses of an experiment that has just run: one request for each kind of
/// addresses. A filter there does not grow: it is planned for all rows.
pub fn requests(job: &Job, scratch: &Path, kinds: usize) -> Result<Vec<Value>> {
    let filter = Kind::Bloom.shape_for_rate(job.rows, job.fpr)?;
    let counters = countmin::shape(job.epsilon, job.delta, 64)?;
    let request = |at: usize| {
        let folder = folder(scratch, at);
        json!({
            "train": folder.join("train.txt"), "ask": folder.join("ask.txt"), "folder": folder.join("spark"),
            "batch": job.batch, "bits": filter.bits(), "hashes": filter.hashes(),
            "row": counters.row(), "depth": counters.hashes(),
        })
    };
    Ok((0..kinds).map(request).collect())
}

impl Streams {
    /// Puts beside our times what Spark told of each kind of addresses, after its answers are held against the
    /// truth.
    pub fn beside(&mut self, on: String, told: &[Value], scratch: &Path) -> Result<()> {
        let mut wrong = 0;
        for (at, (data, told)) in self.data.iter_mut().zip(told).enumerate() {
            wrong += wrong_answers(&self.job, &folder(scratch, at))?;
            take_times(data, told);
        }
        self.spark = Some(Spark { on, wrong });
        Ok(())
    }
}

fn take_times(data: &mut Data, told: &Value) {
    let seconds =
        |name: &str| told[name].as_f64().filter(|seconds| *seconds > 0.0).map(Duration::from_secs_f64);
    for run in &mut data.runs {
        run.spark = match run.name {
            TRAINING => seconds("train_filter").zip(seconds("train_counts")).map(|(one, other)| one + other),
            name if name == QUERIES[0] => seconds("ask_filter"),
            name if name == QUERIES[1] => seconds("ask_counts"),
            _ => None,
        };
    }
}

/// Addresses that came and were not given, and estimates below the truth. All was learned before anything was
/// asked.
fn wrong_answers(job: &Job, folder: &Path) -> Result<u64> {
    let mut truth: HashMap<u32, u64> = HashMap::new();
    addresses(&folder.join("train.txt"))?
        .into_iter()
        .for_each(|address| *truth.entry(address).or_default() += 1);
    let asked = addresses(&folder.join("ask.txt"))?;
    let mut wrong = 0;
    for (number, batch) in asked.chunks(job.batch).enumerate() {
        let once: HashSet<u32> = batch.iter().copied().collect();
        let (seen, counts) = (answers(folder, "seen", number)?, answers(folder, "counts", number)?);
        let mut given = HashSet::new();
        for (path, line) in &seen {
            given.insert(address(line, path)?);
        }
        wrong += once.iter().filter(|one| truth.contains_key(one) && !given.contains(one)).count() as u64;
        let mut estimated = HashSet::new();
        for (path, line) in &counts {
            let of = address(line.split('\t').next().unwrap_or_default(), path)?;
            estimated.insert(of);
            wrong += u64::from(estimate(line, of, path)? < truth.get(&of).copied().unwrap_or(0));
        }
        wrong += once.iter().filter(|one| truth.contains_key(one) && !estimated.contains(one)).count() as u64;
    }
    Ok(wrong)
}

/// The lines that Spark wrote for a batch, with the files in which they stand.
fn answers(folder: &Path, name: &str, batch: usize) -> Result<Vec<(PathBuf, String)>> {
    let folder = folder.join("spark").join(name).join(format!("batch={batch}"));
    let mut lines = Vec::new();
    for entry in fs::read_dir(&folder).map_err(Error::io(&folder))? {
        let path = entry.map_err(Error::io(&folder))?.path();
        let of_answers = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"part-"));
        if of_answers {
            let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
            lines.extend(text.lines().map(|line| (path.clone(), line.to_owned())));
        }
    }
    Ok(lines)
}
