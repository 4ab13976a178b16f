//! Many keys of a table in memory, asked of sketches in batches; and single keys without a batch.

use tamis::hash::{Scheme, xxh3};
use tamis::key::{BadValue, Maker, Recipe, is_present};
use tamis::sizing::Kind;
use tamis::sketch::Sketch;
use tamis_read::error::{Error, Result};
use tamis_read::table::{Asked, Piece};
use tamis_read::{Control, Fault};

use crate::output::Mapped;
use crate::parallel;
use crate::rows::{BadRows, Keyless, Unusable};

/// What keys are asked of.
#[derive(Debug)]
pub struct Lookup<'f> {
    recipe: &'f Recipe,
    scheme: Scheme,
    /// The asked groups: their numbers and their sketches.
    sketches: Vec<(usize, Sketch<&'f [u64]>)>,
    /// Whether positions come from the bytes of a key, not from its hash alone.
    by_bytes: bool,
}

/// Keys that are asked together.
#[derive(Debug, Default)]
struct Tile {
    hashes: Vec<u64>,
    /// The bytes of all keys one after the other, and where each ends; where they are needed.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Rows without a key.
    keyless: Vec<usize>,
}

impl Tile {
    fn clear(&mut self) {
        self.hashes.clear();
        self.bytes.clear();
        self.ends.clear();
        self.keyless.clear();
    }

    fn key(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }
}

