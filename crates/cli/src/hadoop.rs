//! Jobs of MapReduce by Hadoop Streaming: Hadoop pipes the lines of splits through programs, and this program is
//! one. Nothing of tamis is installed there: it goes along with the job.

use std::env;
use std::ffi::OsStr;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tamis_read::{Control, Error};

use crate::itself;
use crate::progress;
use crate::show::{Output, usage};

/// The programs of Hadoop.
#[derive(Debug)]
pub struct Hadoop {
    hadoop: PathBuf,
    mapred: PathBuf,
    /// What each job is told first.
    arguments: Vec<String>,
}

/// A job: who reads the splits of an input, and who their lines.
#[derive(Debug)]
pub struct Streaming<'j> {
    /// What is shown while it runs.
    pub what: &'static str,
    /// Files that go along, `PATH#NAME`.
    pub files: &'j [String],
    /// Where the lines are.
    pub input: &'j str,
    /// Where its lines go: a folder that is not there yet.
    pub output: &'j str,
    /// Splits that are asked for.
    pub maps: usize,
    /// What reads each split.
    pub mapper: &'j str,
    /// What reads the lines of all mappers, sorted.
    pub reducer: &'j str,
}

impl Hadoop {
    /// Those of HADOOP_HOME, or in the PATH.
    pub fn found(arguments: Vec<String>) -> Result<Hadoop> {
        itself::file()?; // it goes along with every job
        let program = |name: &str| match env::var_os("HADOOP_HOME") {
            Some(home) => Some(Path::new(&home).join("bin").join(name)).filter(|path| path.is_file()),
            None => {
                let folders = env::var_os("PATH").unwrap_or_default();
                env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
            }
        };
        match (program("hadoop"), program("mapred")) {
            (Some(hadoop), Some(mapred)) => Ok(Hadoop { hadoop, mapred, arguments }),
            _ => usage(
                "the programs hadoop and mapred were not found: set HADOOP_HOME, or put them into the PATH",
            ),
        }
    }

    /// Does something with files there (`hadoop fs …`); what it printed.
    pub fn fs<A: AsRef<OsStr>>(&self, output: &Output, arguments: &[A]) -> Result<Vec<u8>> {
        let mut command = Command::new(&self.hadoop);
        command.arg("fs").args(arguments);
        run(output, "moving files", command)
    }

    /// Runs a job to its end; how long it took, with its start.
    pub fn streaming(&self, output: &Output, job: &Streaming<'_>) -> Result<Duration> {
        let mut command = Command::new(&self.mapred);
        // Options of all jobs come before those of Streaming.
        command
            .arg("streaming")
            .args(&self.arguments)
            .arg(format!("-Dmapreduce.job.maps={}", job.maps))
            .arg("-Dmapreduce.job.reduces=1")
            .arg(format!("-Dmapreduce.job.name=tamis: {}", job.what))
            .args(["-files", &job.files.join(","), "-input", job.input, "-output", job.output])
            .args(["-mapper", job.mapper, "-reducer", job.reducer]);
        let begun = Instant::now();
        run(output, job.what, command)?;
        Ok(begun.elapsed())
    }
}

/// This program, run as a user would run it; what it printed.
pub fn tamis<A: AsRef<OsStr>>(output: &Output, arguments: &[A]) -> Result<Vec<u8>> {
    let mut command = itself::command()?;
    command.args(arguments);
    run(output, "on this machine", command)
}

/// Lines of a program that are shown where it fails.
const SHOWN: usize = 30;

/// Runs a program; what it printed, or that it failed and what it said.
fn run(output: &Output, what: &'static str, mut command: Command) -> Result<Vec<u8>> {
    // Files, so that a program that says much waits for nobody.
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(err.try_clone()?);
    let program = PathBuf::from(command.get_program());
    let status = progress::run_to_its_end(output, what, |control| wait(&mut command, &program, control))?;
    let mut printed = Vec::new();
    out.rewind()?;
    out.read_to_end(&mut printed)?;
    if !status.success() {
        let mut said = String::new();
        err.rewind()?;
        err.read_to_string(&mut said).ok();
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(SHOWN)..].join("\n");
        bail!("{} failed ({status}); it said:\n{last}", program.display());
    }
    Ok(printed)
}

fn wait(command: &mut Command, program: &Path, control: &Control) -> tamis_read::Result<ExitStatus> {
    let mut child = command.spawn().map_err(Error::io(program))?;
    loop {
        if let Err(stopped) = control.check() {
            let _ = child.kill();
            let _ = child.wait();
            return Err(stopped);
        }
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Err(source) => return Err(Error::Io { path: program.to_owned(), source }),
        }
    }
}
