//! The experiment of Luisa Collodi and Matteo Ghera (Implementation of Bloom Filter using Java and Java
//! Hadoop): words sieved by a filter of a random sample of them, sequentially and
//! on threads, with Collodi and Ghera's hash family and with our filter.

mod mapreduce;
mod render;
mod schemes;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tamis::hash::xxh3;
use tamis_jobs::statistics::mean_and_deviation;
use tamis_make::parallel;
use tamis_read::Control;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{Help, Refusal};

use crate::generate::Words;
use crate::sample;

pub use mapreduce::{Counted, MapReduce};
pub use render::REMARKS;
use schemes::{OfOurs, OfPrint, Sieve};

/// Letters of a word, as Collodi and Ghera have them.
pub const LETTERS: usize = 30;

type Word = [u8; LETTERS];

/// A data set of Collodi and Ghera, and their times in milliseconds. They leave out the initialisation.
#[derive(Debug, Clone, Copy)]
pub struct Printed {
    /// Words.
    pub records: u64,
    /// Size of S.
    pub sample: u64,
    /// Length of the filter.
    pub bits: u64,
    /// The sequential version.
    pub sequential: f64,
    /// The parallel one, on two threads.
    pub parallel: f64,
}

impl Printed {
    const fn new(records: u64, sample: u64, bits: u64, sequential: f64, parallel: f64) -> Printed {
        Printed { records, sample, bits, sequential, parallel }
    }

    /// What these times amount to.
    pub fn speedup(&self) -> f64 {
        self.sequential / self.parallel
    }
}

/// Collodi and Ghera's data sets, and their table by size.
pub const PRINTED: [Printed; 5] = [
    Printed::new(10_000, 39, 100, 2.67, 2.11),
    Printed::new(100_000, 409, 1050, 2.00, 2.56),
    Printed::new(500_000, 2012, 5160, 5.00, 5.00),
    Printed::new(1_000_000, 39_176, 10_200, 5.67, 5.44),
    Printed::new(2_000_000, 8018, 20_560, 7.67, 6.56),
];

/// Collodi and Ghera's milliseconds by number of threads, for two million words; 1 is their sequential
/// version.
pub const PRINTED_BY_THREADS: [(usize, f64); 6] =
    [(1, 7.22), (2, 6.44), (3, 11.22), (5, 12.00), (10, 15.78), (15, 17.78)];

/// Bits of the filter for each key of S that Collodi and Ghera's lengths amount to.
const BITS_PER_KEY: f64 = 2.56;

/// The best number of hash functions for these (2.56 ln 2 = 1.77); Collodi and Ghera give none.
const HASHES: u32 = 2;

/// Our filter is sized for this rate.
pub const FPR: f64 = 0.01;

/// The largest gap between words of S: 250.5 on average.
const LIMIT: u64 = 500;

/// The gap that gives as many as Collodi and Ghera print for a million words: 25.5 on average.
const SMALL_LIMIT: u64 = 50;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Job {
    /// Words of each data set.
    pub sizes: Vec<u64>,
    /// Threads tried on the largest of them; all others are measured on one and two.
    pub threads: Vec<usize>,
    /// Each time is measured this many times.
    pub repeats: usize,
    /// A much larger data set; 0 for none.
    pub records: u64,
    /// Each of its times is measured this many times.
    pub records_repeats: usize,
    /// The seed of the words, of the samples and of Collodi and Ghera's factors.
    pub seed: u64,
}

/// Whose filter it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// The classic filter with Collodi and Ghera's hash family.
    Printed,
    /// The blocked filter and XXH3, asked in batches, sized for 1 %.
    Ours,
}

/// What was measured for a scheme and a number of threads: what Collodi and Ghera report.
#[derive(Debug, Clone)]
pub struct Run {
    /// The scheme.
    pub scheme: Scheme,
    /// Threads; 1 is the sequential version, which starts none.
    pub threads: usize,
    /// Hash functions.
    pub hashes: u32,
    /// Length of the filter.
    pub bits: u64,
    /// Words analysed.
    pub analysed: u64,
    /// Words admitted.
    pub admitted: u64,
    /// Words expected to be admitted.
    pub expected: f64,
    /// Words of S that are not admitted.
    pub lost: u64,
    /// Whether every repeat gave the filter and the answers of the sequential version.
    pub same: bool,
    /// Times of the first phase.
    pub initialise: Vec<Duration>,
    /// Times of the second phase.
    pub analyse: Vec<Duration>,
}

