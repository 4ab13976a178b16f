//! Jobs that run on Apache Spark: the job goes out as plain data, `spark-submit` starts the module of the
//! Python package that does it, and numbers come back, which are shown like those of this machine.

mod carrier;
mod cluster;
mod process;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::Value;
use tamis::about::Class;
use tamis_jobs::classes::{Converted, Doubt};
use tamis_jobs::marked::spelled;
use tamis_make::files::Mapped;
use tamis_make::number;

pub use self::cluster::{Cluster, Placed};
use crate::arguments;
use crate::itself;
use crate::notes;
use crate::show::{Output, usage};
use crate::words::Flags;

/// Where a job runs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "On a cluster")]
pub struct On {
    /// Run on Apache Spark: local[4], spark://HOST:PORT, yarn, k8s://… Paths are then what they are to Spark: hdfs://,
    /// s3a://, file://, or without a scheme of Hadoop's default file system. The result is the same, byte for byte.
    /// Needs pyspark and the Python package of tamis
    #[arg(long, value_name = "MASTER", value_parser = master)]
    on: Option<String>,
    /// An argument for spark-submit, such as --submit-arg=--archives=env.tar.gz#env or
    /// --submit-arg=--queue=nightly
    #[arg(long, value_name = "ARG", requires = "on", allow_hyphen_values = true)]
    submit_arg: Vec<String>,
    /// The Python of the executors, and of the driver if it exists there [default: PYSPARK_PYTHON,
    /// or the one that runs tamis, or python3]
    #[arg(long, value_name = "PYTHON", requires = "on")]
    python: Option<OsString>,
    /// Where the driver runs: on this machine (client), or on the cluster (cluster), whose file system then
    /// takes the job and brings the result [default: client]
    #[arg(long, value_enum, value_name = "MODE", requires = "on", hide_possible_values = true)]
    deploy_mode: Option<DeployMode>,
    /// How long the cluster may take to begin: to start the application, and to give it a first executor
    #[arg(long, value_name = "TIME", value_parser = arguments::duration, default_value = "10m")]
    wait: Duration,
}

/// Where the driver runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DeployMode {
    /// On this machine.
    Client,
    /// On the cluster.
    Cluster,
}

/// Where a job runs, and on how many executors.
#[derive(Debug, Clone, Args)]
pub struct Where {
    #[command(flatten)]
    on: On,
    /// Executors to ask for: of local[N] the cores, on a standalone cluster one core each, on YARN and Kubernetes
    /// --num-executors
    #[arg(long, value_name = "N", value_parser = executors, requires = "on", help_heading = "On a cluster")]
    executors: Option<usize>,
}

impl Where {
    /// Whether the job goes to Spark.
    pub fn is_given(&self) -> bool {
        self.on.is_given()
    }

    /// The cluster, or this machine where none is named.
    pub fn cluster<'o>(&self, output: &'o Output) -> Cluster<'o> {
        let on = self.executors.map_or_else(|| self.on.clone(), |number| self.on.with_executors(number));
        Cluster::of(on, output)
    }
}

/// A number of executors.
fn executors(text: &str) -> Result<usize, String> {
    let most = 100_000;
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("a number of executors lies between 1 and {most}"))
}

