//! A cluster as the verbs see it: its files, and the jobs that run there.

use std::cell::{OnceCell, RefCell};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tamis::hash::HashKey;
use tamis_make::files;
use tamis_make::number;
use tamis_read::Control;
use tempfile::TempDir;

use super::carrier::Carrier;
use super::process::{Ended, failure, wait};
use super::{On, as_flags, of_this_machine};
use crate::progress;
use crate::show::{Output, usage};

/// A cluster, or this machine where none is named.
pub struct Cluster<'o> {
    on: On,
    output: &'o Output,
    folder: OnceCell<TempDir>,
    carrier: RefCell<Option<Carrier>>,
    /// Copies of files of the cluster, and where those lie.
    fetched: RefCell<Vec<(PathBuf, String)>>,
}

/// An output: where it is written first, and where it is put when it is whole.
pub struct Placed {
    /// A file of this machine: the output itself, or a draft of it.
    pub at: PathBuf,
    /// Where it is put, if that is elsewhere.
    uri: Option<String>,
    given: PathBuf,
}

impl Placed {
    /// What it is called: as it was given, or by the whole address.
    pub fn name(&self) -> &Path {
        self.uri.as_deref().map_or(&self.given, Path::new)
    }
}

/// What spark-submit runs: everything else is in the package.
const SCRIPT: &str = "from tamis.spark.job import main\n\nmain()\n";

/// How long an application waits before that is said.
const WORTH_SAYING: Duration = Duration::from_secs(20);

impl<'o> Cluster<'o> {
    /// The one that is named.
    pub fn of(on: On, output: &'o Output) -> Cluster<'o> {
        let (folder, carrier, fetched) = (OnceCell::new(), RefCell::new(None), RefCell::default());
        Cluster { on, output, folder, carrier, fetched }
    }

    /// A file on this machine: itself, or a copy of it that lasts as long as this value.
    pub fn fetch(&self, path: &Path) -> Result<PathBuf> {
        if !self.on.is_given() {
            return Ok(path.to_owned());
        }
        if !self.on.may_be_elsewhere(path) {
            return Ok(of_this_machine(path));
        }
        let number = self.fetched.borrow().len();
        let to = self.scratch()?.join(format!("fetched-{number}"));
        let told = self.ask(json!({ "do": "get", "path": path, "to": to }))?;
        let at = PathBuf::from(told["at"].as_str().unwrap_or_default());
        if at == to {
            let uri = told["uri"].as_str().unwrap_or_default().to_owned();
            self.fetched.borrow_mut().push((at.clone(), uri));
        }
        Ok(at)
    }

    /// A file that is to be written; refuses one that cannot be.
    pub fn place(&self, path: &Path) -> Result<Placed> {
        let (mut at, mut uri) = (of_this_machine(path), None);
        if self.on.is_given() && self.on.may_be_elsewhere(path) {
            let told = self.ask(json!({ "do": "check", "path": path }))?;
            match told["at"].as_str() {
                Some(here) => at = here.into(),
                None => {
                    at = self.scratch()?.join("draft");
                    uri = told["uri"].as_str().map(str::to_owned);
                }
            }
        }
        files::check(&at)?;
        Ok(Placed { at: std::path::absolute(&at)?, uri, given: path.to_owned() })
    }

    /// A folder that Spark is to write, which must not be there yet.
    pub fn place_folder(&self, path: &Path) -> Result<PathBuf> {
        let place = self.folder(path)?;
        if self.on.is_detached() {
            self.ask(json!({ "do": "check_folder", "path": place }))?; // else the driver finds out
        }
        Ok(place)
    }

    /// A folder that Spark is to write, or has written.
    pub fn folder(&self, path: &Path) -> Result<PathBuf> {
        let elsewhere = self.on.may_be_elsewhere(path);
        if !self.on.is_detached() {
            // Where it is elsewhere, the driver finds out.
            let here = of_this_machine(path);
            return if elsewhere { Ok(path.to_owned()) } else { Ok(std::path::absolute(here)?) };
        }
        let told = match elsewhere {
            true => self.ask(json!({ "do": "find", "path": path }))?,
            false => Value::Null,
        };
        match told["uri"].as_str().filter(|uri| !uri.starts_with("file:")) {
            Some(uri) => Ok(uri.into()),
            None => usage(format!(
                "{}: this is a folder of this machine, and the driver runs on another one: name a folder of the cluster's \
                 file system, or leave out --deploy-mode",
                path.display()
            )),
        }
    }

    /// Puts an output in its place, now that it is whole.
    pub fn put(&self, placed: &Placed) -> Result<()> {
        if let Some(uri) = &placed.uri {
            self.ask(json!({ "do": "put", "source": placed.at, "path": uri }))?;
        }
        Ok(())
    }

    /// Runs a job there; returns what it tells.
    pub fn run(&self, what: &'static str, job: Value) -> Result<Value> {
        let (driver, result) = (self.on.driver()?, self.scratch()?.join("result.json"));
        let mut submission = Submission::new(self, job)?;
        let mut command = self.on.command(&driver);
        if submission.is_watched {
            // By itself, it would try for a quarter of an hour.
            let most = self.on.wait.as_millis();
            command.arg(format!("--conf=spark.hadoop.yarn.resourcemanager.connect.max-wait.ms={most}"));
            command.arg(format!("--conf=spark.yarn.tags={}", self.tags(&submission.tag)));
        }
        submission.prepare(&mut command, &result)?;
        if !self.on.is_detached() {
            self.on.say_driver(self.output, &driver);
        }
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
        let ended = progress::run_to_its_end(self.output, what, |control| {
            wait(child, control, |control| submission.look(control))
        });
        let told = ended.and_then(|ended| submission.conclude(ended, &result, &driver));
        submission.clear(told.is_ok());
        told
    }

    /// The tags of an application of YARN: those that the user gives, and one to find it by.
    fn tags(&self, ours: &str) -> String {
        let given = self.on.submit_arg.iter().rev().find_map(|argument| {
            argument.strip_prefix("--conf=").unwrap_or(argument).strip_prefix("spark.yarn.tags=")
        });
        given.into_iter().chain([ours]).collect::<Vec<_>>().join(",")
    }

    fn ask(&self, request: Value) -> Result<Value> {
        let mut carrier = self.carrier.borrow_mut();
        if carrier.is_none() {
            *carrier = Some(Carrier::start(&self.on)?);
        }
        carrier.as_mut().map_or_else(|| Ok(Value::Null), |carrier| carrier.ask(&request))
    }

    fn scratch(&self) -> Result<&Path> {
        if self.folder.get().is_none() {
            let made = folder_of_a_job().context("a temporary folder")?;
            let _ = self.folder.set(made);
        }
        Ok(self.folder.get().map_or(Path::new(""), TempDir::path))
    }
}

/// A job on its way: what it is known by on the cluster, and what it leaves there.
struct Submission<'c, 'o> {
    cluster: &'c Cluster<'o>,
    job: Value,
    tag: String,
    is_watched: bool,
    /// The folder through which a driver on the cluster gets its job and gives its result.
    staging: Option<String>,
    since: Instant,
    said_that_it_waits: bool,
}

impl<'c, 'o> Submission<'c, 'o> {
    fn new(cluster: &'c Cluster<'o>, mut job: Value) -> Result<Submission<'c, 'o>> {
        job["on"] = json!(cluster.on.on);
        job["patience"] = json!(cluster.on.wait.as_secs_f64());
        if cluster.on.is_detached() && job["job"] == "several" {
            return usage("this runs its driver on this machine: leave out --deploy-mode");
        }
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        Ok(Submission {
            cluster,
            job,
            tag: format!("tamis-{:x}-{nanos:x}", process::id()),
            is_watched: cluster.on.on.as_deref() == Some("yarn"),
            staging: None,
            since: Instant::now(),
            said_that_it_waits: false,
        })
    }

