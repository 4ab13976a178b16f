//! Jobs that run on Apache Spark: the job goes out as plain data, `spark-submit` starts the module of the
//! Python package that does it, and numbers come back, which are shown like those of this machine.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};
use tamis::about::Class;
use tamis::hash::HashKey;
use tamis_jobs::classes::{Converted, Doubt};
use tamis_jobs::marked::spelled;
use tamis_make::{files, number};
use tamis_read::{Control, Error, NoThread};
use tempfile::TempDir;

use crate::notes;
use crate::progress;
use crate::show::{Output, usage};
use crate::words::Flags;

/// Where a job runs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "On a cluster")]
pub struct On {
    /// Run on Apache Spark: local[4], spark://HOST:PORT, yarn, k8s://… The inputs are then paths that Spark reads
    /// (s3a://, hdfs://, files that all workers see); the result is the same, byte for byte. Needs pyspark and the
    /// Python package of tamis
    #[arg(long, value_name = "MASTER", value_parser = master)]
    on: Option<String>,
    /// An argument for spark-submit, such as --submit-arg=--archives=env.tar.gz#env or
    /// --submit-arg=--num-executors=4
    #[arg(long, value_name = "ARG", requires = "on", allow_hyphen_values = true)]
    submit_arg: Vec<String>,
    /// The Python of the executors, and of the driver if it exists there [default: PYSPARK_PYTHON,
    /// or python3]
    #[arg(long, value_name = "PYTHON", requires = "on")]
    python: Option<OsString>,
}

/// Puts the secret key that was given, if one was, into a file of a folder that nobody else can read: the
/// job itself never has it, and the file that was named may be one that is read once.
fn put_key(folder: &Path) -> Result<Option<PathBuf>> {
    let Some(secret) = HashKey::usual().and_then(HashKey::secret) else { return Ok(None) };
    let path = folder.join("hash.key");
    fs::write(&path, secret).with_context(|| path.display().to_string())?;
    Ok(Some(path))
}

/// A folder that nobody else can look into.
fn folder_of_a_job() -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("tamis-spark-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir()
}

/// What spark-submit runs: everything else is in the package.
const SCRIPT: &str = "from tamis.spark.job import main\n\nmain()\n";

/// Lines of spark-submit that are kept, to be shown where it fails.
const KEPT: usize = 40;

/// How long a job may take to end when it is asked to: it stops its tasks and removes what it has begun.
const GRACE: Duration = Duration::from_secs(15);

impl On {
    /// Whether the job goes to Spark.
    pub fn is_given(&self) -> bool {
        self.on.is_some()
    }

    /// Where that is.
    pub fn name(&self) -> Option<String> {
        self.on.clone()
    }

    /// What is given, as it would be given to another verb.
    pub fn arguments(&self) -> Vec<OsString> {
        let on = self.on.iter().flat_map(|on| ["--on".into(), on.into()]);
        let submit = self.submit_arg.iter().map(|argument| format!("--submit-arg={argument}").into());
        let python = self.python.iter().flat_map(|python| ["--python".into(), python.clone()]);
        on.chain(submit).chain(python).collect()
    }

    /// The same place with this many executors: on this machine, as many cores; on a standalone cluster, of one
    /// core each.
    pub fn with_executors(&self, executors: usize) -> On {
        let master = self.on.as_deref().unwrap_or_default();
        let (master, more) = match master.strip_prefix("local-cluster[").and_then(|rest| rest.split_once(','))
        {
            Some((_, each)) => (format!("local-cluster[{executors},{each}"), vec![]),
            None if master.starts_with("local") => (format!("local[{executors}]"), vec![]),
            None if master.starts_with("spark://") => {
                let cores = format!("--total-executor-cores={executors}");
                (master.to_owned(), vec![cores, "--executor-cores=1".to_owned()])
            }
            None => (master.to_owned(), vec![format!("--num-executors={executors}")]),
        };
        // What the user gives comes last, and so decides.
        let submit_arg = more.into_iter().chain(self.submit_arg.iter().cloned()).collect();
        On { on: Some(master), submit_arg, python: self.python.clone() }
    }