/// What a cluster may take to begin where nothing else is said: the default of `--wait`.
const USUAL_WAIT: Duration = Duration::from_secs(600);

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
        let mode = self.deploy_mode.iter().map(|mode| format!("--deploy-mode={}", mode.name()).into());
        let wait = Some(self.wait).filter(|wait| self.on.is_some() && *wait != USUAL_WAIT);
        let wait = wait.map(|wait| format!("--wait={}ms", wait.as_millis()).into());
        on.chain(submit).chain(python).chain(mode).chain(wait).collect()
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
        On { on: Some(master), submit_arg, ..self.clone() }
    }

    /// Runs a job whose files are all of this machine.
    pub fn run(&self, output: &Output, what: &'static str, job: Value) -> Result<Value> {
        Cluster::of(self.clone(), output).run(what, job)
    }

    /// Whether the driver runs on the cluster.
    fn is_detached(&self) -> bool {
        let last = self.submit_arg.iter().rev().find_map(|argument| argument.strip_prefix(MODE_ARGUMENT));
        match self.deploy_mode {
            Some(mode) => mode == DeployMode::Cluster,
            None => last == Some("cluster"),
        }
    }

    /// The arguments for spark-submit, but for where the driver runs.
    fn arguments_of_submit(&self) -> impl Iterator<Item = &String> {
        self.submit_arg.iter().filter(|argument| !argument.starts_with(MODE_ARGUMENT))
    }

    fn python_of_executors(&self) -> Option<OsString> {
        let named = self.python.clone().or_else(|| env::var_os("PYSPARK_PYTHON"));
        named.or_else(|| itself::python().filter(|_| self.is_of_this_machine()))
    }

    /// Whether the executors run on this machine, too.
    fn is_of_this_machine(&self) -> bool {
        self.on.as_ref().is_some_and(|master| master.starts_with("local"))
    }

    /// The Python of a driver on this machine. That of the executors may be on their machines alone.
    fn driver(&self) -> Result<OsString> {
        if let Some(python) = self.python.as_ref().filter(|python| !found(python))
            && self.is_of_this_machine()
        {
            return usage(format!("--python {}: there is no such program", Path::new(python).display()));
        }
        let named = env::var_os("PYSPARK_DRIVER_PYTHON")
            .or_else(|| self.python.clone().filter(found))
            .or_else(|| env::var_os("PYSPARK_PYTHON").filter(found))
            .or_else(itself::python);
        Ok(named.unwrap_or_else(|| "python3".into()))
    }

    /// Says that the driver runs by another Python than the one that was named.
    fn say_driver(&self, output: &Output, driver: &OsString) {
        if let Some(python) = self.python.as_ref().filter(|python| !found(python))
            && env::var_os("PYSPARK_DRIVER_PYTHON").is_none()
        {
            output.note(format!(
                "{} is not on this machine: the driver runs by {} (PYSPARK_DRIVER_PYTHON names another)",
                Path::new(python).display(),
                Path::new(driver).display()
            ));
        }
    }

    /// What submits a job.
    fn command(&self, driver: &OsString) -> Command {
        let mut command = Command::new(submit(driver));
        command.arg("--master").arg(self.on.as_deref().unwrap_or_default());
        if let Some(python) = self.python_of_executors() {
            command.env("PYSPARK_PYTHON", python);
        }
        match self.is_detached() {
            // On the cluster, the driver has the Python of the executors.
            true => command.arg("--deploy-mode=cluster").env_remove("PYSPARK_DRIVER_PYTHON"),
            false => command.env("PYSPARK_DRIVER_PYTHON", driver),
        };
        command.args(self.arguments_of_submit());
        command
    }

    /// Whether a path may be one of another file system than that of this machine. A path without a scheme is one of
    /// Hadoop's default file system, which only Hadoop's own settings can change.
    fn may_be_elsewhere(&self, path: &Path) -> bool {
        let path = path.to_string_lossy();
        if path.starts_with("file:/") {
            return false;
        }
        if path.contains("://") {
            return true;
        }
        let names = ["HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR"];
        let settings = env::var_os("SPARK_HOME").map(|home| Path::new(&home).join("conf"));
        let has = |name: &str| settings.as_ref().is_some_and(|folder| folder.join(name).is_file());
        let named = |argument: &String| {
            argument.contains("fs.defaultFS") || argument.starts_with("--properties-file")
        };
        names.iter().any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
            || self.submit_arg.iter().any(named)
            || has("core-site.xml")
            || has("spark-defaults.conf")
    }
}

/// How spark-submit is told where the driver runs.
const MODE_ARGUMENT: &str = "--deploy-mode=";

impl DeployMode {
    fn name(self) -> &'static str {
        match self {
            DeployMode::Client => "client",
            DeployMode::Cluster => "cluster",
        }
    }
}

