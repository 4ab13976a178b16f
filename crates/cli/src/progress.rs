//! A job that runs while its progress is shown and Ctrl-C is heard.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use tamis_read::Control;

use crate::show::Output;
use crate::{interrupt, notes};

/// Runs a job with its control.
pub fn run<T>(
    output: &Output,
    what: &'static str,
    job: impl FnOnce(&Control) -> tamis_read::Result<T>,
) -> Result<T> {
    shown(output, interrupt::run, &|control, done| watch(what, control, done), job)
}

/// The same for a job that needs its time to end when it is asked to.
pub fn run_to_its_end<T>(
    output: &Output,
    what: &'static str,
    job: impl FnOnce(&Control) -> tamis_read::Result<T>,
) -> Result<T> {
    shown(output, interrupt::run_to_its_end, &|control, done| watch(what, control, done), job)
}

/// The same with a line that tells how far it is.
pub fn run_with_line<T>(
    output: &Output,
    line: impl Fn() -> String + Sync,
    job: impl FnOnce(&Control) -> tamis_read::Result<T>,
) -> Result<T> {
    shown(output, interrupt::run_to_its_end, &|_, done| show_line(&line, done), job)
}

/// What runs a job that listens.
type Listening = fn(&mut dyn FnMut(&Control));

/// What shows the progress of a job until that is done.
type Watch<'w> = dyn Fn(&Control, &AtomicBool) + Sync + 'w;

/// Does a job, and beside it what shows its progress.
fn shown<T>(
    output: &Output,
    listening: Listening,
    watch: &Watch<'_>,
    job: impl FnOnce(&Control) -> tamis_read::Result<T>,
) -> Result<T> {
    let (mut job, mut result) = (Some(job), None);
    listening(&mut |control| {
        beside(output, watch, control, &mut || result = job.take().map(|job| job(control)));
        if let Some(Ok(_)) = result {
            notes::comments(output, control.comments());
        }
    });
    Ok(result.expect("a job that is run has a result")?)
}

/// Does a job, and beside it what shows its progress, where that is wanted. Not generic: threads are much to
/// compile, and there are many jobs.
fn beside(output: &Output, watch: &Watch<'_>, control: &Control, job: &mut dyn FnMut()) {
    if !output.shows_progress() {
        return job();
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        // Where no thread can be had, the job is done unseen.
        let watcher = thread::Builder::new().spawn_scoped(scope, || watch(control, &done)).ok();
        // Also when the job panics: the scope waits for the watcher.
        let _done = watcher.map(|watcher| Done(&done, watcher.thread().clone()));
        job();
    });
}

fn show_line(line: &impl Fn() -> String, done: &AtomicBool) {
    let bar = ProgressBar::no_length();
    let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") else { return };
    bar.set_style(style);
    while !done.load(Relaxed) {
        thread::park_timeout(Duration::from_millis(500));
        bar.set_message(line());
        bar.tick();
    }
    bar.finish_and_clear();
}

/// Ends the watcher when it goes out of scope.
struct Done<'a>(&'a AtomicBool, thread::Thread);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
        self.1.unpark();
    }
}

/// Shows a bar from the first half second on: short jobs stay silent.
fn watch(what: &'static str, control: &Control, done: &AtomicBool) {
    thread::park_timeout(Duration::from_millis(500));
    let bar = ProgressBar::no_length();
    let known = ProgressStyle::with_template("{msg} {bar:30} {percent}% {elapsed}, {eta} left");
    let unknown = ProgressStyle::with_template("{msg} {spinner} {bytes} {elapsed}");
    let (Ok(known), Ok(unknown)) = (known, unknown) else { return };
    bar.set_message(what);
    while !done.load(Relaxed) {
        let (steps, total) = control.progress();
        if total > 0 {
            bar.set_style(known.clone());
            bar.set_length(total);
        } else {
            bar.set_style(unknown.clone());
        }
        bar.set_position(steps);
        bar.tick();
        thread::park_timeout(Duration::from_millis(100));
    }
    bar.finish_and_clear();
}