    /// Runs a job there; returns what it tells.
    pub fn run(&self, output: &Output, what: &'static str, job: Value) -> Result<Value> {
        let folder = folder_of_a_job().context("a temporary folder")?;
        let (script, plan, result) = (
            folder.path().join("tamis_job.py"),
            folder.path().join("job.json"),
            folder.path().join("result.json"),
        );
        fs::write(&script, SCRIPT).with_context(|| script.display().to_string())?;
        let mut job = job;
        job["result"] = json!(result);
        job["on"] = json!(self.on);
        job["hash_key"] = json!(put_key(folder.path())?);
        fs::write(&plan, job.to_string()).with_context(|| plan.display().to_string())?;

        let driver = self.driver()?;
        let mut command = self.command(&driver);
        command.args(&self.submit_arg).arg(&script).arg(&plan);
        // What the driver's Python says comes out of both.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: Ctrl-C in a terminal is this program's business, which tells it the driver.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let program = command.get_program().to_owned();
        let child = command.spawn().with_context(|| {
            format!(
                "{} could not be started: install pyspark (pip install pyspark), or set SPARK_HOME",
                Path::new(&program).display()
            )
        })?;
        let (status, said) = progress::run_to_its_end(output, what, |control| wait(child, control))?;
        let told: Option<Value> =
            fs::read(&result).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        match told {
            Some(told) if told.get("error").is_none() && status => Ok(told),
            Some(told) => match (told["error"].as_str().map(as_flags), told["usage"].as_bool()) {
                (Some(error), Some(true)) => usage(error),
                (Some(error), _) => bail!("{error}"),
                _ => bail!("spark-submit failed after the job was done; it said:\n{}", said.join("\n")),
            },
            None => bail!("{}", failure(&said, &driver)),
        }
    }

    fn executors(&self) -> Option<OsString> {
        self.python.clone().or_else(|| env::var_os("PYSPARK_PYTHON"))
    }

    /// The Python of the driver. That of the executors may be on their machines alone.
    fn driver(&self) -> Result<OsString> {
        if let Some(python) = self.python.as_ref().filter(|python| !found(python))
            && self.on.as_ref().is_some_and(|master| master.starts_with("local"))
        {
            return usage(format!("--python {}: there is no such program", Path::new(python).display()));
        }
        let named = env::var_os("PYSPARK_DRIVER_PYTHON").or_else(|| self.executors().filter(found));
        Ok(named.unwrap_or_else(|| "python3".into()))
    }

    fn command(&self, driver: &OsString) -> Command {
        let mut command = Command::new(submit(driver));
        command.arg("--master").arg(self.on.as_deref().unwrap_or_default());
        if let Some(python) = self.executors() {
            command.env("PYSPARK_PYTHON", python);
        }
        command.env("PYSPARK_DRIVER_PYTHON", driver);
        command
    }
}

/// What a job reports, with its options as flags.
fn as_flags(text: &str) -> String {
    spelled(text, &Flags)
}

/// What spark-submit takes for a master: it would answer with a trace of Java.
fn master(text: &str) -> Result<String, String> {
    let known = ["local", "yarn"].contains(&text)
        || ["local[", "local-cluster["].iter().any(|start| text.starts_with(start)) && text.ends_with(']')
        || ["spark://", "k8s://"].iter().any(|start| text.len() > start.len() && text.starts_with(start));
    match known {
        true => Ok(text.to_owned()),
        false => Err("give local[4], spark://HOST:PORT, yarn or k8s://…, as to spark-submit --master".into()),
    }
}

/// The program that submits jobs: that of SPARK_HOME, that beside this Python, or any.
fn submit(python: &OsString) -> PathBuf {
    let name = "spark-submit";
    if let Some(home) = env::var_os("SPARK_HOME") {
        return Path::new(&home).join("bin").join(name);
    }
    let beside = Path::new(python).with_file_name(name);
    if beside.components().count() > 1 && beside.is_file() { beside } else { name.into() }
}

/// Whether a program is there: by its path, or by its name.
fn found(program: &OsString) -> bool {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return path.is_file();
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| folder.join(path).is_file())
}

/// What is heard of a job while it runs.
#[derive(Default)]
struct Heard {
    /// The process of its driver.
    driver: Option<u32>,
    /// The last lines that were said.
    lines: VecDeque<String>,
}

