//! All faults of all jobs, on all cores.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use crate::calls::{Call, Key, Keys, Kind};
use crate::jobs::JOBS;
use crate::judge::{Known, Left, Litter};
use crate::power;
use crate::trace::{self, Aim, End, Errno, Fault, Stage};

/// Below this number a harness has lost its way.
const FEWEST_FAULTS: usize = 5_000;

/// The same for states of the disk after a loss of power, of dedup and stream.
const FEWEST_STATES: usize = 2_000;

/// What went wrong and is shown, of all jobs; of those that were asked for, everything.
const SHOWN: usize = 60;

/// What is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Both,
    Faults,
    Power,
    /// Nothing: the calls are listed.
    Calls,
}

/// Tries all that the arguments of the program ask for. Exit code 1: something went wrong, or too little was tried.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(program) = arguments.next().and_then(|program| fs::canonicalize(program).ok()) else {
        eprintln!("tamis-faults PROGRAM [faults | power | calls] [WORD]: name a program that is there");
        return ExitCode::from(2);
    };
    let mut word = arguments.next();
    let part = match word.as_deref() {
        Some("faults") => Part::Faults,
        Some("power") => Part::Power,
        Some("calls") => Part::Calls,
        _ => Part::Both,
    };
    if part != Part::Both {
        word = arguments.next();
    }
    if !trace::is_possible() {
        eprintln!("calls of the system cannot be followed on this machine (ptrace, seccomp)");
        return ExitCode::FAILURE;
    }
    match all(&program, part, word.as_deref()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// A folder for this run, which is gone after it; in memory, where there is such a place.
struct Base(PathBuf);

impl Base {
    fn new() -> std::io::Result<Base> {
        let place = Path::new("/dev/shm");
        let place = if place.is_dir() { place.to_owned() } else { std::env::temp_dir() };
        let path = place.join(format!("tamis-faults-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Base(fs::canonicalize(path)?))
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn all(program: &Path, part: Part, word: Option<&str>) -> Result<bool, String> {
    let base = Base::new().map_err(|error| error.to_string())?;
    let begun = Instant::now();
    let jobs: Vec<_> = JOBS.iter().filter(|job| word.is_none_or(|word| job.name.contains(word))).collect();
    let known = on_all_cores(program, &base.0, &jobs, |stage, job| Known::of(job, stage));
    let known = known.into_iter().collect::<Result<Vec<_>, _>>()?;
    if part == Part::Calls {
        known.iter().for_each(list);
        return Ok(true);
    }
    let shown = if word.is_some() { usize::MAX } else { SHOWN };
    let nothing = Counts { tried: usize::MAX, wrong: 0 };
    let faults = if part == Part::Power { nothing } else { faults(program, &base.0, &known, shown) };
    let lost = if part == Part::Faults { nothing } else { power(program, &base.0, &known, shown) };
    println!("{} s", begun.elapsed().as_secs());
    if word.is_none() && faults.tried < FEWEST_FAULTS {
        return Err(format!("{} faults are fewer than {FEWEST_FAULTS}", faults.tried));
    }
    if word.is_none() && lost.tried < FEWEST_STATES {
        return Err(format!("{} states after a loss of power are fewer than {FEWEST_STATES}", lost.tried));
    }
    Ok(faults.wrong + lost.wrong == 0)
}

/// Prints the calls of a job.
fn list(known: &Known) {
    println!("{}: {} calls of tamis {}", known.job.name, known.calls.len(), known.job.line());
    for (call, result) in &known.calls {
        let other = call.other.iter().map(|path| format!(" → {}", path.display())).collect::<String>();
        println!("  {} {}{other} = {result}", call.name, call.path.display());
    }
}

/// Does this for each, one on each core.
fn on_all_cores<T: Sync, R: Send>(
    program: &Path,
    base: &Path,
    items: &[T],
    each: impl Fn(&Stage<'_>, &T) -> R + Sync,
) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for core in 0..cores {
            let (next, done, each) = (&next, &done, &each);
            scope.spawn(move || {
                let (folder, notes) =
                    (base.join(format!("{core:03}")), base.join(format!("{core:03}.notes")));
                let stage = Stage { program, folder: &folder, notes: &notes, begun: RefCell::default() };
                while let Some((place, item)) = {
                    let at = next.fetch_add(1, Relaxed);
                    items.get(at).map(|item| (at, item))
                } {
                    let result = each(&stage, item);
                    done.lock().expect("nobody panics").push((place, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("nobody panics");
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// How many there were.
#[derive(Debug, Clone, Copy)]
struct Counts {
    tried: usize,
    wrong: usize,
}

/// Every fault of every call.
fn faults(program: &Path, base: &Path, known: &[Known], shown: usize) -> Counts {
    let mut all: Vec<(&Known, &Call, Key, Fault)> = Vec::new();
    for known in known {
        let mut keys = Keys::default();
        for (call, _) in &known.calls {
            let key = keys.next(call);
            all.extend(Fault::of(call).into_iter().map(|fault| (known, call, key.clone(), fault)));
        }
    }
    let results =
        on_all_cores(program, base, &all, |stage, (known, _, key, fault)| one(stage, known, key, *fault));
    let (mut by_job, mut by_fault) = (BTreeMap::<&str, usize>::new(), BTreeMap::<String, usize>::new());
    let mut counts = Counts { tried: 0, wrong: 0 };
    for ((known, call, _, fault), result) in all.iter().zip(results) {
        match result {
            Ok(false) => continue, // the run did not come to this call
            Ok(true) => {}
            Err(why) => {
                counts.wrong += 1;
                if counts.wrong <= shown {
                    let path = call.path.display();
                    println!("WRONG: {}: {} {path}: {fault}: {why}", known.job.name, call.name);
                }
            }
        }
        counts.tried += 1;
        *by_job.entry(known.job.name).or_default() += 1;
        *by_fault.entry(fault.to_string()).or_default() += 1;
    }
    for (name, count) in by_job
        .iter()
        .map(|(name, count)| (*name, count))
        .chain(by_fault.iter().map(|(name, count)| (&**name, count)))
    {
        println!("{count:7}  {name}");
    }
    println!("{} faults in {} jobs, {} wrong", counts.tried, by_job.len(), counts.wrong);
    counts
}

/// Power is lost at every moment of every job.
fn power(program: &Path, base: &Path, known: &[Known], shown: usize) -> Counts {
    let results = on_all_cores(program, base, known, power::lose);
    let mut counts = Counts { tried: 0, wrong: 0 };
    let mut others = 0;
    for (known, result) in known.iter().zip(results) {
        let lost = match result {
            Ok(lost) => lost,
            Err(why) => power::Lost { wrong: vec![why], ..power::Lost::default() },
        };
        println!(
            "{:7}  {}: states after a loss of power, of which {} refused to go on",
            lost.states, known.job.name, lost.refused
        );
        if known.job.kept().is_some() {
            counts.tried += lost.states;
        } else {
            others += lost.states;
        }
        for why in &lost.wrong {
            counts.wrong += 1;
            if counts.wrong <= shown {
                println!("WRONG: {}: {why}", known.job.name);
            }
        }
    }
    println!(
        "{} states after a loss of power in dedup and stream, {others} in others, {} wrong",
        counts.tried, counts.wrong
    );
    counts
}

/// One fault; false where the run did not come to it.
fn one(stage: &Stage<'_>, known: &Known, key: &Key, fault: Fault) -> Result<bool, String> {
    known.job.begin(stage, &known.old)?;
    let ran = stage.trace(&known.job.line(), Aim::Fault(key, fault)).map_err(|error| error.to_string())?;
    let Some(call) = ran.hit else { return Ok(false) };
    let left = match ran.end {
        End::Exit(0) => Left::Well,
        End::Exit(1) if ran.said.trim().is_empty() => return Err("it failed and said nothing".into()),
        End::Exit(1) => Left::WithError,
        End::Signal(libc::SIGKILL) if fault.kills() => Left::Dead,
        end => return Err(format!("it ended with {end:?}: {}", ran.said.trim_end())),
    };
    if left == Left::Well
        && call.kind == Kind::Sync
        && matches!(fault, Fault::Error(Errno::Io | Errno::NoSpace))
    {
        return Err("a sync failed and it said that all went well".into());
    }
    let litter =
        if left == Left::Dead || call.kind == Kind::Unlink { Litter::Temporary } else { Litter::Nothing };
    known
        .judge(stage, left, litter)
        .map(|_| true)
        .map_err(|why| format!("{left:?}: {why}; it said: {}", ran.said.trim_end()))
}
