//! Row groups of Parquet of which it is known, before a row is read, that no record passes.
//!
//! By the dictionary of the key's column, where all its pages refer to it: its values are asked like those of rows, by
//! any recipe, so the outcome is that of reading. By the keys themselves, where they lie beside the filters and values
//! are keys as they stand: none of them lies between the least and the greatest value of the column, or is in its
//! Bloom filter. What would have passed there is a false positive of the filters.
//!
//! Nothing is skipped where somebody wants the records that do not pass, where a row that is no key must be told, or where
//! several files are asked.

use std::cmp::Ordering;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

use tamis::key::{Recipe, is_present};
use tamis::sizing::Kind;
use tamis_formats::parquet::{SplitBlock, hash};
use tamis_make::exact::{self, Store};
use tamis_make::files::Mapped;
use tamis_make::rows::BadRows;
use tamis_read::error::Result;
use tamis_read::parquet::{Chunk, Texts, Value};
use tamis_read::{Control, Format, Sources};

use super::Job;
use super::sieve::Asked;
use crate::parquet::filter_of;

/// What is known of rows that need not be read.
#[derive(Debug)]
pub(super) struct Skipping {
    /// Whether a null ends the job, or is a key.
    needs_values: bool,
    known: Option<Known>,
}

/// Row groups that were not read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Row groups of Parquet in all.
    pub row_groups: u64,
    /// Those of which no record can pass.
    pub skipped: u64,
    /// Their records.
    pub records: u64,
}

impl Skipped {
    pub(super) fn add(&mut self, other: Skipped) {
        self.row_groups += other.row_groups;
        self.skipped += other.skipped;
        self.records += other.records;
    }
}

impl Skipping {
    /// What is known for this job; none where all rows must be read. Whoever wants records that do not pass wants
    /// all.
    pub(super) fn of(
        job: &Job,
        recipe: &Recipe,
        (file, asked): (&Mapped, &Asked),
        sources: &Sources,
        control: &Control,
    ) -> Option<Skipping> {
        let of_parquet = sources.explain().iter().any(|input| input.format == Format::Parquet);
        let Asked::Any(groups) = asked else { return None };
        let one_column = recipe.columns().len() == 1 && job.also.is_empty();
        if !of_parquet || !one_column || matches!(job.bad_rows, BadRows::SetAside(_)) {
            return None;
        }
        let plain = recipe.key.iter().all(|field| field.steps.is_empty()) && recipe.keywords.is_none();
        let known = (plain && file.params().common.kind != Kind::Layered)
            .then(|| Known::beside(job, file, groups, control).ok().flatten())
            .flatten();
        Some(Skipping { needs_values: job.bad_rows == BadRows::Fail || recipe.null.is_some(), known })
    }

    /// How many nulls the column has, where none of them keeps its rows from being skipped.
    pub(super) fn nulls(&self, column: &Chunk<'_>) -> Option<u64> {
        column.nulls().filter(|nulls| *nulls == 0 || !self.needs_values)
    }

    /// The keys themselves, where they are known.
    pub(super) fn known(&self) -> Option<&Known> {
        self.known.as_ref()
    }
}

/// The keys themselves, sorted as bytes.
#[derive(Debug)]
pub(super) struct Known {
    keys: Vec<Box<[u8]>>,
    /// Those that are whole numbers, sorted as such; by their type.
    numbers: [OnceLock<Vec<Value>>; 4],
}

/// More keys than these are not held in memory to skip row groups.
const MOST_KEYS: u64 = 1 << 23;
const MOST_BYTES: usize = 256 << 20;

impl Known {
    /// The keys of these groups that lie beside the filters; none where there are none, or too many.
    fn beside(job: &Job, file: &Mapped, groups: &[usize], control: &Control) -> Result<Option<Known>> {
        let Some(store) = exact::beside(&job.filters, file)? else { return Ok(None) };
        match store.pairs() <= MOST_KEYS {
            true => Known::of(&store, groups, control),
            false => Ok(None),
        }
    }

    fn of(store: &Store, groups: &[usize], control: &Control) -> Result<Option<Known>> {
        let (mut keys, mut bytes): (Vec<Box<[u8]>>, usize) = (Vec::new(), 0);
        exact::each(store, control, |key| {
            if bytes <= MOST_BYTES && groups.binary_search(&(key.group as usize)).is_ok() {
                bytes += key.bytes.len();
                keys.push(key.bytes.into());
            }
        })?;
        keys.sort_unstable();
        keys.dedup();
        Ok((bytes <= MOST_BYTES).then(|| Known { keys, numbers: Default::default() }))
    }

    /// Whether this text is a key.
    pub(super) fn has(&self, text: &[u8]) -> bool {
        self.keys.binary_search_by(|key| (**key).cmp(text)).is_ok()
    }

    /// Whether no key is in the column, by its statistics or its Bloom filter, nor a value that is no key.
    pub(super) fn misses(&self, column: &Chunk<'_>) -> bool {
        let Some(texts) = column.texts() else { return false };
        let bounds = column.bounds().map(|(least, most)| least..=most);
        if bounds.is_some() && !self.may_be_in(texts, bounds.as_ref(), None) {
            return true;
        }
        // One that cannot be read says nothing; whoever looks at filters says what is wrong with it.
        let Ok(Some(filter)) = filter_of(column) else { return false };
        !self.may_be_in(texts, bounds.as_ref(), Some(&filter))
    }

    fn may_be_in(
        &self,
        texts: Texts,
        bounds: Option<&RangeInclusive<Value>>,
        filter: Option<&SplitBlock>,
    ) -> bool {
        let passes = |plain: &[u8]| filter.is_none_or(|filter| filter.contains_hash(hash(plain)));
        let within = |value: &Value| bounds.is_none_or(|bounds| bounds.contains(value));
        let no_keys = [&b""[..], b"\\N"].into_iter().filter_map(|text| {
            debug_assert!(!is_present(text));
            texts.value(text)
        });
        if no_keys.into_iter().any(|value| within(&value) && passes(&texts.plain(&value))) {
            return true;
        }
        match texts {
            Texts::Bytes => {
                let bytes = |value: &Value| match value {
                    Value::Bytes(bytes) => bytes.clone(),
                    _ => Vec::new(),
                };
                let keys = match bounds {
                    None => &self.keys[..],
                    Some(bounds) => {
                        let (least, most) = (bytes(bounds.start()), bytes(bounds.end()));
                        between(&self.keys, |key| (**key).cmp(&least), |key| (**key).cmp(&most))
                    }
                };
                keys.iter().any(|key| passes(key))
            }
            Texts::Integers { long, signed } => {
                let numbers = self.numbers[usize::from(long) + 2 * usize::from(signed)].get_or_init(|| {
                    let mut numbers: Vec<Value> =
                        self.keys.iter().filter_map(|key| texts.value(key)).collect();
                    numbers.sort_unstable();
                    numbers
                });
                let numbers = match bounds {
                    None => &numbers[..],
                    Some(bounds) => between(
                        numbers,
                        |number| number.cmp(bounds.start()),
                        |number| number.cmp(bounds.end()),
                    ),
                };
                numbers.iter().any(|number| passes(&texts.plain(number)))
            }
        }
    }
}

/// Those of sorted values that are not less than one, and not greater than another.
fn between<T>(sorted: &[T], to_least: impl Fn(&T) -> Ordering, to_most: impl Fn(&T) -> Ordering) -> &[T] {
    let from = sorted.partition_point(|value| to_least(value).is_lt());
    let to = sorted.partition_point(|value| to_most(value).is_le());
    &sorted[from..to.max(from)]
}
