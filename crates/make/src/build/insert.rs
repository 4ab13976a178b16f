//! Keys on their way into sketches whose parameters are known: row by row, or each different key once.

use tamis::memory::Words;
use tamis::params::Params;
use tamis::sizing::Kind;
use tamis::sketch::Beside;
use tamis_read::error::Result;
use tamis_read::{Control, Sources};

use super::from_counted::put_pairs;
use super::{Built, Refusal};
use crate::arena::{self, Placing, Private, Ranges, Shared};
use crate::count::KeyRules;
use crate::count_min;
use crate::pairs::{Book, Grouped, Log, Seen};
use crate::rows::{Groups, Key, KeyRows, Take};

/// Puts all keys of the input into an arena, straight from the rows.
pub(crate) fn insert(
    sources: &Sources,
    rules: KeyRules<'_>,
    params: Params,
    words: Option<Words>,
    threads: usize,
    control: &Control,
) -> Result<Built> {
    if params.common.kind == Kind::CountMinConservative {
        return count_min::in_order(sources, rules, params, words, threads, control);
    }
    let placing = Placing::new(&params);
    let (arena, taken) = if arena::share(&placing, threads) {
        let mut words = words.map_or_else(|| placing.empty(), Ok)?;
        let ranges = Ranges::new(&placing, &mut words, threads);
        let sinks = (0..threads)
            .map(|_| rules.rows(Groups::Known(&params), Shared::new(&placing, &ranges)))
            .collect();
        let (takes, taken) = taken(sources.scan(sinks, control)?, params.groups.len());
        takes.into_iter().for_each(Shared::finish);
        drop(ranges);
        (words, taken)
    } else {
        let mut words = words;
        let mut sinks = Vec::new();
        for _ in 0..threads {
            let private = words
                .take()
                .map_or_else(|| Private::new(&placing), |words| Ok(Private::with(&placing, words)))?;
            sinks.push(rules.rows(Groups::Known(&params), private));
        }
        let (takes, taken) = taken(sources.scan(sinks, control)?, params.groups.len());
        let mut arenas = takes.into_iter().map(Private::finish);
        let mut all = arenas.next().map_or_else(|| placing.empty(), Ok)?;
        arenas.for_each(|words| placing.join(&mut all, &words));
        (all, taken)
    };
    let Taken { rows, totals, skipped } = taken;
    let beside = totals.into_iter().map(|total| Beside::of_weight(params.common.kind, total)).collect();
    Ok(Built { skipped, ..Built::new(params, rows, beside, arena) })
}

/// Sees the keys of one thread.
struct See<'b>(Log<'b>);

impl Take for See<'_> {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        self.0.see(key.group, key.hash);
    }

    #[inline]
    fn take_hashes(&mut self, group: u32, hashes: &[u64]) {
        self.0.see_all(group, hashes);
    }

    fn reads_bytes(&self) -> bool {
        false
    }
}

/// The same into `counting` filters, equal keys of a group once: they are found in this much memory.
pub(crate) fn insert_distinct(
    sources: &Sources,
    rules: KeyRules<'_>,
    params: Params,
    words: Option<Words>,
    (memory, threads): (u64, usize),
    control: &Control,
) -> Result<Built> {
    let grouped = Grouped::of(rules.recipe);
    let book = Book::new(grouped, usize::MAX, memory, threads, control);
    let sink = |_| rules.rows(Groups::Known(&params), See(book.log()));
    let sinks = book.given(sources.scan_dyn((0..threads).map(sink).collect(), control))?;
    let skipped = sinks.iter().map(|sink| sink.skipped).sum();
    let logs = sinks.into_iter().map(|sink| sink.take.0).collect();
    let Seen { keys, pairs, .. } = book.close(logs, params.groups.len(), None)?;
    let pairs = pairs.ok_or(Refusal::Estimated)?;
    let arena = put_pairs(&pairs, &params, words, threads, control)?;
    let beside = vec![Beside::empty(params.common.kind); params.groups.len()];
    Ok(Built { skipped, ..Built::new(params, keys, beside, arena) })
}

/// What was taken, summed over threads.
pub(crate) struct Taken {
    /// The rows of each group.
    pub rows: Vec<u64>,
    /// Their weights.
    pub totals: Vec<u64>,
    /// Rows left out.
    pub skipped: u64,
}

/// What took the keys, and what was taken.
pub(crate) fn taken<T: Take>(sinks: Vec<KeyRows<'_, T>>, groups: usize) -> (Vec<T>, Taken) {
    let mut taken = Taken { rows: vec![0; groups], totals: vec![0; groups], skipped: 0 };
    let mut takes = Vec::new();
    for sink in sinks {
        taken.rows.iter_mut().zip(&sink.rows).for_each(|(all, rows)| *all += rows);
        let totals = taken.totals.iter_mut().zip(sink.totals());
        totals.for_each(|(all, total)| *all = all.saturating_add(*total));
        taken.skipped += sink.skipped;
        takes.push(sink.take);
    }
    (takes, taken)
}
