//! From rows to the counters of conservative sketches, in the order of the rows.

use std::ops::{ControlFlow, Range};

use tamis::countmin::{CountMin, Update};
use tamis::format::Beside;
use tamis::memory::Words;
use tamis::params::Params;
use tamis_read::error::Result;
use tamis_read::{BadRecord, BadRow, Control, Next, RowResult, Sift, Sink, Sources};

use crate::arena::{self, Placing};
use crate::batch::{Keeps, KeyBatch};
use crate::build::{Built, Taken, taken};
use crate::count::KeyRules;
use crate::rows::{Groups, KeyRows};

/// Makes the keys of a chunk, on one thread.
struct Sifter<'a>(KeyRows<'a, KeyBatch>);

impl Sink for Sifter<'_> {
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        self.0.row(place, values)
    }

    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        self.0.bad_row(place, why)
    }

    fn sets_aside(&self) -> bool {
        self.0.sets_aside()
    }

    fn set_aside(&mut self, record: BadRecord<'_>) {
        self.0.set_aside(record);
    }
}

impl Sift for Sifter<'_> {
    type Batch = KeyBatch;

    fn batch(&mut self, _: &[u8], batch: &mut KeyBatch) {
        self.0.take.move_into(batch);
    }
}

/// Adds all keys of the input to conservative sketches, in the order of the input: the bytes are
/// those of one thread, whatever their number.
pub(crate) fn in_order(
    sources: &Sources,
    rules: KeyRules<'_>,
    params: Params,
    words: Option<Words>,
    threads: usize,
    control: &Control,
) -> Result<Built> {
    let mut words = words.map_or_else(|| Placing::new(&params).empty(), Ok)?;
    let sections = arena::sections(&params, &mut words);
    let mut sketches = Vec::with_capacity(sections.len());
    for (section, group) in sections.into_iter().zip(&params.groups) {
        let section = section.into_inner().expect("no holder panics");
        sketches.push(CountMin::from_words(section, group.shape, Update::Conservative, 0)?);
    }
    // Groups do not touch each other's counters: within one, the order of the rows is kept.
    let mut by_group: Vec<(Vec<u64>, Vec<u64>)> = vec![Default::default(); sketches.len()];
    let keeps = Keeps { groups: sketches.len() > 1, weights: true, ..Keeps::default() };
    let sifters =
        (0..threads).map(|_| Sifter(rules.rows(Groups::Known(&params), KeyBatch::new(keeps)))).collect();
    let sifters = sources.sift(
        sifters,
        |next| {
            let Next::Batch(batch, _) = next else { return Ok(ControlFlow::Continue(())) };
            if let [only] = &mut sketches[..] {
                only.add_weighted(batch.hashes(), batch.weights());
                return Ok(ControlFlow::Continue(()));
            }
            for ((&group, &hash), &weight) in batch.groups().iter().zip(batch.hashes()).zip(batch.weights()) {
                let (hashes, weights) = &mut by_group[group as usize];
                hashes.push(hash);
                weights.push(weight);
            }
            for (sketch, (hashes, weights)) in sketches.iter_mut().zip(&mut by_group) {
                if !hashes.is_empty() {
                    sketch.add_weighted(hashes, weights);
                    hashes.clear();
                    weights.clear();
                }
            }
            Ok(ControlFlow::Continue(()))
        },
        control,
    )?;
    drop(sketches);
    let sinks = sifters.into_iter().map(|sifter| sifter.0).collect();
    let (_, Taken { rows, totals, skipped }) = taken(sinks, params.groups.len());
    let beside = totals.into_iter().map(Beside::TotalWeight).collect();
    Ok(Built { skipped, ..Built::new(params, rows, beside, words) })
}