    /// Writes what is submitted. A driver on this machine reads its job from a file; one on the cluster has only
    /// what goes along with it.
    fn prepare(&mut self, command: &mut Command, result: &Path) -> Result<()> {
        let folder = self.cluster.scratch()?;
        let script = folder.join("tamis_job.py");
        let write =
            |path: &Path, text: &str| fs::write(path, text).with_context(|| path.display().to_string());
        if !self.cluster.on.is_detached() {
            let plan = folder.join("job.json");
            self.job["result"] = json!(result);
            self.job["hash_key"] = json!(put_key(folder)?);
            write(&script, SCRIPT)?;
            write(&plan, &self.job.to_string())?;
            command.arg(&script).arg(&plan);
            return Ok(());
        }
        let told = self.cluster.ask(json!({ "do": "stage", "name": self.tag }))?;
        let staging = told["uri"].as_str().unwrap_or_default().to_owned();
        self.staging = Some(staging.clone());
        let mut job = self.job.clone();
        job["staging"] = json!(staging);
        if let Some(filters) = job["request"]["filters"].as_str().map(PathBuf::from) {
            job["request"]["filters"] = json!(self.staged(&filters, &staging)?);
        }
        let secret = HashKey::usual().and_then(HashKey::secret);
        let digits = secret.map(|secret| secret.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        job["hash_key_digits"] = json!(digits);
        // A text of JSON is one of Python, too.
        let text = json!(job.to_string());
        write(&script, &format!("from tamis.spark.job import main\n\nmain(text={text})\n"))?;
        command.arg(&script);
        Ok(())
    }

    /// A file of filters where a driver on the cluster finds it.
    fn staged(&self, filters: &Path, staging: &str) -> Result<String> {
        let known = self.cluster.fetched.borrow();
        if let Some((_, uri)) = known.iter().find(|(copy, _)| copy == filters) {
            return Ok(uri.clone());
        }
        let uri = format!("{staging}/filters.tamis");
        self.cluster.ask(json!({ "do": "put", "source": filters, "path": uri }))?;
        Ok(uri)
    }

    /// Asks YARN how far the job is; says why it is given up, where it is.
    fn look(&mut self, control: &Control) -> Option<String> {
        if !self.is_watched {
            return None;
        }
        let told =
            self.cluster.ask(json!({ "do": "watch", "tag": self.tag, "staging": self.staging })).ok()?;
        if let (Some(done), Some(total)) = (told["tasks"][0].as_u64(), told["tasks"][1].as_u64()) {
            control.begin(total);
            control.advance(done);
        }
        if told["waits"] != true {
            self.since = Instant::now();
            return None;
        }
        let word = |name: &str| told[name].as_str().unwrap_or_default().trim().to_owned();
        let (id, queue, why) = (word("id"), word("queue"), word("why"));
        let waited = self.since.elapsed();
        if waited > self.cluster.on.wait {
            let why = if why.is_empty() { why } else { format!(" YARN says: {why}") };
            return Some(format!(
                "YARN did not start {id} within {}: the queue {queue} gave it no container, and it was ended; --wait gives \
                 it more time, and --submit-arg=--queue=… another queue.{why}",
                number::duration(self.cluster.on.wait)
            ));
        }
        if waited > WORTH_SAYING && !self.said_that_it_waits {
            self.said_that_it_waits = true;
            self.cluster.output.note(format!("{id} waits in the queue {queue} of YARN"));
        }
        None
    }

    /// What the job tells, or why it failed.
    fn conclude(&self, ended: Ended, result: &Path, driver: &std::ffi::OsString) -> Result<Value> {
        if let Some(reason) = ended.given_up {
            bail!("{reason}");
        }
        if let Some(staging) = &self.staging {
            let has_file = self.job["job"] == "build" || self.job["job"] == "stream";
            let built = self.job["request"]["output"].as_str().filter(|_| has_file);
            let request = json!({ "do": "collect", "staging": staging, "result": result, "built": built });
            self.cluster.ask(request)?;
        }
        let told: Option<Value> = fs::read(result).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        match told {
            Some(told) if told.get("error").is_none() && ended.well => Ok(told),
            Some(told) => match (told["error"].as_str().map(as_flags), told["usage"].as_bool()) {
                (Some(error), Some(true)) => usage(error),
                (Some(error), _) if told["of_spark"] == true => {
                    bail!("{}", self.diagnosis(&ended.said).unwrap_or(error))
                }
                (Some(error), _) => bail!("{error}"),
                _ => bail!("spark-submit failed after the job was done; it said:\n{}", ended.said.join("\n")),
            },
            None => bail!("{}", self.diagnosis(&ended.said).unwrap_or_else(|| failure(&ended.said, driver))),
        }
    }

    /// What YARN says of an application that failed, or what is said of it in the log of its driver.
    fn diagnosis(&self, said: &[String]) -> Option<String> {
        if !self.is_watched {
            return None;
        }
        let explained = self.cluster.ask(json!({ "do": "explain", "said": said.join("\n") })).ok();
        if let Some(why) = explained.as_ref().and_then(|told| told["why"].as_str()) {
            return Some(why.to_owned());
        }
        let told = self.cluster.ask(json!({ "do": "watch", "tag": self.tag, "staging": null })).ok()?;
        let why = told["why"].as_str().filter(|why| !why.is_empty())?;
        Some(format!("{} failed on YARN: {why}", told["id"].as_str().unwrap_or_default()))
    }

    /// Leaves nothing on the cluster: no application that runs on, and no files of it.
    fn clear(&self, well: bool) {
        if self.is_watched && !well {
            let _ = self.cluster.ask(json!({ "do": "kill", "tag": self.tag }));
        }
        if let Some(staging) = &self.staging {
            let output = self.job["request"]["output"].as_str().filter(|_| self.job["job"] == "filter");
            let cleared = self.cluster.ask(json!({ "do": "remove", "path": staging, "output": output }));
            if let Err(error) = cleared {
                self.cluster.output.warn(format!("{staging} was left: {error}"));
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret key of a job lies there.
    #[cfg(unix)]
    #[test]
    fn nobody_else_looks_into_the_folder_of_a_job() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder_of_a_job().unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