/// A path of this machine, which may be named as a URI.
fn of_this_machine(path: &Path) -> PathBuf {
    let text = path.to_str().unwrap_or_default();
    let named = text
        .strip_prefix("file://")
        .or_else(|| text.strip_prefix("file:").filter(|rest| rest.starts_with('/')));
    named.map_or_else(|| path.to_owned(), PathBuf::from)
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
        false if text.starts_with("sc://") => Err(
            "a server of Spark Connect runs no job of the command line: in Python, tamis.spark takes its \
                 DataFrames; or give the master of its cluster"
                .into(),
        ),
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

/// The phases of a job and their times.
pub fn timed(told: &Value) -> Vec<(&'static str, Duration)> {
    let names = ["start", "plan", "count", "build", "test", "analyse", "stream"];
    let seconds = |name: &&'static str| told["seconds"][*name].as_f64().filter(|seconds| *seconds >= 0.0);
    let timed = names.iter().filter_map(|name| Some((*name, Duration::from_secs_f64(seconds(name)?))));
    timed.collect()
}

/// Says where the columns of the key, of these classes, may miss keys of a file.
pub fn say_classes(output: &Output, path: &Path, file: &Mapped, classes: &Value) {
    let classes: Vec<Class> = serde_json::from_value(classes.clone()).unwrap_or_default();
    let fields = file.params().common.recipe.key.iter();
    let known = file.about().key_classes();
    let doubts = fields.zip(classes).filter_map(|(of, asks)| Doubt::of(known, of, asks, Converted::Yes));
    doubts.for_each(|doubt| notes::other_class(output, path, &doubt));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn on(master: &str) -> On {
        let wait = Duration::from_secs(1);
        On { on: Some(master.into()), submit_arg: Vec::new(), python: None, deploy_mode: None, wait }
    }

    #[test]
    fn executors_are_asked_for_as_each_cluster_takes_them() {
        let on = |master: &str| On { submit_arg: vec!["--x=1".into()], ..on(master) };
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
        assert_eq!(on("yarn").arguments(), ["--on", "yarn", "--submit-arg=--x=1", "--wait=1000ms"]);
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
        assert!(master("sc://host:15002").is_err_and(|said| said.contains("Spark Connect")));
    }

    #[test]
    fn a_path_is_of_this_machine_unless_it_or_hadoop_says_otherwise() {
        let plain = on("local");
        let elsewhere = |path: &str| plain.may_be_elsewhere(Path::new(path));
        assert!(elsewhere("hdfs:///x") && elsewhere("s3a://logs/x") && !elsewhere("file:///x"));
        let other = "--conf=spark.hadoop.fs.defaultFS=hdfs://host".to_owned();
        let other = On { submit_arg: vec![other], ..plain.clone() };
        assert!(other.may_be_elsewhere(Path::new("x")) && !other.may_be_elsewhere(Path::new("file:///x")));
        assert_eq!(of_this_machine(Path::new("file:///a b")), Path::new("/a b"));
        assert_eq!(of_this_machine(Path::new("file:/a")), Path::new("/a"));
        assert_eq!(of_this_machine(Path::new("x")), Path::new("x"));
    }

    #[test]
    fn where_the_driver_runs_is_said_in_either_way_and_ours_decides() {
        let yarn =
            |mode, argument: &str| On { deploy_mode: mode, submit_arg: vec![argument.into()], ..on("yarn") };
        assert!(!on("yarn").is_detached());
        assert!(yarn(None, "--deploy-mode=cluster").is_detached());
        assert!(yarn(Some(DeployMode::Cluster), "--deploy-mode=client").is_detached());
        assert!(!yarn(Some(DeployMode::Client), "--deploy-mode=cluster").is_detached());
        assert_eq!(yarn(None, "--deploy-mode=cluster").arguments_of_submit().count(), 0);
    }

    #[test]
    fn standard_input_is_refused_wherever_it_is_named() {
        assert!(refuse_stdin(&["a.csv".into(), "-".into()]).is_err());
        assert!(refuse_stdin(&["a.csv".into(), "-a".into()]).is_ok());
    }
}
