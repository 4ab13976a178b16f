//! Counts on their way from one machine to another: cut by the highest bits of the hashes into parts,
//! which can be brought together apart from each other.
//!
//! The hashes of a part are a range of all hashes, and so are the registers of an estimator that they
//! belong to: what two machines saw of a part can be joined without the other parts.

use super::{Counts, Distinct};

/// What was seen of a group in one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Distinct hashes.
    Hashes(&'a [u64]),
    /// Registers of an estimator, from this one on.
    Ranks(usize, &'a [u8]),
}

/// What counts hold of one of `parts` parts, by group. The number of parts is a power of two. The
/// counts must be [settled](Counts::settled_whole).
pub(crate) fn pieces(counts: &Counts, part: usize, parts: usize) -> impl Iterator<Item = (usize, Piece<'_>)> {
    let groups = counts.groups.iter().enumerate();
    groups.filter_map(move |(group, distinct)| Some((group, piece(distinct, part, parts)?)))
}

fn piece(distinct: &Distinct, part: usize, parts: usize) -> Option<Piece<'_>> {
    let shift = 64 - parts.trailing_zeros();
    let of = |hash: u64| if shift == 64 { 0 } else { (hash >> shift) as usize };
    match distinct {
        Distinct::Exact(log) => {
            let hashes = log.hashes();
            let from = hashes.partition_point(|&hash| of(hash) < part);
            let to = hashes.partition_point(|&hash| of(hash) <= part);
            (from < to).then(|| Piece::Hashes(&hashes[from..to]))
        }
        Distinct::Estimated(hll) => {
            let (first, ranks) = hll.window(part, parts);
            ranks.iter().any(|&rank| rank > 0).then_some(Piece::Ranks(first, ranks))
        }
    }
}

impl Counts {
    /// Puts all logs in order.
    pub(crate) fn settled_whole(&mut self) {
        self.settle_all();
        if self.estimating {
            self.groups.iter_mut().for_each(Distinct::estimate);
        }
    }

    /// Adds what others saw of a group; false if the registers are invalid.
    pub(crate) fn see_piece(&mut self, group: u32, piece: Piece<'_>) -> bool {
        match piece {
            Piece::Hashes(hashes) => {
                hashes.iter().for_each(|&hash| self.see(group, hash));
                true
            }
            Piece::Ranks(first, ranks) => {
                self.see_estimates();
                let at = group as usize;
                if at >= self.groups.len() {
                    self.groups.resize_with(at + 1, Distinct::default);
                }
                if let Distinct::Exact(log) = &self.groups[at] {
                    self.fresh -= log.fresh();
                    let exact = std::mem::replace(&mut self.groups[at], Distinct::Estimated(Box::default()));
                    self.groups[at].merge(exact);
                }
                match &mut self.groups[at] {
                    Distinct::Estimated(hll) => hll.merge_window(first, ranks),
                    Distinct::Exact(_) => unreachable!("it estimates by now"),
                }
            }
        }
    }

    /// Learns that there are more keys than are counted exactly.
    pub(crate) fn see_estimates(&mut self) {
        if !self.estimating {
            self.settle_all();
            self.estimating = true;
            self.groups.iter_mut().for_each(Distinct::estimate);
        }
    }
}
