//! Threads for work that is cut into numbered pieces.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use tamis_read::error::Result;

/// Where there are more pieces than this, a thread does a few of them in a row: of millions, each costs no
/// more than its result.
const MANY: usize = 4096;
const IN_A_ROW: usize = 64;

/// Does `work` for every number below `pieces`, on this many threads, and gives the results in
/// order. The first error in that order is the one returned.
pub fn each<R: Send>(
    threads: usize,
    pieces: usize,
    work: impl Fn(usize) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    gathered(threads, pieces, &work)
}

/// Compiled once for each type of result, not for each work.
fn gathered<R: Send>(
    threads: usize,
    pieces: usize,
    work: &(dyn Fn(usize) -> Result<R> + Sync),
) -> Result<Vec<R>> {
    let row = if pieces > MANY { IN_A_ROW } else { 1 };
    let rows = pieces.div_ceil(row);
    let results: Vec<Mutex<Option<Result<Vec<R>>>>> = (0..rows).map(|_| Mutex::new(None)).collect();
    until_one_fails(threads, rows, &|at| {
        let result: Result<Vec<R>> = (at * row..pieces.min((at + 1) * row)).map(work).collect();
        let done = result.is_ok();
        *results[at].lock().expect("no panic happens while it is held") = Some(result);
        done
    });
    let mut all = Vec::with_capacity(pieces);
    // Rows are begun in order: none is missing before the first that failed.
    for result in results.into_iter().map_while(|result| result.into_inner().expect("as above")) {
        all.extend(result?);
    }
    Ok(all)
}

/// Begins pieces in order until all are done, or one is not. Not generic: threads are much to compile.
fn until_one_fails(threads: usize, pieces: usize, work: &(dyn Fn(usize) -> bool + Sync)) {
    let next = AtomicUsize::new(0);
    let worker = || {
        loop {
            let piece = next.fetch_add(1, Relaxed);
            if piece >= pieces {
                return;
            }
            if !work(piece) {
                next.store(pieces, Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        // The last of the threads is this one; where no others can be had, it does all of the work.
        let begin = |_| thread::Builder::new().spawn_scoped(scope, worker).ok();
        let others: Vec<_> = (1..threads.min(pieces)).map_while(begin).collect();
        worker();
        others.into_iter().for_each(|other| other.join().expect("a worker does not panic"));
    });
}

/// The threads to use where the user did not say.
pub fn default_threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_read::Error;

    #[test]
    fn results_come_in_order_whatever_the_threads() {
        for threads in [1, 2, 7, 100] {
            for pieces in [50, MANY + 7] {
                let squares = each(threads, pieces, |i| Ok(i * i)).unwrap();
                assert_eq!(squares, (0..pieces).map(|i| i * i).collect::<Vec<_>>());
            }
        }
        assert!(each(4, 0, Ok).unwrap().is_empty());
    }

    #[test]
    fn an_error_ends_the_work() {
        let fail = |i| if i == 3 { Err(Error::Interrupted) } else { Ok(()) };
        assert!(each(1, 10, fail).is_err());
        assert!(each(3, 10, fail).is_err());
        assert!(each(3, 2 * MANY, fail).is_err());
    }
}
