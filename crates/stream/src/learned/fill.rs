//! How full sketches are.

use tamis::format::{self, Beside, Tally};
use tamis::params::GroupParams;
use tamis::sizing::Kind;
use tamis::sketch::Sketch;
use tamis_make::health;
use tamis_read::error::Result;

use super::{Kept, Learned, NamedSketch, params_of, sections};

/// How full they are.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Fill {
    /// The share of bits that is set, or of counters that are not zero.
    pub fill: f64,
    /// The rate to expect now, of the group where it is highest; no number where sketches count.
    pub rate: f64,
    /// Distinct keys, estimated, over all groups; no number where sketches count.
    pub keys: f64,
    /// Bytes.
    pub bytes: u64,
    /// Those of the group that has most.
    pub most: f64,
    /// Groups.
    pub groups: u64,
    /// Those of them that surely hold more keys than they can at their rate.
    pub overfull: u64,
}

impl Learned {
    /// Counters that ran full; filters have none. Reads all of it.
    pub(crate) fn counters_full(&self) -> Result<u64> {
        let full = |(_, sketch): &NamedSketch<'_>| match sketch {
            Sketch::CountMin(sketch) => sketch.census().saturated,
            _ => 0,
        };
        Ok(self.sketches()?.iter().map(full).sum())
    }

    /// How full it is. Reads all of it.
    pub(crate) fn fill(&self) -> Result<Fill> {
        let (mut fill, mut ones, mut slots) = (Fill::default(), 0, 0);
        let mut see = |kind: Kind, group: &GroupParams, words: &[u64], rows: u64, beside: Beside| {
            let tally = Tally { rows, beside, ones: format::used(&group.shape, words), sum: 0 };
            let health = health::health(kind, group, &tally);
            fill.keys += health.keys;
            fill.most = fill.most.max(health.keys);
            fill.rate = fill.rate.max(health.rate);
            fill.groups += 1;
            fill.overfull += u64::from(health.overfull);
            fill.bytes += group.shape.bits() / 8;
            ones += tally.ones;
            slots += if kind.counts() { group.shape.slots() } else { group.shape.cells() };
        };
        match &self.kept {
            Kept::Fixed { params, words } => {
                for (number, (group, at)) in params.groups.iter().zip(sections(params)).enumerate() {
                    see(params.common.kind, group, &words[at], self.rows[number], self.beside[number]);
                }
            }
            Kept::Growing(filters) => {
                for ((name, filter), rows) in filters.iter().zip(&self.rows) {
                    let newest = Beside::NewestKeys(filter.newest());
                    see(Kind::Scalable, &params_of(name, filter)?, filter.words(), *rows, newest);
                }
            }
        }
        fill.fill = ones as f64 / (slots as f64).max(1.0);
        if self.counts() {
            fill.rate = f64::NAN;
        }
        Ok(fill)
    }
}