/// Whether the key of these parts may be in a group of this number, or in any: for single keys, which
/// are not worth a [`Lookup`].
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
    /// Asks all groups of a file, or the one of this number.
    pub fn new(file: &'f Mapped, group: Option<usize>) -> Result<Self> {
        let common = &file.params().common;
        let asked = group.map_or(0..file.params().groups.len(), |group| group..group + 1);
        let sketches = asked.map(|group| Ok((group, file.sketch(group)?))).collect::<Result<_>>()?;
        Ok(Lookup {
            recipe: &common.recipe,
            scheme: common.hash,
            sketches,
            by_bytes: common.hash == Scheme::Murmur3 || common.kind == Kind::Layered,
        })
    }

    /// The numbers of the groups that the key of these parts may be in.
    pub fn groups_one(&self, parts: &[Option<&[u8]>]) -> Result<impl Iterator<Item = usize>, BadValue> {
        let mut maker = Maker::new(self.recipe);
        let key = maker.key(parts)?;
        let hash = self.scheme.identity(key);
        let bytes = if self.by_bytes { key.to_vec() } else { Vec::new() };
        let found = move |sketch: &Sketch<_>| sketch.contains_key(self.scheme, hash, &bytes);
        Ok(self.sketches.iter().filter(move |(_, sketch)| found(sketch)).map(|(group, _)| *group))
    }

    /// What the key of these parts counts for at most, in each of the groups; none of filters.
    pub fn estimates_one(&self, parts: &[Option<&[u8]>]) -> Result<Vec<(usize, u64)>, BadValue> {
        let hash = self.scheme.identity(Maker::new(self.recipe).key(parts)?);
        let estimate = |(group, sketch): &(usize, Sketch<&[u64]>)| match sketch {
            Sketch::CountMin(sketch) => Some((*group, sketch.estimate_hash(hash))),
            _ => None,
        };
        Ok(self.sketches.iter().filter_map(estimate).collect())
    }

    /// Whether the key of each row may be in one of the groups: a bit for each row of a part, the
    /// lowest first. Rows without a key are not.
    pub fn contains(
        &self,
        table: &Asked,
        bad_rows: BadRows,
        threads: usize,
        control: &Control,
    ) -> Result<Vec<Vec<u64>>> {
        self.ask(table, bad_rows, threads, control, |tile, answers| {
            let mut found = vec![false; tile.hashes.len()];
            self.any(tile, &mut found);
            answers.extend(found.chunks(64).map(packed));
        })
    }

    /// The same, a number for each row: 1 or 0, and 2 of a row without a key.
    pub fn codes(
        &self,
        table: &Asked,
        bad_rows: BadRows,
        threads: usize,
        control: &Control,
    ) -> Result<Vec<Vec<i8>>> {
        self.ask(table, bad_rows, threads, control, |tile, answers| {
            let first = answers.len();
            let mut found = vec![false; tile.hashes.len()];
            self.any(tile, &mut found);
            answers.extend(found.into_iter().map(i8::from));
            tile.keyless.iter().for_each(|row| answers[first + row] = 2);
        })
    }

    /// The numbers of the groups that the key of each row may be in.
    pub fn groups(
        &self,
        table: &Asked,
        bad_rows: BadRows,
        threads: usize,
        control: &Control,
    ) -> Result<Vec<Vec<Vec<u32>>>> {
        self.ask(table, bad_rows, threads, control, |tile, answers| {
            let first = answers.len();
            answers.resize(first + tile.hashes.len(), Vec::new());
            let mut found = vec![false; tile.hashes.len()];
            for (group, sketch) in &self.sketches {
                self.one(sketch, tile, &mut found);
                let rows = found.iter().zip(&mut answers[first..]);
                rows.filter(|(found, _)| **found).for_each(|(_, groups)| groups.push(*group as u32));
            }
        })
    }

    /// What the key of each row counts for at most, by the sketch of the one group that is asked;
    /// rows without a key for nothing.
    pub fn estimates(
        &self,
        table: &Asked,
        bad_rows: BadRows,
        threads: usize,
        control: &Control,
    ) -> Result<Vec<Vec<u64>>> {
        let [(_, Sketch::CountMin(sketch))] = &self.sketches[..] else {
            return Err(Error::told("estimates are asked of one sketch that counts".into()));
        };
        self.ask(table, bad_rows, threads, control, |tile, answers| {
            let first = answers.len();
            answers.resize(first + tile.hashes.len(), 0);
            sketch.estimates(&tile.hashes, &mut answers[first..]);
            tile.keyless.iter().for_each(|row| answers[first + row] = 0);
        })
    }

    fn any(&self, tile: &Tile, found: &mut [bool]) {
        let Some(((_, first), others)) = self.sketches.split_first() else { return };
        self.one(first, tile, found);
        let mut answers = vec![false; if others.is_empty() { 0 } else { found.len() }];
        for (_, sketch) in others {
            self.one(sketch, tile, &mut answers);
            found.iter_mut().zip(&answers).for_each(|(found, answer)| *found |= answer);
        }
    }

    fn one(&self, sketch: &Sketch<&[u64]>, tile: &Tile, found: &mut [bool]) {
        if self.by_bytes {
            for (row, found) in found.iter_mut().enumerate() {
                *found = sketch.contains_key(self.scheme, tile.hashes[row], tile.key(row));
            }
        } else {
            sketch.contains_hashes(&tile.hashes, found);
        }
        tile.keyless.iter().for_each(|&row| found[row] = false);
    }

    /// The answers to all rows of each part, tile by tile.
    fn ask<A: Send>(
        &self,
        table: &Asked,
        bad_rows: BadRows,
        threads: usize,
        control: &Control,
        answer: impl Fn(&Tile, &mut Vec<A>) + Sync,
    ) -> Result<Vec<Vec<A>>> {
        let pieces = table.pieces();
        let answered = parallel::each(threads, pieces.len(), |number| {
            control.check()?;
            self.ask_piece(table, &pieces[number], bad_rows, &answer)
        })?;
        let mut parts = Vec::new();
        parts.resize_with(table.parts(), Vec::new);
        for ((part, _), answers) in pieces.iter().zip(answered) {
            let all: &mut Vec<A> = &mut parts[*part];
            if all.is_empty() { *all = answers } else { all.extend(answers) }
        }
        Ok(parts)
    }

    fn ask_piece<A>(
        &self,
        table: &Asked,
        piece: &Piece,
        bad_rows: BadRows,
        answer: impl Fn(&Tile, &mut Vec<A>),
    ) -> Result<Vec<A>> {
        let mut maker = Maker::new(self.recipe);
        let mut tile = Tile::default();
        let mut answers = Vec::new();
        let plain = self.recipe.is_plain() && !self.by_bytes;
        table.tiles(piece, |_, cells| {
            tile.clear();
            match plain {
                true => self.hash_values(&mut maker, cells, bad_rows, &mut tile)?,
                false => self.make_keys(&mut maker, cells, bad_rows, &mut tile)?,
            }
            answer(&tile, &mut answers);
            Ok(())
        })?;
        Ok(answers)
    }

    /// Makes the keys of some rows.
    fn make_keys(
        &self,
        maker: &mut Maker<'_>,
        cells: &[Option<&[u8]>],
        bad_rows: BadRows,
        tile: &mut Tile,
    ) -> Result<(), Fault> {
        for (row, values) in cells.chunks_exact(self.recipe.key.len()).enumerate() {
            match maker.key(values) {
                Ok(key) => {
                    tile.hashes.push(self.scheme.identity(key));
                    if self.by_bytes {
                        tile.bytes.extend_from_slice(key);
                    }
                }
                Err(bad) if bad_rows == BadRows::Fail => {
                    return Err(Fault { at: row, why: Unusable::new(Keyless::Key(bad), values).into() });
                }
                Err(_) => {
                    tile.hashes.push(0);
                    tile.keyless.push(row);
                }
            }
            if self.by_bytes {
                tile.ends.push(tile.bytes.len());
            }
        }
        Ok(())
    }

    /// The same where keys are the values themselves: hashes are made in a loop that does nothing else,
    /// and rows without a value are looked at afterwards.
    fn hash_values(
        &self,
        maker: &mut Maker<'_>,
        cells: &[Option<&[u8]>],
        bad_rows: BadRows,
        tile: &mut Tile,
    ) -> Result<(), Fault> {
        let Scheme::Xxh3 { seed } = self.scheme else { return self.make_keys(maker, cells, bad_rows, tile) };
        let mut absent = 0;
        tile.hashes.extend(cells.iter().map(|cell| match cell {
            Some(value) if is_present(value) => xxh3(value, seed),
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
                Ok(key) => tile.hashes[row] = xxh3(key, seed),
                Err(bad) if bad_rows == BadRows::Fail => {
                    return Err(Fault { at: row, why: Unusable::new(Keyless::Key(bad), values).into() });
                }
                Err(_) => tile.keyless.push(row),
            }
        }
        Ok(())
    }
}

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
