//! Threads for work that is cut into numbered pieces.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use tamis_read::error::Result;

/// Does `work` for every number below `pieces`, on this many threads, and gives the results in
/// order. The first error in that order is the one returned.
pub fn each<R: Send>(
    threads: usize,
    pieces: usize,
    work: impl Fn(usize) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let results: Vec<Mutex<Option<Result<R>>>> = (0..pieces).map(|_| Mutex::new(None)).collect();
    until_one_fails(threads, pieces, &|piece| {
        let result = work(piece);
        let done = result.is_ok();
        *results[piece].lock().expect("no panic happens while it is held") = Some(result);
        done
    });
    // Pieces are begun in order: none is missing before the first that failed.
    let results = results.into_iter().map(|result| result.into_inner().expect("as above"));
    results.map_while(|result| result).collect()
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
            let squares = each(threads, 50, |i| Ok(i * i)).unwrap();
            assert_eq!(squares, (0..50).map(|i| i * i).collect::<Vec<_>>());
        }
        assert!(each(4, 0, Ok).unwrap().is_empty());
    }

    #[test]
    fn an_error_ends_the_work() {
        let fail = |i| if i == 3 { Err(Error::Interrupted) } else { Ok(()) };
        assert!(each(1, 10, fail).is_err());
        assert!(each(3, 10, fail).is_err());
    }
}
