//! A folder to run tamis in, and what comes of it.

use std::fs;
use std::io::Read;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tamis::format::Container;
use tamis::memory::Map;
use tempfile::TempDir;

/// The program.
pub const TAMIS: &str = env!("CARGO_BIN_EXE_tamis");

/// A folder of its own for each test.
pub struct Folder(TempDir);

/// What a run left.
pub struct Done {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Long enough for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for something, but not for ever.
pub fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(since.elapsed() < PATIENCE, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Numbers from a seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Starts tamis as a shell would start a foreground job, whatever the tests themselves ignore.
pub fn foreground(folder: &Folder, line: &str, stdin: Stdio, stdout: Stdio) -> Guard {
    Guard::start(
        Command::new("env")
            .args(["--default-signal=INT,TERM,HUP", TAMIS])
            .args(line.split_whitespace())
            .current_dir(folder.path(""))
            .stdin(stdin)
            .stdout(stdout)
            .stderr(Stdio::piped()),
    )
}

/// A running program that does not outlive its test, however that ends.
pub struct Guard(Child);

impl Guard {
    pub fn start(command: &mut Command) -> Guard {
        Guard(command.spawn().unwrap())
    }

    /// Waits for its end, but not for ever.
    pub fn end(&mut self) -> ExitStatus {
        until("the end of the program", || self.0.try_wait().unwrap())
    }

    /// The same; what it exits with and said.
    pub fn said(&mut self) -> (Option<i32>, String) {
        let code = self.end().code();
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (code, said)
    }
}

impl Deref for Guard {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended
        let _ = self.0.wait();
    }
}

impl Folder {
    pub fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    /// With a table of ratings in `ratings.tsv`.
    pub fn with_ratings(rows: u64) -> Self {
        let folder = Folder::new();
        folder.ok(&format!("generate ratings --rows {rows} -o ratings.tsv"));
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// All names in it, hidden ones too.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Asserts that no temporary file is left.
    pub fn is_clean(&self) {
        let left: Vec<String> = self.names().into_iter().filter(|name| name.contains(".tmp")).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    /// Runs tamis here, with the words of a line as its arguments.
    pub fn run(&self, line: &str) -> Done {
        self.run_with(line, "")
    }

    /// The same with something on standard input.
    pub fn run_with(&self, line: &str, stdin: impl Into<Vec<u8>>) -> Done {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.run_words(&words, stdin)
    }

    /// The same with arguments that may have spaces in them.
    pub fn run_words(&self, words: &[&str], stdin: impl Into<Vec<u8>>) -> Done {
        let mut command = assert_cmd::Command::new(TAMIS);
        command.args(words);
        self.finish(command, stdin)
    }

    /// Runs a command of the shell here, in which `$TAMIS` is the program.
    pub fn shell(&self, line: &str) -> Done {
        let mut command = assert_cmd::Command::new("sh");
        command.args(["-c", line]);
        self.finish(command, "")
    }

    fn finish(&self, mut command: assert_cmd::Command, stdin: impl Into<Vec<u8>>) -> Done {
        command.current_dir(self.0.path()).env("TAMIS", TAMIS).env("RUST_BACKTRACE", "1");
        // A path means what it means without Hadoop, whoever runs the tests.
        for name in ["HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME"] {
            command.env_remove(name);
        }
        // For what hangs: the longest command takes seconds on two quiet cores, and minutes on busy ones.
        command.timeout(Duration::from_secs(600));
        let output = command.write_stdin(stdin).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let done = Done {
            code: output.status.code().expect("ended by itself"),
            out: text(output.stdout),
            err: text(output.stderr),
        };
        for word in ["panicked", "backtrace", "unreachable"] {
            assert!(!done.err.contains(word), "{}", done.err);
        }
        done
    }

    /// Runs what must succeed, and gives what it printed.
    pub fn ok(&self, line: &str) -> String {
        self.run(line).succeeded(line)
    }

    /// Runs with `--json` what must succeed, and gives what it printed.
    pub fn json(&self, line: &str) -> Value {
        self.run(&format!("{line} --json")).succeeded(line).parse().expect(line)
    }

    /// Runs what must fail with this code and one line that says all of this.
    pub fn refused(&self, line: &str, code: i32, says: &[&str]) {
        self.run(line).refused(line, code, says);
    }
}

impl Done {
    pub fn succeeded(self, line: &str) -> String {
        assert_eq!(self.code, 0, "{line}: {}", self.err);
        self.out
    }

    pub fn refused(&self, line: &str, code: i32, says: &[&str]) {
        assert_eq!(self.code, code, "{line}: {}{}", self.out, self.err);
        let error = self.err.lines().find(|line| line.starts_with("error: "));
        let error = error.unwrap_or_else(|| panic!("{line}: no error is named: {}", self.err));
        for text in says {
            assert!(error.contains(text), "{line}: {text:?} is missing in: {error}");
        }
    }
}

/// An opened file of filters.
pub fn container(path: &Path) -> Container<Map> {
    Container::open(Map::of(&fs::File::open(path).unwrap()).unwrap()).unwrap()
}

/// The lines of a table, with its header first, put in another order (the same every time).
pub fn shuffled(table: &str) -> String {
    let (header, rows) = table.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    let mut state = 1u64;
    for i in (1..rows.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        rows.swap(i, ((state >> 33) % (i as u64 + 1)) as usize);
    }
    format!("{header}\n{}\n", rows.join("\n"))
}

/// A table cut into parts of about the same number of rows, each with the header.
pub fn cut(table: &str, parts: usize) -> Vec<String> {
    let (header, rows) = table.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let part = |rows: &[&str]| format!("{header}\n{}\n", rows.join("\n"));
    rows.chunks(rows.len().div_ceil(parts)).map(part).collect()
}
