//! The process that submits a job: it is started, listened to, and ended.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Child;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tamis_read::{Control, Error, NoThread};

/// Lines that are kept, to be shown where it fails.
pub const KEPT: usize = 40;

/// How long a job may take to end when it is asked to: it stops its tasks and removes what it has begun.
const GRACE: Duration = Duration::from_secs(15);

/// How often the cluster is asked how far a job is.
const LOOK: Duration = Duration::from_secs(1);

/// What is heard of a job while it runs.
#[derive(Default)]
struct Heard {
    /// The process of its driver.
    driver: Option<u32>,
    /// The last lines that were said.
    lines: VecDeque<String>,
}

/// How a process ended.
pub struct Ended {
    /// Whether it was a good end.
    pub well: bool,
    /// The last lines that it said.
    pub said: Vec<String>,
    /// Why it was ended early, where it was.
    pub given_up: Option<String>,
}

/// Waits for the end, and looks after the job from time to time: that may say why it is to be given up.
pub fn wait(
    mut child: Child,
    control: &Control,
    mut look: impl FnMut(&Control) -> Option<String>,
) -> tamis_read::Result<Ended> {
    let heard = Mutex::new(Heard::default());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (mut looked, mut given_up) = (Instant::now(), None);
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
            if looked.elapsed() > LOOK && given_up.is_none() {
                given_up = look(control);
                looked = Instant::now();
                if given_up.is_some() {
                    end(&mut child, &heard);
                }
            }
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => thread::sleep(Duration::from_millis(20)),
                Err(source) => return Err(Error::Io { path: "spark-submit".into(), source }),
            }
        }
    })?;
    let heard = heard.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Ended { well: ended.success(), said: heard.lines.into(), given_up })
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
pub fn failure(said: &[String], driver: &OsString) -> String {
    let last = said.join("\n");
    let lacks = |package: &&str| last.contains(&format!("No module named '{package}'"));
    if let Some(package) = ["tamis", "pyspark", "pyarrow"].into_iter().find(lacks) {
        return format!(
            "the Python of the driver, {}, has no package {package}: install what is needed (pip install \
             'tamis[spark]'), or name another one by --python or PYSPARK_DRIVER_PYTHON",
            Path::new(driver).display()
        );
    }
    format!("spark-submit failed; it said:\n{last}")
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
