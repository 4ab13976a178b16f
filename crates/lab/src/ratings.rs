//! The experiment of Antonio Patimo (Bloom Filters in Spark): ten filters of film ratings, one for each
//! rounded rating, tested against each other's keys.

mod render;

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::Common;
use tamis::sizing::Kind;
use tamis_jobs::check;
use tamis_jobs::request::at_rate;
use tamis_make::rows::BadRows;
use tamis_make::{build, files};
use tamis_read::error::{Error, Result};
use tamis_read::{Control, Options};
use tamis_report::contents;

/// The rates that Patimo tries.
pub const RATES: [f64; 4] = [0.001, 0.01, 0.05, 0.1];

/// The threads that he tries (his executors).
pub const THREADS: [usize; 4] = [1, 2, 3, 4];

/// The rates that he prints for the ratings 1 to 10, for each of [`RATES`].
const PRINTED: [[f64; 4]; 10] = [
    [0.0010, 0.0106, 0.0490, 0.0939],
    [0.0010, 0.0102, 0.0478, 0.0911],
    [0.0010, 0.0099, 0.0486, 0.0915],
    [0.0010, 0.0101, 0.0476, 0.0914],
    [0.0010, 0.0100, 0.0480, 0.0918],
    [0.0010, 0.0099, 0.0479, 0.0917],
    [0.0010, 0.0097, 0.0479, 0.0910],
    [0.0010, 0.0101, 0.0478, 0.0914],
    [0.0010, 0.0098, 0.0476, 0.0910],
    [0.0010, 0.0097, 0.0484, 0.0920],
];

/// Its run times for each of [`RATES`] and [`THREADS`]; it gives no unit, surely milliseconds.
const TIMES: [[u64; 4]; 4] = [
    [182_841, 137_614, 135_178, 145_495],
    [151_041, 116_322, 115_362, 120_189],
    [110_881, 96_431, 98_466, 106_159],
    [100_432, 90_039, 92_057, 95_315],
];

/// Patimo's recipe.
pub fn recipe() -> Recipe {
    Recipe {
        key: vec!["tconst".parse().expect("a column")],
        group: Some("averageRating:round".parse().expect("a column with a step")),
        ..Recipe::lines()
    }
}

/// A scheme that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ours {
    /// Patimo's own: murmur3, his m and k.
    Printed,
    /// The default.
    Default,
}

impl Ours {
    const ALL: [Ours; 2] = [Ours::Printed, Ours::Default];

    fn name(self) -> &'static str {
        match self {
            Ours::Printed => "Patimo's scheme (bloom, murmur3)",
            Ours::Default => "ours (blocked, xxh3)",
        }
    }

    /// Its word in results for programs.
    fn word(self) -> &'static str {
        match self {
            Ours::Printed => "printed",
            Ours::Default => "default",
        }
    }

    fn common(self) -> Common {
        let (kind, hash) = match self {
            Ours::Printed => (Kind::Bloom, Scheme::Murmur3),
            Ours::Default => (Kind::Blocked, Scheme::DEFAULT),
        };
        Common { kind, hash, recipe: recipe() }
    }
}

/// Where something ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In this process, on this many threads.
    Threads(usize),
    /// On Spark, on this many executors.
    Executors(usize),
}

impl Place {
    /// Threads or executors.
    pub fn workers(self) -> usize {
        match self {
            Place::Threads(workers) | Place::Executors(workers) => workers,
        }
    }
}

/// The names of the phases: the start of an application, and Patimo's three.
pub const PHASES: [&str; 4] = ["start", "parameters", "filters", "test"];

/// One run: a rate, a scheme, a place.
#[derive(Debug)]
pub struct Run {
    /// The target rate.
    pub fpr: f64,
    /// The scheme.
    pub scheme: Ours,
    /// Where it ran.
    pub place: Place,
    /// How long each of [`PHASES`] took, where there was one.
    pub phases: [Option<Duration>; 4],
    /// What the test found.
    pub report: check::Report,
}

impl Run {
    /// All phases.
    pub fn time(&self) -> Duration {
        self.phases.into_iter().flatten().sum()
    }
}

/// Everything measured.
#[derive(Debug)]
pub struct Reproduction {
    /// All runs.
    pub runs: Vec<Run>,
    /// The cluster, where some ran on Spark.
    pub on: Option<String>,
    /// Titles in the table.
    pub rows: u64,
}

/// Builds and tests for every rate, scheme and number of threads. Each time is the best of
/// `repeats`, of building and testing in one process.
pub fn ratings(table: &str, scratch: &Path, repeats: usize, control: &Control) -> Result<Reproduction> {
    let mut runs: Vec<Run> = Vec::new();
    let mut rows = 0;
    for fpr in RATES {
        for scheme in Ours::ALL {
            for threads in THREADS {
                let mut best: Option<Run> = None;
                for _ in 0..repeats.max(1) {
                    control.check()?;
                    let run = run(table, &scratch.join("reproduce.tamis"), fpr, scheme, threads, control)?;
                    rows = run.report.rows;
                    if best.as_ref().is_none_or(|best| run.time() < best.time()) {
                        best = Some(run);
                    }
                }
                runs.extend(best);
            }
        }
    }
    Ok(Reproduction { runs, on: None, rows })
}

fn run(
    table: &str,
    filters: &Path,
    fpr: f64,
    scheme: Ours,
    threads: usize,
    control: &Control,
) -> Result<Run> {
    let job = build::Job {
        inputs: vec![table.into()],
        options: Options::default(),
        sketches: at_rate(&scheme.common(), fpr)?,
        recipe: recipe(),
        bad_rows: BadRows::Fail,
        threads,
        memory: tamis_make::count::MEMORY,
        about: Default::default(),
    };
    let built = build::build(&job, filters, control)?;
    let test = check::Job::of_built(filters.to_owned(), job);
    let report = check::check(&test, control)?;
    let (filters, parameters): (Vec<_>, Vec<_>) = built.phases.iter().partition(|(name, _)| *name == "build");
    let sum = |phases: Vec<&(&str, Duration)>| Some(phases.into_iter().map(|(_, time)| *time).sum());
    let phases = [None, sum(parameters), sum(filters), sum(report.phases.iter().collect())];
    Ok(Run { fpr, scheme, place: Place::Threads(threads), phases, report })
}

/// Saves what each phase of Patimo's program makes, in a folder for each of [`RATES`]: `params.json`;
/// `filters.tamis`, and as 0 and 1 in `filters.txt`; `rates.csv`.
pub fn save(table: &str, folder: &Path, control: &Control) -> Result<()> {
    for fpr in RATES {
        let folder = folder.join(format!("p-{fpr}"));
        fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        let filters = folder.join("filters.tamis");
        let run = run(table, &filters, fpr, Ours::Printed, 1, control)?;
        let file = files::open(&filters)?;
        let params = file.params();
        files::write_whole(&folder.join("params.json"), |out| {
            serde_json::to_writer_pretty(&mut *out, params)?;
            writeln!(out)
        })?;
        files::write_whole(&folder.join("filters.txt"), |out| {
            let mut out = BufWriter::new(out);
            for at in params.natural_order() {
                contents::write(&mut out, &params.groups[at], file.section(at), contents::Form::Bits)?;
            }
            out.flush()
        })?;
        files::write_whole(&folder.join("rates.csv"), |out| {
            tamis_report::check::csv(&run.report).write(out)
        })?;
    }
    Ok(())
}
