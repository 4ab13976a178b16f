//! Lessons: what a kind of sketch answers, how it errs and what it costs, derived step by step with the
//! reader's own numbers.
//!
//! The numbers are plain data, and come from the sizing functions of the library; the words around them are
//! here. (How a job understands its *inputs* is another matter: see [`explain`](crate::explain).)

mod blocked;
mod bloom;
mod count_min;
mod counting;
mod fuse;
mod layered;
mod others;
mod ribbon;
mod scalable;
pub mod slides;
mod words;

#[cfg(test)]
mod tests;

use serde_json::Value;
use tamis::sizing::{Kind, Shape};
use tamis_make::number;

use crate::{Page, Section, Step};

/// A lesson: the numbers of a sketch, from which a page and JSON are made.
#[derive(Debug, Clone)]
pub struct Lesson(Numbers);

#[derive(Debug, Clone)]
enum Numbers {
    Blocked(blocked::Numbers),
    Bloom(bloom::Numbers),
    Fuse(fuse::Numbers),
    Ribbon(ribbon::Numbers),
    Counting(counting::Numbers),
    Scalable(scalable::Numbers),
    Layered(layered::Numbers),
    CountMin(count_min::Numbers),
}

/// What a filter in a file is seen to be like, beside what is expected of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Which filter of which file it is.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The share of bits that are ones; where there are layers, in the fullest.
    pub fill: f64,
    /// The keys, or records, that this tells of; infinite in a full filter.
    pub keys: f64,
    /// The rate that this tells of.
    pub rate: f64,
}

impl Lesson {
    /// About a filter of this shape that holds this many keys (a layer of it, where it has layers); none
    /// where it counts, or grows.
    pub fn of_filter(shape: Shape, keys: u64) -> Option<Lesson> {
        Some(Lesson(match shape {
            Shape::Blocked { lines, hashes } => Numbers::Blocked(blocked::Numbers::of(keys, lines, hashes)),
            Shape::Bloom { bits, hashes } => Numbers::Bloom(bloom::Numbers::of(keys, bits, hashes)),
            Shape::Fuse { slots, fingerprint_bits } => {
                Numbers::Fuse(fuse::Numbers::of(keys, slots, fingerprint_bits))
            }
            Shape::Ribbon { widths, .. } => Numbers::Ribbon(ribbon::Numbers::of(keys, widths)),
            Shape::Counting { lines, hashes } => {
                Numbers::Counting(counting::Numbers::of(keys, lines, hashes))
            }
            Shape::Layered { .. } => Numbers::Layered(layered::Numbers::of(keys, shape)),
            Shape::Scalable { .. } | Shape::CountMin { .. } => return None,
        }))
    }

    /// About a filter that grows, whose first layer is for this many keys, at this rate, with this many layers;
    /// none where there is no such layer.
    pub fn of_growing(keys: u64, fpr: f64, layers: u32) -> Option<Lesson> {
        Some(Lesson(Numbers::Scalable(scalable::Numbers::of(keys, fpr, layers)?)))
    }

    /// About counters of this shape that count a stream of this total weight; and the error and its
    /// probability that they were planned for, where they were. None where nothing is counted.
    pub fn of_counts(shape: Shape, total: u64, wished: Option<(f64, f64)>) -> Option<Lesson> {
        let Shape::CountMin { row, depth, counter_bits } = shape else { return None };
        Some(Lesson(Numbers::CountMin(count_min::Numbers::of(row, depth, counter_bits, total, wished))))
    }

    /// As a page, for the browser and the terminal; with what is seen of the filter, where there is one.
    pub fn page(&self, seen: Option<&Seen>) -> Page {
        let mut page = match &self.0 {
            Numbers::Blocked(numbers) => numbers.page(),
            Numbers::Bloom(numbers) => numbers.page(),
            Numbers::Fuse(numbers) => numbers.page(),
            Numbers::Ribbon(numbers) => numbers.page(),
            Numbers::Counting(numbers) => numbers.page(),
            Numbers::Scalable(numbers) => numbers.page(),
            Numbers::Layered(numbers) => numbers.page(),
            Numbers::CountMin(numbers) => numbers.page(),
        };
        if let Some(seen) = seen {
            // After the figures.
            page.sections.splice(1..1, seen.sections());
        }
        page
    }

    /// The numbers, for programs.
    pub fn json(&self) -> Value {
        match &self.0 {
            Numbers::Blocked(numbers) => numbers.json(),
            Numbers::Bloom(numbers) => numbers.json(),
            Numbers::Fuse(numbers) => numbers.json(),
            Numbers::Ribbon(numbers) => numbers.json(),
            Numbers::Counting(numbers) => numbers.json(),
            Numbers::Scalable(numbers) => numbers.json(),
            Numbers::Layered(numbers) => numbers.json(),
            Numbers::CountMin(numbers) => numbers.json(),
        }
    }
}

impl Seen {
    fn sections(&self) -> [Section; 2] {
        let keys = match self.keys.is_finite() {
            true => number::fixed(self.keys, 0, false),
            false => "more than can be told: it is full".to_owned(),
        };
        let (ones, what) = match self.kind {
            Kind::Layered => ("ones in the fullest layer", "records"),
            Kind::Counting => ("counters above 0", "keys"),
            _ => ("bits that are ones", "keys"),
        };
        [
            Section::Heading(format!("Seen in {}", self.name)),
            Section::Steps(vec![
                Step::new(ones, number::percent(self.fill)),
                Step::new(format!("{what}, estimated from that"), keys),
                Step::new("rate, estimated from that", number::rate(self.rate)),
            ]),
        ]
    }
}