/// Waits for the end; whether it was a good one, and the last lines that were said.
fn wait(mut child: Child, control: &Control) -> tamis_read::Result<(bool, Vec<String>)> {
    let heard = Mutex::new(Heard::default());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let ended = thread::scope(|scope| {
        let hear_stdout = || stdout.into_iter().for_each(|stdout| listen(stdout, &heard, control));
        let hear_stderr = || stderr.into_iter().for_each(|stderr| listen(stderr, &heard, control));
        let begun = thread::Builder::new()
            .spawn_scoped(scope, hear_stdout)
            .and_then(|_| thread::Builder::new().spawn_scoped(scope, hear_stderr));
        if let Err(error) = begun {
            end(&mut child, &heard);
            return Err(NoThread(error).into());
        }
        loop {
            if let Err(stopped) = control.check() {
                end(&mut child, &heard);
                return Err(stopped);
            }
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => thread::sleep(Duration::from_millis(20)),
                Err(source) => return Err(Error::Io { path: "spark-submit".into(), source }),
            }
        }
    })?;
    let heard = heard.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((ended.success(), heard.lines.into()))
}

/// Hears what a job says, until it says no more.
fn listen(out: impl Read, heard: &Mutex<Heard>, control: &Control) {
    for line in BufReader::new(out).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        if let Some((done, total)) = tasks(&line) {
            control.begin(total);
            control.advance(done);
            continue;
        }
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = driver(&line) {
            heard.driver = Some(driver);
            continue;
        }
        if heard.lines.len() == KEPT {
            heard.lines.pop_front();
        }
        heard.lines.push_back(line);
    }
}

/// Asks a job to end, and ends it where it does not.
#[cfg(unix)]
fn end(child: &mut Child, heard: &Mutex<Heard>) {
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};

    let since = Instant::now();
    let pid = |number: u32| i32::try_from(number).ok().and_then(Pid::from_raw);
    let group = pid(child.id());
    // The driver cleans up, and spark-submit ends with it; before there is one, there is nothing to clean up.
    let driver = heard.lock().unwrap_or_else(PoisonError::into_inner).driver.and_then(pid);
    let _ = match driver {
        Some(driver) => kill_process(driver, Signal::TERM),
        None => group.map_or(Ok(()), |group| kill_process_group(group, Signal::TERM)),
    };
    while since.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(Duration::from_millis(20));
    }
    if matches!(child.try_wait(), Ok(None)) {
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = child.wait();
    }
}

/// Elsewhere nobody can be asked.
#[cfg(not(unix))]
fn end(child: &mut Child, _: &Mutex<Heard>) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The process of the driver, in the line that tells it.
fn driver(line: &str) -> Option<u32> {
    line.strip_prefix("tamis-driver ")?.parse().ok()
}

/// The tasks that are done and those there are, in a line that tells them.
fn tasks(line: &str) -> Option<(u64, u64)> {
    let (done, total) = line.strip_prefix("tamis-tasks ")?.split_once(' ')?;
    Some((done.parse().ok()?, total.parse().ok()?))
}

/// What to say of a job that told nothing.
fn failure(said: &[String], driver: &OsString) -> String {
    let last = said.join("\n");
    let lacks = |package: &&str| last.contains(&format!("No module named '{package}'"));
    if let Some(package) = ["tamis", "pyspark", "pyarrow"].into_iter().find(lacks) {
        return format!(
            "the Python of the driver, {}, has no package {package}: install what is needed (pip install \
             './crates/python[spark]'), or name another one by --python or PYSPARK_DRIVER_PYTHON",
            Path::new(driver).display()
        );
    }
    format!("spark-submit failed; it said:\n{last}")
}

/// The phases of a job and their times.
pub fn timed(told: &Value) -> Vec<(&'static str, Duration)> {
    let names = ["start", "count", "build", "test", "analyse"];
    let seconds = |name: &&'static str| told["seconds"][*name].as_f64().filter(|seconds| *seconds >= 0.0);
    let timed = names.iter().filter_map(|name| Some((*name, Duration::from_secs_f64(seconds(name)?))));
    timed.collect()
}

/// Says where the columns of the key, of these classes, may miss keys of a file.
pub fn say_classes(output: &Output, path: &Path, classes: &Value) -> Result<()> {
    let classes: Vec<Class> = serde_json::from_value(classes.clone()).unwrap_or_default();
    let file = files::open(path)?;
    let fields = file.params().common.recipe.key.iter();
    let known = file.about().key_classes();
    let doubts = fields.zip(classes).filter_map(|(of, asks)| Doubt::of(known, of, asks, Converted::Yes));
    doubts.for_each(|doubt| notes::other_class(output, path, &doubt));
    Ok(())
}

