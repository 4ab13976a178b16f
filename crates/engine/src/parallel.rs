//! Threads for work that is cut into numbered pieces.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use crate::error::Result;

/// Does `work` for every number below `pieces`, on so many threads, and gives the results in
/// order. The first error in that order is the one returned.
pub fn each<R: Send>(
    threads: usize,
    pieces: usize,
    work: impl Fn(usize) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    if threads <= 1 || pieces <= 1 {
        return (0..pieces).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let piece = next.fetch_add(1, Relaxed);
            if piece >= pieces {
                return done;
            }
            let result = work(piece);
            let failed = result.is_err();
            done.push((piece, result));
            if failed {
                next.store(pieces, Relaxed); // the others need not begin more
            }
        }
    };
    let mut results: Vec<(usize, Result<R>)> = thread::scope(|scope| {
        let handles: Vec<_> = (0..threads.min(pieces)).map(|_| scope.spawn(worker)).collect();
        handles.into_iter().flat_map(|handle| handle.join().expect("a worker does not panic")).collect()
    });
    results.sort_by_key(|(piece, _)| *piece);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The threads to use where the user did not say.
pub fn default_threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

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
        let fail = |i| if i == 3 { Err(Error::Refused("no".into())) } else { Ok(()) };
        assert!(each(1, 10, fail).is_err());
        assert!(each(3, 10, fail).is_err());
    }
}
