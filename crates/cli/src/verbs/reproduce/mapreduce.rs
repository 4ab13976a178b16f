//! Collodi and Ghera's two jobs of MapReduce, by Hadoop Streaming with this program as mapper and reducer.

use std::fs::{self, File};
use std::io::BufWriter;
use std::process;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tamis_lab::speedup::{self, Counted, MapReduce};

use crate::hadoop::{Hadoop, Streaming, tamis};
use crate::itself;
use crate::progress;
use crate::show::Output;

/// Splits of each input.
const MAPS: usize = 4;

/// Counts of a split, as the reducer of Hadoop that is called `aggregate` takes them.
const COUNT: &str = r#"counts=$(./tamis filter filter.tamis - --count --json --quiet) || exit 1
echo "$counts" | sed -n 's/^ *"\(admitted\|rejected\)": *\([0-9]*\).*/LongValueSum:\1\t\2/p'
"#;

/// Runs both jobs and holds them against this machine.
pub(super) fn measure(
    hadoop: &Hadoop,
    records: u64,
    fpr: f64,
    seed: u64,
    output: &Output,
) -> Result<MapReduce> {
    let folder = tempfile::Builder::new().prefix("tamis-hadoop-").tempdir().context("a temporary folder")?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    let sample = progress::run(output, "making words", |control| {
        let open = |name: &str| {
            let path = folder.path().join(name);
            File::create(&path).map(BufWriter::new).map_err(tamis_read::Error::io(path))
        };
        speedup::write_set(records, seed, &mut open("people.txt")?, &mut open("known.txt")?, control)
    })?;
    let (known, people, params) = (at("known.txt"), at("people.txt"), at("params.json"));
    let plan = timed(|| tamis(output, &["plan", &known, "--fpr", &fpr.to_string(), "-o", &params, "-q"]))?;
    let build =
        timed(|| tamis(output, &["build", &known, "--params", &params, "-o", &at("one.tamis"), "-q"]))?;
    let begun = Instant::now();
    let counted = tamis(output, &["filter", &at("one.tamis"), &people, "--count", "--json", "-q"])?;
    let count = begun.elapsed();
    let here: Value = serde_json::from_slice(&counted).context("the counts of this machine")?;

    let there = There::new(hadoop, output)?;
    let put = timed(|| hadoop.fs(output, &["-put", &known, &people, &params, &there.name("")]))?;
    let first = there.build(&params)?;
    let fetch = Instant::now();
    let lines = hadoop.fs(output, &["-cat", &there.name("filters/part-*")])?;
    fs::write(at("reduced.txt"), lines)?;
    // Lines carried the filter; the file in HDFS has its bytes.
    unpack(&at("reduced.txt"), &at("many.tamis"))?;
    hadoop.fs(output, &["-put", &at("many.tamis"), &there.name("filter.tamis")])?;
    hadoop.fs(output, &["-get", &there.name("filter.tamis"), &at("stored.tamis")])?;
    let fetch = fetch.elapsed();
    fs::write(at("count.sh"), COUNT)?;
    let second = there.count(&at("count.sh"), &at("stored.tamis"))?;
    let sums = hadoop.fs(output, &["-cat", &there.name("counts/part-*")])?;
    let stored = fs::read(at("stored.tamis"))?;
    let number = |name: &str| here[name].as_u64().unwrap_or(0);
    Ok(MapReduce {
        records,
        sample,
        maps: MAPS,
        bytes: stored.len() as u64,
        same_bytes: stored == fs::read(at("one.tamis"))?,
        here: Counted { admitted: number("admitted"), rejected: number("rejected") },
        there: sums_of(&sums)?,
        plan,
        here_seconds: [build, count],
        put,
        jobs: [first, second],
        fetch,
    })
}

/// The line of a reducer as a file.
fn unpack(from: &str, to: &str) -> Result<()> {
    let mut command = itself::command()?;
    command.args(["merge", "-", "-o", to, "-q"]).stdin(File::open(from)?);
    let done = command.output().context("tamis merge")?;
    if !done.status.success() {
        bail!("what the reducer wrote is not a filter: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(())
}

/// `admitted<TAB>N` and `rejected<TAB>N`.
fn sums_of(lines: &[u8]) -> Result<Counted> {
    let text = String::from_utf8_lossy(lines);
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
        line.and_then(|number| number.trim().parse().ok())
            .with_context(|| format!("the second job counted no {name}: {text:?}"))
    };
    Ok(Counted { admitted: number("admitted")?, rejected: number("rejected")? })
}

fn timed(run: impl FnOnce() -> Result<Vec<u8>>) -> Result<Duration> {
    let begun = Instant::now();
    run()?;
    Ok(begun.elapsed())
}

/// This program, as it goes along with a job.
fn program() -> Result<String> {
    Ok(format!("{}#tamis", itself::file()?.display()))
}

/// A folder in the file system of Hadoop, which is removed at the end.
struct There<'h> {
    hadoop: &'h Hadoop,
    output: &'h Output,
    folder: String,
}

impl<'h> There<'h> {
    fn new(hadoop: &'h Hadoop, output: &'h Output) -> Result<There<'h>> {
        let time = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis());
        let folder = format!("tamis-reproduce-{}-{time}", process::id());
        hadoop.fs(output, &["-mkdir", "-p", &folder])?;
        Ok(There { hadoop, output, folder })
    }

    /// The first job: a filter of each split, and the OR of all.
    fn build(&self, params: &str) -> Result<Duration> {
        let job = Streaming {
            what: "building by MapReduce",
            files: &[program()?, format!("{params}#params.json")],
            input: &self.name("known.txt"),
            output: &self.name("filters"),
            maps: MAPS,
            mapper: "./tamis build - --params params.json -o - --base64 --quiet",
            reducer: "./tamis merge - -o - --base64 --quiet",
        };
        self.hadoop.streaming(self.output, &job)
    }

    /// The second: what the filter admits of each split, and the sums.
    fn count(&self, script: &str, filter: &str) -> Result<Duration> {
        let job = Streaming {
            what: "counting by MapReduce",
            files: &[program()?, format!("{script}#count.sh"), format!("{filter}#filter.tamis")],
            input: &self.name("people.txt"),
            output: &self.name("counts"),
            maps: MAPS,
            mapper: "sh count.sh",
            reducer: "aggregate",
        };
        self.hadoop.streaming(self.output, &job)
    }

    fn name(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }
}

impl Drop for There<'_> {
    fn drop(&mut self) {
        let gone = self.hadoop.fs(self.output, &["-rm", "-r", "-f", "-skipTrash", &self.folder]);
        if let Err(error) = gone {
            self.output.warn(format!("{} stays in the file system of Hadoop: {error:#}", self.folder));
        }
    }
}
