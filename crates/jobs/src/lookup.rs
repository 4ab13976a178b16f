//! Many keys of a table in memory, asked of sketches in batches; and single keys without a batch.

use tamis::hash::{Scheme, Single};
use tamis::key::{BadValue, Maker, Recipe, is_present};
use tamis::params::Common;
use tamis_read::error::Result;
use tamis_read::refusal::Refusal;
use tamis_read::table::{Asked, Piece};
use tamis_read::{Control, Fault};

use crate::ask::{Answers, Extent, Filters, TILE};
use crate::classes::Forms;
use crate::variants::Variants;
use tamis_make::batch::{Keeps, KeyBatch};
use tamis_make::files::Mapped;
use tamis_make::parallel;
use tamis_make::rows::{Key, Keyless, OnBad, Take, Unusable};

/// Keys that come as their hashes: this many a thread takes together.
const PIECE: usize = 1 << 16;

/// What keys are asked of.
#[derive(Debug)]
pub struct Lookup<'f> {
    recipe: &'f Recipe,
    scheme: Scheme,
    /// The number of the first group that is asked, and the filters from there on.
    first: usize,
    filters: Filters<'f>,
    /// The forms in which the values of each column are asked, where these are not their texts alone.
    forms: Option<Vec<Forms>>,
}

/// Whether the key of these parts may be in a group of this number, or in any: for single keys, which
/// are not worth a [`Lookup`]. A record is asked as a whole.
pub fn contains_one(
    file: &Mapped,
    group: Option<usize>,
    parts: &[Option<&[u8]>],
) -> Result<Result<bool, BadValue>> {
    let common = &file.params().common;
    let mut maker = Maker::new(&common.recipe);
    let key = match maker.key(parts) {
        Ok(key) => key,
        Err(bad) => return Ok(Err(bad)),
    };
    let hash = common.hash.identity(key);
    for group in group.map_or(0..file.params().groups.len(), |group| group..group + 1) {
        if file.sketch(group)?.contains_key(common.hash, hash, key) {
            return Ok(Ok(true));
        }
    }
    Ok(Ok(false))
}

impl<'f> Lookup<'f> {
    /// Asks all groups of a file, or the one of this number, for this much of records.
    pub fn new(file: &'f Mapped, group: Option<usize>, extent: Extent) -> Result<Self> {
        let common = &file.params().common;
        extent.check(common.kind)?;
        let asked = group.map_or(0..file.params().groups.len(), |group| group..group + 1);
        Ok(Lookup {
            recipe: &common.recipe,
            scheme: common.hash,
            first: asked.start,
            filters: Filters::of_groups(file, asked)?.asked_for(extent),
            forms: None,
        })
    }

    /// Asks filters that lie in memory, whose keys are made so.
    pub fn of(common: &'f Common, filters: Filters<'f>) -> Self {
        Lookup { recipe: &common.recipe, scheme: common.hash, first: 0, filters, forms: None }
    }

    /// The same, of values that are asked in these forms.
    pub fn in_forms(self, forms: Option<Vec<Forms>>) -> Self {
        Lookup { forms, ..self }
    }

    /// The answers to the one key of these parts, in all of its forms, as those to a batch are made and joined.
    fn one<A: Default>(
        &self,
        parts: &[Option<&[u8]>],
        answer: impl Fn(&KeyBatch, usize) -> A,
        join: impl Fn(&mut A, A),
    ) -> Result<A, BadValue> {
        let key = self.batch_of(parts)?;
        let mut answers = [answer(&key, 0)];
        if let Some(forms) = &self.forms {
            let variants = Variants::of_one(forms, parts);
            let (mut others, mut maker) = (self.batch(), Maker::new(self.recipe));
            // A form that makes no key asks nothing: its answer is that to nothing.
            let made = self.make_keys(&mut maker, &variants.cells(), OnBad::Skip, &mut others);
            debug_assert!(made.is_ok(), "keys that cannot be made are left out");
            let keyless = others.keyless().to_vec();
            let found = (0..others.len()).map(|at| match keyless.contains(&(at as u32)) {
                true => A::default(),
                false => answer(&others, at),
            });
            let found = found.collect();
            variants.join((&key, &mut answers), (&others, found), join);
        }
        let [answer] = answers;
        Ok(answer)
    }