/// What was measured with one data set.
#[derive(Debug, Clone)]
pub struct Set {
    /// Words.
    pub records: u64,
    /// The largest gap between two words of S.
    pub limit: u64,
    /// Words in S.
    pub sample: u64,
    /// Whether it is the much larger one.
    pub large: bool,
    /// By scheme and threads.
    pub runs: Vec<Run>,
}

/// Everything measured.
#[derive(Debug, Clone)]
pub struct Speedup {
    /// What was asked.
    pub job: Job,
    /// Cores of the machine.
    pub cores: usize,
    /// By data set.
    pub sets: Vec<Set>,
    /// Both phases as jobs of MapReduce, where they were run.
    pub mapreduce: Option<MapReduce>,
}

/// What a run took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phases {
    /// The analysis alone, which is what Collodi and Ghera time.
    Analysis,
    /// Both phases.
    Both,
}

impl Run {
    /// Words rejected.
    pub fn rejected(&self) -> u64 {
        self.analysed - self.admitted
    }

    /// The mean of the times and their standard deviation, in seconds.
    pub fn time(&self, phases: Phases) -> (f64, f64) {
        let analyse = self.analyse.iter().map(Duration::as_secs_f64);
        let seconds: Vec<f64> = match phases {
            Phases::Analysis => analyse.collect(),
            Phases::Both => {
                analyse.zip(&self.initialise).map(|(time, first)| time + first.as_secs_f64()).collect()
            }
        };
        mean_and_deviation(&seconds)
    }
}

impl Set {
    /// The run with this scheme and this many threads.
    pub fn find(&self, scheme: Scheme, threads: usize) -> Option<&Run> {
        self.runs.iter().find(|run| run.scheme == scheme && run.threads == threads)
    }

    /// How many times faster than the sequential version of the same scheme, by the means.
    pub fn speedup(&self, run: &Run, phases: Phases) -> Gain {
        let Some(one) = self.find(run.scheme, 1) else { return Gain { value: f64::NAN, error: f64::NAN } };
        if run.threads == 1 {
            return Gain { value: 1.0, error: 0.0 };
        }
        let (before, after) = (one.time(phases), run.time(phases));
        let value = before.0 / after.0;
        let repeats = run.analyse.len().min(one.analyse.len());
        let relative = |(mean, deviation): (f64, f64)| deviation / mean / (repeats as f64).sqrt();
        let error = value * student(repeats) * relative(before).hypot(relative(after));
        Gain { value, error }
    }
}

/// How many times faster one program is than another.
#[derive(Debug, Clone, Copy)]
pub struct Gain {
    /// The ratio of the means.
    pub value: f64,
    /// Half of its 95 % interval, by the deviations of the times.
    pub error: f64,
}

impl Gain {
    /// Whether the interval is small enough to say something: a tenth of the ratio, to either side.
    pub fn is_clear(&self) -> bool {
        self.error <= 0.1 * self.value
    }
}

/// The standard errors in half of a 95 % interval of a mean of this number of values: Student's t.
fn student(values: usize) -> f64 {
    match values {
        0 | 1 => f64::INFINITY,
        2 => 12.71,
        3 => 4.30,
        4 => 3.18,
        5 => 2.78,
        _ => 1.96 + 2.4 / (values - 2) as f64, // within half a percent
    }
}

impl Speedup {
    /// Whether threads changed no answer, and no word of S was rejected.
    pub fn holds(&self) -> bool {
        self.sets.iter().flat_map(|set| &set.runs).all(|run| run.same && run.lost == 0)
            && self.mapreduce.as_ref().is_none_or(MapReduce::holds)
    }
}

/// A data set to be measured.
struct Plan {
    records: u64,
    limit: u64,
    large: bool,
    threads: Vec<usize>,
    repeats: usize,
}

