//! The process beside a job that has the cluster's file systems, and YARN, at hand: requests go to it and answers
//! come back, one line of JSON each.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::On;
use super::process::{KEPT, failure};

/// What stands before an answer.
const ANSWER: &str = "tamis-carrier ";

/// The process. It ends when nobody can ask it any more.
pub struct Carrier {
    child: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<String>,
    said: Arc<Mutex<VecDeque<String>>>,
    driver: OsString,
}

impl Carrier {
    /// Starts it, with the settings that the job has.
    pub fn start(on: &On) -> Result<Carrier> {
        let driver = on.driver()?;
        let mut command = Command::new(&driver);
        let arguments: Vec<String> = on.arguments_of_submit().map(|argument| quoted(argument)).collect();
        command.args(["-m", "tamis.spark.carry"]);
        command
            .env("PYSPARK_SUBMIT_ARGS", format!("--master local[1] {} pyspark-shell", arguments.join(" ")));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C in a terminal is this program's business, which still needs it then.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().with_context(|| {
            format!(
                "{} could not be started: --python or PYSPARK_DRIVER_PYTHON names it",
                Path::new(&driver).display()
            )
        })?;
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let (sender, answers) = channel();
        if let Some(stdout) = child.stdout.take() {
            let said = Arc::clone(&said);
            thread::spawn(move || {
                lines(stdout, |line| match line.strip_prefix(ANSWER) {
                    Some(answer) => drop(sender.send(answer.to_owned())),
                    None => keep(&said, line),
                });
            });
        }
        if let Some(stderr) = child.stderr.take() {
            let said = Arc::clone(&said);
            thread::spawn(move || lines(stderr, |line| keep(&said, line)));
        }
        Ok(Carrier { requests: child.stdin.take(), child, answers, said, driver })
    }

    /// Asks it for something.
    pub fn ask(&mut self, request: &Value) -> Result<Value> {
        let sent = self.requests.as_mut().map(|requests| writeln!(requests, "{request}"));
        let answer = sent.and_then(Result::ok).and_then(|()| self.answers.recv().ok());
        let Some(answer) = answer else {
            let _ = self.child.wait(); // all that it says is said
            let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            let said: Vec<String> = said.iter().cloned().collect();
            bail!("{}", failure(&said, &self.driver));
        };
        let told: Value = serde_json::from_str(&answer).context("an answer about the cluster's files")?;
        match told["error"].as_str() {
            Some(error) => bail!("{error}"),
            None => Ok(told),
        }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        drop(self.requests.take());
        let _ = self.child.wait();
    }
}

fn lines(out: impl Read, mut each: impl FnMut(&str)) {
    for line in BufReader::new(out).split(b'\n').map_while(Result::ok) {
        each(&String::from_utf8_lossy(&line));
    }
}

fn keep(said: &Mutex<VecDeque<String>>, line: &str) {
    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
    if said.len() == KEPT {
        said.pop_front();
    }
    said.push_back(line.to_owned());
}

/// A word for Python's shlex, which reads it as a shell does.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_is_one_word() {
        assert_eq!(quoted("--conf=a=b c"), "'--conf=a=b c'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