    /// Whether the key of these parts may be in one of the groups.
    pub fn contains_one(&self, parts: &[Option<&[u8]>]) -> Result<bool, BadValue> {
        let any = |key: &KeyBatch, at| (0..self.filters.len()).any(|group| self.filters.has(group, key, at));
        self.one(parts, any, |found, other| *found |= other)
    }

    /// An empty batch of keys for these filters.
    fn batch(&self) -> KeyBatch {
        KeyBatch::new(Keeps { needs: self.filters.needs(), ..Keeps::default() })
    }

    /// A batch of the one key of these parts.
    fn batch_of(&self, parts: &[Option<&[u8]>]) -> Result<KeyBatch, BadValue> {
        let (mut maker, mut batch) = (Maker::new(self.recipe), self.batch());
        let bytes = maker.key(parts)?;
        batch.take(Key { group: 0, hash: self.scheme.identity(bytes), bytes, weight: 1 });
        Ok(batch)
    }

    /// The numbers of the groups that the key of these parts may be in.
    pub fn groups_one(&self, parts: &[Option<&[u8]>]) -> Result<Vec<usize>, BadValue> {
        let groups = |key: &KeyBatch, at| {
            let found = |group: &usize| self.filters.has(*group, key, at);
            (0..self.filters.len()).filter(found).map(|group| self.first + group).collect::<Vec<usize>>()
        };
        self.one(parts, groups, united)
    }

    /// What the key of these parts counts for at most, in each of the groups; none of filters.
    pub fn estimates_one(&self, parts: &[Option<&[u8]>]) -> Result<Vec<(usize, u64)>, BadValue> {
        let estimates = |key: &KeyBatch, at: usize| {
            let hash = key.hashes()[at];
            let estimate =
                |group: usize| Some((self.first + group, self.filters.counter(group)?.estimate_hash(hash)));
            (0..self.filters.len()).filter_map(estimate).collect::<Vec<(usize, u64)>>()
        };
        self.one(parts, estimates, |estimates, others| {
            if estimates.is_empty() {
                *estimates = others;
                return;
            }
            let pairs = estimates.iter_mut().zip(others);
            pairs.for_each(|((_, estimate), (_, other))| *estimate = estimate.saturating_add(other));
        })
    }

    /// Whether the key of each row may be in one of the groups: a bit for each row of a part, the
    /// lowest first. Rows without a key are not.
    pub fn contains(
        &self,
        table: &Asked,
        on_bad: OnBad,
        threads: usize,
        control: &Control,
    ) -> Result<Vec<Vec<u64>>> {
        if self.forms.is_some() {
            let codes = self.codes(table, on_bad, threads, control)?;
            let bits = |codes: Vec<i8>| {
                let found: Vec<bool> = codes.into_iter().map(|code| code == 1).collect();
                found.chunks(64).map(packed).collect()
            };
            return Ok(codes.into_iter().map(bits).collect());
        }
        let answer = |keys: &KeyBatch, asking: &mut Answers, rows: &mut Vec<u64>| {
            let mut found = Vec::new();
            asking.any(&self.filters, keys, 0..self.filters.len(), &mut found);
            rows.extend(found.chunks(64).map(packed));
        };
        self.ask(table, on_bad, threads, control, Asking { answer, join: |_: &mut u64, _: u64| () })
    }

    /// Whether keys that come as their hashes may be in one of the groups, where that is all that is asked of a key.
    pub fn contains_hashes(&self, hashes: &[u64], threads: usize, control: &Control) -> Result<Vec<bool>> {
        let pieces: Vec<&[u64]> = hashes.chunks(PIECE).collect();
        let answered = parallel::each(threads, pieces.len(), |piece| {
            control.check()?;
            let (mut keys, mut asking, mut found) = (self.batch(), Answers::default(), Vec::new());
            let mut all = Vec::with_capacity(pieces[piece].len());
            for tile in pieces[piece].chunks(TILE) {
                keys.clear();
                keys.push_hashes(tile.iter().copied());
                asking.any(&self.filters, &keys, 0..self.filters.len(), &mut found);
                all.extend_from_slice(&found);
            }
            Ok(all)
        })?;
        Ok(answered.concat())
    }