/// The same for people.
pub fn phases(told: &Value) -> String {
    let phases = timed(told).into_iter().map(|(name, time)| format!("{name} {}", number::duration(time)));
    phases.collect::<Vec<_>>().join(", ")
}

/// Refuses inputs that Spark cannot read. The driver is told what was named, since names may be data: it runs in
/// this folder, and finds there what is relative.
pub fn refuse_stdin(inputs: &[String]) -> Result<()> {
    if inputs.iter().any(|input| input == "-") {
        return usage("Spark cannot read this program's standard input: name files");
    }
    Ok(())
}

/// A folder that Spark is to write: a relative path is one of this folder.
pub fn place(path: &Path) -> Result<PathBuf> {
    if path.to_string_lossy().contains("://") {
        return Ok(path.to_owned());
    }
    std::path::absolute(path).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executors_are_asked_for_as_each_cluster_takes_them() {
        let on =
            |master: &str| On { on: Some(master.into()), submit_arg: vec!["--x=1".into()], python: None };
        for (master, wanted, more) in [
            ("local", "local[3]", vec![]),
            ("local[*]", "local[3]", vec![]),
            ("local-cluster[9,2,1024]", "local-cluster[3,2,1024]", vec![]),
            (
                "spark://host:7077",
                "spark://host:7077",
                vec!["--total-executor-cores=3", "--executor-cores=1"],
            ),
            ("yarn", "yarn", vec!["--num-executors=3"]),
            ("k8s://host", "k8s://host", vec!["--num-executors=3"]),
        ] {
            let found = on(master).with_executors(3);
            let arguments: Vec<&str> = more.into_iter().chain(["--x=1"]).collect();
            assert_eq!(
                (found.on.as_deref(), found.submit_arg),
                (Some(wanted), arguments.iter().map(|&a| a.into()).collect())
            );
        }
        assert_eq!(on("yarn").arguments(), ["--on", "yarn", "--submit-arg=--x=1"]);
    }

    /// The secret key of a job lies there.
    #[cfg(unix)]
    #[test]
    fn nobody_else_looks_into_the_folder_of_a_job() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder_of_a_job().unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn lines_that_tell_tasks_are_told_from_others() {
        assert_eq!(tasks("tamis-tasks 3 8"), Some((3, 8)));
        assert_eq!(tasks("tamis-tasks 3"), None);
        assert_eq!(tasks("WARN tamis-tasks 3 8"), None);
    }

    #[test]
    fn a_package_that_the_driver_lacks_is_named() {
        for package in ["tamis", "pyspark", "pyarrow"] {
            let said = ["Traceback".to_owned(), format!("ModuleNotFoundError: No module named '{package}'")];
            let told = failure(&said, &"python9".into());
            assert!(told.contains(&format!("python9, has no package {package}: install")), "{told}");
        }
        let told = failure(&["No module named 'tamis_of_others'".into()], &"python9".into());
        assert!(told.starts_with("spark-submit failed"), "{told}");
    }

    #[test]
    fn a_master_is_one_that_spark_knows() {
        for text in ["local", "local[2]", "local[*]", "local-cluster[2,1,1024]", "spark://host:7077", "yarn"]
        {
            assert_eq!(master(text).as_deref(), Ok(text));
        }
        for text in ["", "locl[2]", "local[2", "spark://", "host:7077", "yarn-client"] {
            assert!(master(text).is_err(), "{text}");
        }
    }

    #[test]
    fn paths_of_this_machine_are_absolute_and_others_are_as_they_are() {
        for path in ["s3a://logs/out", "/data/out"] {
            assert_eq!(place(Path::new(path)).unwrap(), Path::new(path));
        }
        let found = place(Path::new("out")).unwrap();
        assert!(found.is_absolute() && found.ends_with("out"), "{}", found.display());
    }

    #[test]
    fn standard_input_is_refused_wherever_it_is_named() {
        assert!(refuse_stdin(&["a.csv".into(), "-".into()]).is_err());
        assert!(refuse_stdin(&["a.csv".into(), "-a".into()]).is_ok());
    }
}
