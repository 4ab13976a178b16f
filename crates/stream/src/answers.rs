//! The answers to a batch of queries: each distinct key once, in the order in which they came.

use tamis::hash::xxh3;
use tamis::key::{Recipe, keywords_of};
use tamis::params::Name;
use tamis_jobs::ask::{Answers, Filters};
use tamis_make::batch::{Keeps, KeyBatch};
use tamis_make::rows::{Key, Take};
use tamis_make::seed;
use tamis_make::text::{listed_name, printable};

/// Finds the first occurrence of every key of a batch. The table is used again and again.
#[derive(Debug)]
pub(super) struct Distinct {
    /// The upper half of a hash, and the number of the record from 1; zero where nothing is.
    table: Vec<u64>,
    /// Strangers can make keys of any hash; which of them meet in one place, nobody knows.
    seeds: [u64; 2],
}

impl Default for Distinct {
    fn default() -> Self {
        // An odd factor spreads all hashes evenly over the first bits, if it has as many itself.
        let factor = seed::random() << 11 | 1;
        Distinct { table: Vec::new(), seeds: [seed::random(), factor] }
    }
}

impl Distinct {
    /// The records whose key does not stand before them.
    pub(super) fn firsts(&mut self, keys: &KeyBatch, firsts: &mut Vec<u32>) {
        firsts.clear();
        let size = (2 * keys.len()).next_power_of_two().max(2);
        if self.table.len() < size {
            self.table = vec![0; size];
        }
        let table = &mut self.table[..size];
        table.fill(0);
        for (record, &hash) in keys.hashes().iter().enumerate() {
            let tag = hash >> 32 << 32;
            let mut at = ((hash ^ self.seeds[0]).wrapping_mul(self.seeds[1]) >> (64 - size.ilog2())) as usize;
            let mut apart = false;
            loop {
                let entry = table[at];
                if entry == 0 {
                    table[at] = tag | (record as u64 + 1);
                    firsts.push(record as u32);
                    break;
                }
                let other = (entry as u32 - 1) as usize;
                let same = entry >> 32 << 32 == tag && keys.hashes()[other] == hash;
                if same && keys.key(other) == keys.key(record) {
                    break;
                }
                // Of keys of one hash, only the first stands where the hash says.
                at = if same && !apart {
                    apart = true;
                    xxh3(keys.key(record), self.seeds[0]) as usize & (size - 1)
                } else {
                    (at + 1) & (size - 1)
                };
            }
        }
    }
}

/// How keys become text, as `query` writes them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writing {
    /// Whether a key has several parts, each with its length before it.
    compound: bool,
    grouped: bool,
}

impl Writing {
    pub(super) fn new(recipe: &Recipe, grouped: bool) -> Writing {
        Writing { compound: recipe.keys_have_parts(), grouped }
    }

    /// Whether answers name groups.
    pub(super) fn grouped(self) -> bool {
        self.grouped
    }

    /// Appends a key.
    pub(super) fn key(self, key: &[u8], out: &mut Vec<u8>) {
        if !self.compound {
            return text(key, out);
        }
        for (i, part) in keywords_of(key).enumerate() {
            if i > 0 {
                out.push(b'\t');
            }
            text(part, out);
        }
    }
}

/// Appends bytes as they are, if people can read them.
fn text(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        out.extend_from_slice(bytes);
    } else {
        out.extend_from_slice(printable(bytes).as_bytes());
    }
}

/// Asks filters, and writes what they answer.
#[derive(Debug, Default)]
pub(super) struct Asking {
    answers: Answers,
    /// The distinct keys of the queries, in their order.
    keys: KeyBatch,
    found: Vec<bool>,
    /// Which key may be in which group.
    pairs: Vec<(u32, u32)>,
    /// How often keys came, group after group.
    estimates: Vec<u64>,
}

impl Asking {
    /// Takes the distinct keys of queries, with what the filters need of them.
    fn load(&mut self, queries: &KeyBatch, firsts: &[u32], filters: &Filters<'_>) {
        self.keys.restart(Keeps { needs: filters.needs(), ..Keeps::default() });
        for record in firsts.iter().map(|&record| record as usize) {
            let (hash, bytes) = (queries.hashes()[record], queries.key(record));
            self.keys.take(Key { group: 0, hash, bytes, weight: 1 });
        }
    }