impl Plan {
    /// Steps of work: words made, and words analysed by both schemes.
    fn steps(&self) -> u64 {
        let rounds = 1 + self.repeats as u64 * self.threads.len() as u64;
        self.records.saturating_mul(1 + 2 * rounds)
    }
}

/// The data sets, in Collodi and Ghera's order; the million twice, with both sizes of S.
fn plans(job: &Job, cores: usize) -> Vec<Plan> {
    let ascending = |more: &[usize]| {
        let mut threads = [&[1, 2], more].concat();
        threads.sort_unstable();
        threads.dedup();
        threads
    };
    let mut plans = Vec::new();
    let largest = job.sizes.iter().max();
    for &records in &job.sizes {
        let more: &[usize] = if Some(&records) == largest { &job.threads } else { &[] };
        let (threads, repeats) = (ascending(more), job.repeats.max(1));
        let limits: &[u64] = if records == 1_000_000 { &[LIMIT, SMALL_LIMIT] } else { &[LIMIT] };
        for &limit in limits {
            plans.push(Plan { records, limit, large: false, threads: threads.clone(), repeats });
        }
    }
    if job.records > 0 {
        let (threads, repeats) = (ascending(&[cores]), job.records_repeats.max(1));
        plans.push(Plan { records: job.records, limit: LIMIT, large: true, threads, repeats });
    }
    plans
}

/// Measures all data sets.
pub fn speedup(job: &Job, control: &Control) -> Result<Speedup> {
    let cores = parallel::default_threads();
    let plans = plans(job, cores);
    control.begin(plans.iter().map(Plan::steps).fold(0, u64::saturating_add));
    let sets = plans.iter().map(|plan| measure_set(plan, job.seed, control)).collect::<Result<_>>()?;
    Ok(Speedup { job: job.clone(), cores, sets, mapreduce: None })
}

fn measure_set(plan: &Plan, seed: u64, control: &Control) -> Result<Set> {
    let words = words(plan.records, seed, parallel::default_threads(), control)?;
    let sample: Vec<Word> = chosen(plan.records, plan.limit, seed).map(|i| words[i as usize]).collect();
    let keys = sample.len() as u64;
    let printed = PRINTED.iter().find(|printed| printed.records == plan.records && !plan.large);
    let bits = printed.map_or((BITS_PER_KEY * keys as f64).round() as u64, |printed| printed.bits);
    let printed = OfPrint::new(bits, HASHES, !seed)?; // the samples have the seed itself
    let mut runs = measure(Scheme::Printed, &printed, plan, &words, &sample, control)?;
    runs.extend(measure(Scheme::Ours, &OfOurs::new(keys, FPR)?, plan, &words, &sample, control)?);
    Ok(Set { records: plan.records, limit: plan.limit, sample: keys, large: plan.large, runs })
}

/// Measures one scheme. Numbers of threads take turns, so that a machine that is slower for a
/// while is so for all of them.
fn measure<S: Sieve>(
    scheme: Scheme,
    empty: &S,
    plan: &Plan,
    words: &[Word],
    sample: &[Word],
    control: &Control,
) -> Result<Vec<Run>> {
    // The answers that all others must agree with; this round warms up as well, and has no time.
    let reference = initialise(empty, sample, 1)?;
    let admitted = analyse(&reference, words, 1, control)?;
    let keys = sample.len() as u64;
    let run = |&threads: &usize| Run {
        scheme,
        threads,
        hashes: empty.hashes(),
        bits: empty.bits(),
        analysed: plan.records,
        admitted,
        expected: keys as f64 + (plan.records - keys) as f64 * empty.rate(keys),
        lost: keys - reference.admitted(sample),
        same: true,
        initialise: Vec::new(),
        analyse: Vec::new(),
    };
    let mut runs: Vec<Run> = plan.threads.iter().map(run).collect();
    for _ in 0..plan.repeats {
        for run in &mut runs {
            let start = Instant::now();
            let filter = initialise(empty, sample, run.threads)?;
            run.initialise.push(start.elapsed());
            let start = Instant::now();
            let found = analyse(&filter, words, run.threads, control)?;
            run.analyse.push(start.elapsed());
            run.same &= found == admitted && filter.same(&reference);
        }
    }
    Ok(runs)
}