    /// The same of rows, a number for each: 1 or 0, and 2 of a row without a key.
    pub fn codes(
        &self,
        table: &Asked,
        on_bad: OnBad,
        threads: usize,
        control: &Control,
    ) -> Result<Vec<Vec<i8>>> {
        let answer = |keys: &KeyBatch, asking: &mut Answers, rows: &mut Vec<i8>| {
            let (first, mut found) = (rows.len(), Vec::new());
            asking.any(&self.filters, keys, 0..self.filters.len(), &mut found);
            rows.extend(found.into_iter().map(i8::from));
            keys.keyless().iter().for_each(|&row| rows[first + row as usize] = 2);
        };
        let join = |code: &mut i8, other: i8| *code = if other == 1 { 1 } else { *code };
        self.ask(table, on_bad, threads, control, Asking { answer, join })
    }

    /// The hash of the key of each row, in their order; none of a row without a key. Nothing is asked.
    pub fn hashes(
        &self,
        table: &Asked,
        on_bad: OnBad,
        threads: usize,
        control: &Control,
    ) -> Result<Vec<Option<u64>>> {
        let answer = |keys: &KeyBatch, _: &mut Answers, rows: &mut Vec<Option<u64>>| {
            let first = rows.len();
            rows.extend(keys.hashes().iter().copied().map(Some));
            keys.keyless().iter().for_each(|&row| rows[first + row as usize] = None);
        };
        let join = |_: &mut Option<u64>, _: Option<u64>| ();
        Ok(self
            .ask(table, on_bad, threads, control, Asking { answer, join })?
            .into_iter()
            .flatten()
            .collect())
    }

    /// The numbers of the groups that the key of each row may be in.
    pub fn groups(
        &self,
        table: &Asked,
        on_bad: OnBad,
        threads: usize,
        control: &Control,
    ) -> Result<Vec<Vec<Vec<u32>>>> {
        let answer = |keys: &KeyBatch, asking: &mut Answers, rows: &mut Vec<Vec<u32>>| {
            let (first, mut pairs) = (rows.len(), Vec::new());
            rows.resize(first + keys.len(), Vec::new());
            asking.groups(&self.filters, keys, 0..self.filters.len(), &mut pairs);
            for (row, group) in pairs {
                rows[first + row as usize].push(self.first as u32 + group);
            }
        };
        self.ask(table, on_bad, threads, control, Asking { answer, join: united })
    }

    /// What the key of each row counts for at most, by the sketch of the one group that is asked;
    /// rows without a key for nothing.
    pub fn estimates(
        &self,
        table: &Asked,
        on_bad: OnBad,
        threads: usize,
        control: &Control,
    ) -> Result<Vec<Vec<u64>>> {
        if self.filters.len() != 1 || self.filters.counter(0).is_none() {
            return Err(NotOneCounter.into());
        }
        let answer = |keys: &KeyBatch, asking: &mut Answers, rows: &mut Vec<u64>| {
            let first = rows.len();
            rows.resize(first + keys.len(), 0);
            asking.estimates(&self.filters, keys, 0, &mut rows[first..]);
        };
        // What came in two forms came as often as both did.
        let join = |estimate: &mut u64, other: u64| *estimate = estimate.saturating_add(other);
        self.ask(table, on_bad, threads, control, Asking { answer, join })
    }

    /// The answers to all rows of each part, tile by tile.
    fn ask<A, F, J>(
        &self,
        table: &Asked,
        on_bad: OnBad,
        threads: usize,
        control: &Control,
        asking: Asking<F, J>,
    ) -> Result<Vec<Vec<A>>>
    where
        A: Send + Default,
        F: Fn(&KeyBatch, &mut Answers, &mut Vec<A>) + Sync,
        J: Fn(&mut A, A) + Sync,
    {
        let pieces = table.pieces();
        let answered = parallel::each(threads, pieces.len(), |number| {
            control.check()?;
            self.ask_piece(table, &pieces[number], on_bad, &asking)
        })?;
        let mut parts = Vec::new();
        parts.resize_with(table.parts(), Vec::new);
        for ((part, _), answers) in pieces.iter().zip(answered) {
            let all: &mut Vec<A> = &mut parts[*part];
            if all.is_empty() { *all = answers } else { all.extend(answers) }
        }
        Ok(parts)
    }