    /// Appends a line for each of these queries whose key may be in a set; how many there are.
    pub(super) fn ask(
        &mut self,
        queries: &KeyBatch,
        firsts: &[u32],
        (names, filters): &(Vec<&Name>, Filters<'_>),
        writing: Writing,
        out: &mut Vec<u8>,
    ) -> u64 {
        self.load(queries, firsts, filters);
        let Asking { answers, keys, found, pairs, .. } = self;
        let key = |row: usize| queries.key(firsts[row] as usize);
        let mut lines = 0;
        if !writing.grouped {
            answers.any(filters, keys, (0..filters.len()).take(1), found);
            for (row, _) in found.iter().enumerate().filter(|(_, found)| **found) {
                writing.key(key(row), out);
                out.push(b'\n');
                lines += 1;
            }
            return lines;
        }
        answers.groups(filters, keys, 0..filters.len(), pairs);
        for of_one in pairs.chunk_by(|(a, _), (b, _)| a == b) {
            writing.key(key(of_one[0].0 as usize), out);
            for (i, (_, group)) in of_one.iter().enumerate() {
                out.push(if i == 0 { b'\t' } else { b',' });
                out.extend_from_slice(listed_name(&names[*group as usize].0).as_bytes());
            }
            out.push(b'\n');
            lines += 1;
        }
        lines
    }

    /// Appends a line for each of these queries with the estimate of its key; with groups, one for
    /// each group in which it is above zero. How many there are.
    pub(super) fn count(
        &mut self,
        queries: &KeyBatch,
        firsts: &[u32],
        (names, filters): &(Vec<&Name>, Filters<'_>),
        writing: Writing,
        out: &mut Vec<u8>,
    ) -> u64 {
        self.load(queries, firsts, filters);
        self.estimates.resize(firsts.len() * filters.len(), 0);
        for (group, estimates) in self.estimates.chunks_mut(firsts.len().max(1)).enumerate() {
            self.answers.estimates(filters, &self.keys, group, estimates);
        }
        let mut answers = 0;
        let mut number = itoa::Buffer::new();
        for (query, &record) in firsts.iter().enumerate() {
            let key = queries.key(record as usize);
            let mut line = |group: Option<&Name>, estimate: u64| {
                writing.key(key, out);
                if let Some(group) = group {
                    out.push(b'\t');
                    text(&group.0, out);
                }
                out.push(b'\t');
                out.extend_from_slice(number.format(estimate).as_bytes());
                out.push(b'\n');
                answers += 1;
            };
            let estimates = self.estimates.iter().skip(query).step_by(firsts.len());
            if !writing.grouped {
                estimates.take(1).for_each(|&estimate| line(None, estimate));
                continue;
            }
            let mut known = names.iter().zip(estimates).filter(|(_, estimate)| **estimate > 0).peekable();
            if known.peek().is_none() {
                line(Some(&Name::default()), 0);
            }
            known.for_each(|(group, &estimate)| line(Some(group), estimate));
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_of_equal_keys_is_found_even_where_hashes_are_equal(
            keys in prop::collection::vec((0u8..60, 0u64..20), 0..300),
        ) {
            let mut batch = KeyBatch::new(Keeps { bytes: true, ..Keeps::default() });
            for (key, hash) in &keys {
                // Few hashes for many keys: all must be told apart by their bytes.
                let hash = ((hash + u64::from(key % 2)) << 32) | (hash % 3);
                batch.take(Key { group: 0, hash, bytes: &[*key], weight: 1 });
            }
            let mut seen = HashSet::new();
            let model: Vec<u32> = (0..keys.len())
                .filter(|&i| seen.insert((batch.hashes()[i], keys[i].0)))
                .map(|i| i as u32)
                .collect();
            let (mut distinct, mut firsts) = (Distinct::default(), vec![9]);
            for _ in 0..2 {
                distinct.firsts(&batch, &mut firsts);
                prop_assert_eq!(&firsts, &model);
            }
        }
    }

    #[test]
    fn keys_are_written_as_query_writes_them() {
        let mut out = Vec::new();
        let plain = Writing { compound: false, grouped: false };
        plain.key(b"a\tb\xff", &mut out);
        let compound = Writing { compound: true, grouped: false };
        compound.key(b"\x01\0\0\0x\x02\0\0\0y,", &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "a\\tb\\xffx\ty,");
    }
}