/// The first phase: each thread fills a filter of its own with its part of S.
fn initialise<S: Sieve>(empty: &S, sample: &[Word], threads: usize) -> Result<S> {
    let filters = parallel::each(threads, threads, |i| {
        let mut filter = empty.empty()?;
        filter.add(part(sample, i, threads));
        Ok(filter)
    })?;
    let mut filters = filters.into_iter();
    let first = filters.next().map_or_else(|| empty.empty(), Ok)?;
    filters.try_fold(first, |all, filter| all.join(&filter))
}

/// Words analysed between two looks at whether to stop.
const CHUNK: usize = 1 << 16;

/// The second phase: each thread counts the admitted words of its part.
fn analyse<S: Sieve>(filter: &S, words: &[Word], threads: usize, control: &Control) -> Result<u64> {
    let counts = parallel::each(threads, threads, |i| {
        let mut admitted = 0;
        for chunk in part(words, i, threads).chunks(CHUNK) {
            control.check()?;
            admitted += filter.admitted(chunk);
            control.advance(chunk.len() as u64);
        }
        Ok(admitted)
    })?;
    Ok(counts.into_iter().sum())
}

/// The part of a thread, as Collodi and Ghera cut: equal parts, and the last takes the rest.
fn part<T>(all: &[T], i: usize, threads: usize) -> &[T] {
    let each = all.len() / threads;
    let end = if i + 1 == threads { all.len() } else { (i + 1) * each };
    &all[i * each..end]
}

/// The numbers of the words that are drawn into S.
fn chosen(records: u64, limit: u64, seed: u64) -> impl Iterator<Item = u64> {
    sample::places(limit, seed).take_while(move |at| *at < records)
}

/// Writes the words of a data set and those of S, one per line; how many are in S.
pub fn write_set(
    records: u64,
    seed: u64,
    people: &mut dyn Write,
    sample: &mut dyn Write,
    control: &Control,
) -> Result<u64> {
    let words = words(records, seed, parallel::default_threads(), control)?;
    let lines = |out: &mut dyn Write, words: &mut dyn Iterator<Item = &Word>| -> io::Result<u64> {
        let mut written = 0;
        for word in words {
            out.write_all(word)?;
            out.write_all(b"\n")?;
            written += 1;
        }
        out.flush()?;
        Ok(written)
    };
    lines(people, &mut words.iter()).map_err(Error::io("people"))?;
    let mut chosen = chosen(records, LIMIT, seed).map(|i| &words[i as usize]);
    lines(sample, &mut chosen).map_err(Error::io("S"))
}

/// There is no memory for the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no memory for {records} words of {LETTERS} letters")]
pub struct NoMemory {
    /// Words that were asked for.
    records: u64,
}

impl Refusal for NoMemory {
    fn help(&self) -> Vec<Help> {
        vec![Help::Do("try with fewer records")]
    }
}

/// Words that are made from one seed.
const BLOCK: usize = 1 << 14;

/// Pronounceable words, one after the other in memory: the same for any number of threads.
fn words(records: u64, seed: u64, threads: usize, control: &Control) -> Result<Vec<Word>> {
    let mut words: Vec<Word> = Vec::new();
    let reserved = usize::try_from(records).is_ok_and(|records| words.try_reserve_exact(records).is_ok());
    if !reserved {
        return Err(NoMemory { records }.into());
    }
    words.resize(records as usize, [0; LETTERS]);
    let blocks: Vec<Mutex<&mut [Word]>> = words.chunks_mut(BLOCK).map(Mutex::new).collect();
    parallel::each(threads, blocks.len(), |i| {
        control.check()?;
        let mut from = Words::new(LETTERS, xxh3(&(i as u64).to_le_bytes(), seed));
        let mut made = Vec::with_capacity(LETTERS);
        let mut block = blocks[i].lock().expect("no holder panics");
        for word in block.iter_mut() {
            made.clear();
            from.next(&mut made);
            word.copy_from_slice(&made);
        }
        control.advance(block.len() as u64);
        Ok(())
    })?;
    drop(blocks);
    Ok(words)
}