    fn ask_piece<A: Default, F, J>(
        &self,
        table: &Asked,
        piece: &Piece,
        on_bad: OnBad,
        Asking { answer, join }: &Asking<F, J>,
    ) -> Result<Vec<A>>
    where
        F: Fn(&KeyBatch, &mut Answers, &mut Vec<A>),
        J: Fn(&mut A, A),
    {
        let mut maker = Maker::new(self.recipe);
        let (mut keys, mut asking, mut answers) = (self.batch(), Answers::default(), Vec::new());
        let single = self.scheme.single().filter(|_| self.recipe.is_plain() && !keys.reads_bytes());
        table.tiles(piece, |_, cells| {
            keys.clear();
            match single {
                Some(hash) => hash_values(&mut maker, hash, cells, on_bad, &mut keys)?,
                None => self.make_keys(&mut maker, cells, on_bad, &mut keys)?,
            }
            let first = answers.len();
            answer(&keys, &mut asking, &mut answers);
            if let Some(forms) = &self.forms {
                let mut variants = Variants::default();
                variants.write(forms, cells);
                let mut others = self.batch();
                self.make_keys(&mut maker, &variants.cells(), OnBad::Skip, &mut others)?;
                let mut found = Vec::new();
                answer(&others, &mut asking, &mut found);
                variants.join((&keys, &mut answers[first..]), (&others, found), join);
            }
            Ok(())
        })?;
        Ok(answers)
    }

    /// Makes the keys of some rows.
    fn make_keys(
        &self,
        maker: &mut Maker<'_>,
        cells: &[Option<&[u8]>],
        on_bad: OnBad,
        keys: &mut KeyBatch,
    ) -> Result<(), Fault> {
        for (row, values) in cells.chunks_exact(self.recipe.key.len()).enumerate() {
            match maker.key(values) {
                Ok(bytes) => {
                    keys.take(Key { group: 0, hash: self.scheme.identity(bytes), bytes, weight: 1 });
                }
                Err(bad) if on_bad == OnBad::Fail => {
                    return Err(Fault { at: row, why: Unusable::new(Keyless::Key(bad), values).into() });
                }
                Err(_) => keys.push_keyless(),
            }
        }
        Ok(())
    }
}

/// How a batch of keys is answered, and how the answers to forms of one key become one.
struct Asking<F, J> {
    answer: F,
    join: J,
}

/// Adds groups to others, in their order and each once.
fn united<N: Ord>(groups: &mut Vec<N>, others: Vec<N>) {
    groups.extend(others);
    groups.sort_unstable();
    groups.dedup();
}

/// Makes the keys of some rows where keys are the values themselves: hashes are made in a loop that does
/// nothing else, and rows without a value are looked at afterwards.
fn hash_values(
    maker: &mut Maker<'_>,
    hash: Single,
    cells: &[Option<&[u8]>],
    on_bad: OnBad,
    keys: &mut KeyBatch,
) -> Result<(), Fault> {
    let mut absent = 0;
    keys.push_hashes(cells.iter().map(|cell| match cell {
        Some(value) if is_present(value) => hash.hash(value),
        _ => {
            absent += 1;
            0
        }
    }));
    if absent == 0 {
        return Ok(());
    }
    for (row, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_some_and(is_present)) {
        let values = std::slice::from_ref(cell);
        match maker.key(values) {
            Ok(key) => keys.set_hash(row, hash.hash(key)),
            Err(bad) if on_bad == OnBad::Fail => {
                return Err(Fault { at: row, why: Unusable::new(Keyless::Key(bad), values).into() });
            }
            Err(_) => keys.mark_keyless(row),
        }
    }
    Ok(())
}

/// Estimates of what does not count, or of many groups at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("estimates are asked of one sketch that counts")]
pub struct NotOneCounter;

impl Refusal for NotOneCounter {}

/// Up to 64 answers as bits, the first the lowest.
fn packed(found: &[bool]) -> u64 {
    let (bytes, rest) = bytemuck::cast_slice::<bool, u8>(found).as_chunks::<8>();
    let mut word = 0;
    for (i, eight) in bytes.iter().enumerate() {
        // The multiplication brings the lowest bits of eight bytes together in the highest byte.
        let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        word |= bits << (8 * i);
    }
    let done = 8 * bytes.len();
    rest.iter().enumerate().fold(word, |word, (i, &bit)| word | u64::from(bit) << (done + i))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_become_bits_in_order() {
        for len in 0..=64 {
            let found: Vec<bool> = (0..len).map(|i| i * i % 7 == 2 || i % 5 == 0).collect();
            let expected = found.iter().enumerate().fold(0, |word, (i, &bit)| word | u64::from(bit) << i);
            assert_eq!(packed(&found), expected, "{len}");
        }
    }
}
