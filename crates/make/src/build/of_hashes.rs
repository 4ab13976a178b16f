//! Sketches of keys that come as their hashes, without rows.
//!
//! Whoever holds values that are keys as they stand can hash them where they lie, and need not make a table of
//! them. What becomes of the hashes is what becomes of rows: the bytes are the same.

use tamis::about::Classes;
use tamis::hash::Single;
use tamis::key::Column;
use tamis::params::Name;
use tamis::sizing::Kind;
use tamis::sketch::Beside;
use tamis_read::Control;
use tamis_read::error::Result;

use super::from_counted::{from_pairs, of_counted, put_batches};
use super::{Built, Job, Putting, static_filters};
use crate::count::Counted;
use crate::pairs::{Batch, Book, Grouped, LOG, Pairs, Seen};
use crate::parallel;

/// Keys that a thread takes together.
const PIECE: usize = 1 << 16;

/// Keys, each by its hash.
#[derive(Debug, Clone)]
pub struct Hashed {
    /// The hashes, one for each row.
    pub hashes: Vec<u64>,
    /// The classes of the keys.
    pub classes: Classes,
}

impl Job {
    /// The hash of keys that may come in place of a table without columns: where a key is a value as it stands,
    /// there is one group, and nothing but the hash of a key is asked for.
    pub fn takes_hashes(&self) -> Option<Single> {
        let recipe = &self.recipe;
        let plain = recipe.is_plain()
            && matches!(recipe.columns()[..], [Column::Line | Column::Number(1)])
            && self.bad_rows.path().is_none();
        // Records are made of words, and weights are counted row by row.
        let by_hash = match self.sketches.kind() {
            Kind::Blocked | Kind::Bloom | Kind::Fuse | Kind::Ribbon => true,
            Kind::Counting => self.sketches.putting() == Putting::Rows,
            Kind::Layered | Kind::Scalable | Kind::CountMin | Kind::CountMinConservative => false,
        };
        let hash = self.sketches.hash();
        hash.single().filter(|_| plain && by_hash && hash.hashes_keys().is_ok())
    }
}

/// The same as [`make`](super::make) of rows with these keys.
pub(crate) fn make_of_hashes(job: &Job, keys: Hashed, control: &Control) -> Result<Built> {
    let Hashed { hashes, classes } = keys;
    let about = job.about_classes(classes);
    if job.sketches.putting() == Putting::Static {
        let built = static_filters(job, counted(job, &hashes, control)?, control)?;
        return Ok(Built { about, ..built });
    }
    let (params, counted) = match job.parameters_without_rows()? {
        Some(params) => (params, None),
        None => {
            let mut counted = counted(job, &hashes, control)?;
            (of_counted(job, &mut counted)?, Some(counted))
        }
    };
    let estimated = counted.as_ref().is_some_and(Counted::estimating);
    let counted = counted.and_then(|counted| counted.that_makes(job.sketches.of_hashes()));
    let built = match (job.sketches.of_hashes(), counted) {
        (Some(kind), Some(counted)) => from_pairs(params, kind, counted, job.threads, control)?,
        _ => {
            let give = |work: &(dyn Fn(Batch<'_>) -> Result<()> + Sync)| {
                let pieces: Vec<&[u64]> = hashes.chunks(PIECE).collect();
                parallel::each(job.threads, pieces.len(), |piece| {
                    control.check()?;
                    work(Batch::Hashes(0, pieces[piece]))
                })?;
                Ok(())
            };
            let arena = put_batches(&give, &params, None, job.threads)?;
            let beside = vec![Beside::empty(params.common.kind)];
            Built::new(params, vec![hashes.len() as u64], beside, arena)
        }
    };
    let mut built = Built { estimated, about, ..built };
    job.record_count(&mut built.about, estimated, &built.rows);
    Ok(built)
}

/// Counts the different ones.
fn counted(job: &Job, hashes: &[u64], control: &Control) -> Result<Counted> {
    let rows: Vec<u64> = Some(hashes.len() as u64).filter(|rows| *rows > 0).into_iter().collect();
    let seen = if job.threads <= 1 && hashes.len() <= LOG.min(job.exactly()) {
        let (pairs, keys) = Pairs::of_few(hashes, control)?;
        Seen { keys: rows.iter().map(|_| keys).collect(), estimated: false, pairs: Some(pairs) }
    } else {
        seen(job, hashes, rows.len(), control)?
    };
    let Seen { keys, estimated, pairs } = seen;
    let groups = keys.into_iter().map(|keys| (Name::default(), keys)).collect();
    Counted { groups, rows, estimated, pairs, keywords: None, skipped: 0 }.believed()
}

/// What threads see of them.
fn seen(job: &Job, hashes: &[u64], groups: usize, control: &Control) -> Result<Seen> {
    let book = Book::new(Grouped::No, job.exactly(), job.memory, job.threads, control);
    // Each thread sees some in a row.
    let share = hashes.len().div_ceil(job.threads.max(1)).max(1);
    let shares: Vec<&[u64]> = hashes.chunks(share).collect();
    let logs = book.given(parallel::each(job.threads, shares.len(), |share| {
        let mut log = book.log();
        for piece in shares[share].chunks(PIECE) {
            control.check()?;
            log.see_all(0, piece);
        }
        Ok(log)
    }))?;
    book.close(logs, groups, None)
}
