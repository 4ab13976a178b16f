//! Rebuilds filters that turn out too small: larger, from the same rows, which are read again.
//!
//! Whether they are too small is looked at when the rows so far pass certain numbers, which follow
//! from the size: not by a clock. So a run that was killed makes its filters again at the same batch,
//! and the bytes are those of a run that was never disturbed.

use std::sync::Mutex;

use std::thread;
use std::time::Duration;

use tamis_make::rows::Names;
use tamis_read::NoThread;
use tamis_read::error::Result;

use super::learned::{Fill, Learned};
use super::lock;
use super::refusal::CannotResume;
use super::sift::{Grouping, Making};
use super::source::{Cut, Place, Reached, Records, Source};
use super::text::{self, Setup};

/// How often the fill is checked while as many rows arrive as keys are planned.
const LOOKS: u64 = 16;

/// How long rows are waited for at a time.
const PATIENCE: Duration = Duration::from_millis(50);

/// How filters are rebuilt.
pub(super) struct Rebuild<'a> {
    /// When their expected rate is over this.
    pub(super) above: f64,
    /// How the training stream is read.
    pub(super) setup: Setup<'a>,
    /// Records that are read at a time.
    pub(super) batch: usize,
}

/// Whether the fill is to be looked at after these rows, of this many in all, in filters of this many keys.
pub(super) fn is_due(rows: u64, all: u64, keys: u64) -> bool {
    let step = (keys / LOOKS).max(1);
    // With fewer rows than keys there cannot be too many keys.
    all > keys && all / step != (all - rows) / step
}

/// For how many keys filters of this many are planned when they have turned out too small: twice as many
/// as they hold, so that it is not done often.
pub(super) fn larger(keys: u64, fill: &Fill) -> u64 {
    let wanted = if fill.most.is_finite() { 2.0 * fill.most } else { 16.0 * keys as f64 };
    let mut more = keys.saturating_mul(2);
    while (more as f64) < wanted && more < u64::MAX / 2 {
        more *= 2;
    }
    more
}

impl Rebuild<'_> {
    /// Adds the first rows of the stream, up to this place.
    pub(super) fn read_again(&self, learned: &mut Learned, rows: u64, to: &Place) -> Result<()> {
        fn changed<T>() -> Result<T> {
            Err(CannotResume::RowsChanged.into())
        }
        let names = Mutex::new(Names::default());
        let groups = match self.setup.making.groups {
            Grouping::Found(params, _) => Grouping::Found(params, &names),
            known => known,
        };
        let on_bad = self.setup.making.on_bad.again();
        let making = Making { groups, on_bad, ..self.setup.making };
        let (mut text, reader) = text::open(Setup { making, folder: None, ..self.setup }, None)?;
        if !text.covers(to) {
            return changed(); // a file that is followed was rotated since
        }
        thread::scope(|scope| {
            let _ends = text.stop();
            thread::Builder::new().spawn_scoped(scope, move || reader.run()).map_err(NoThread)?;
            let (mut left, mut records) = (rows, Records::default());
            while left > 0 {
                records.clear();
                let cut = Cut::Records(usize::try_from(left).unwrap_or(usize::MAX).min(self.batch));
                while text.take(cut, PATIENCE, &mut records)? == Reached::Pause {}
                if records.is_empty() {
                    return changed();
                }
                learned.meet(&records, &lock(&names).list)?;
                learned.train(&records)?;
                left -= records.len() as u64;
            }
            // Behind the last row others may stand that were left out.
            records.clear();
            while text.take(Cut::At(to), PATIENCE, &mut records).or_else(|_| changed())? == Reached::Pause {}
            if records.is_empty() { Ok(()) } else { changed() }
        })?;
        learned.forget_numbers();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_get_room_for_twice_what_they_hold() {
        let holds = |most| Fill { most, ..Fill::default() };
        assert_eq!(larger(100, &holds(101.0)), 400);
        assert_eq!(larger(100, &holds(100.0)), 200);
        assert_eq!(larger(100, &holds(5_000.0)), 12_800);
        assert_eq!(larger(100, &holds(f64::INFINITY)), 1_600);
        assert_eq!(larger(u64::MAX / 2, &holds(f64::INFINITY)), u64::MAX - 1);
    }

    /// However rows are cut into batches, each mark is passed once.
    #[test]
    fn it_is_looked_at_when_rows_pass_certain_numbers() {
        let looks = |batch: u64| {
            let ends = (1..=10_000 / batch).map(|number| number * batch);
            ends.filter(|&all| is_due(batch, all, 1_600)).count()
        };
        assert_eq!((looks(1), looks(10), looks(100)), (84, 84, 84));
        assert_eq!(looks(5_000), 2);
        assert!(!is_due(1_600, 1_600, 1_600));
        assert!(is_due(1, 3, 1));
    }
}
