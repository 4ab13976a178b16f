//! Data sets made from a seed: the same bytes everywhere.

use std::io::{self, Write};

use tamis::hash::xxh3;

/// Titles per rating from 1 to 10 in the table of 2022.
pub const RATINGS: [u64; 10] = [2484, 7699, 17035, 50907, 96854, 253265, 349453, 370225, 95158, 17737];

/// All titles in it.
pub const TITLES: u64 = 1_260_817;

/// A stream of random numbers from a seed.
#[derive(Debug)]
pub(crate) struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Random { seed, drawn: 0 }
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.drawn += 1;
        xxh3(&self.drawn.to_le_bytes(), self.seed)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }
}

/// The titles per rating of a table of so many rows: exactly those of the document for its
/// number of rows, else in the same proportion.
pub fn rating_counts(rows: u64) -> [u64; 10] {
    let share = |upto: u64| (u128::from(upto) * u128::from(rows) / u128::from(TITLES)) as u64;
    let mut counts = [0; 10];
    let (mut upto, mut before) = (0, 0);
    for (count, titles) in counts.iter_mut().zip(RATINGS) {
        upto += titles;
        *count = share(upto) - before;
        before = share(upto);
    }
    counts
}

/// Writes a table like IMDb's `title.ratings.tsv`: unique ascending titles, an average rating
/// with one decimal, a number of votes. Rounded half to even, the ratings have
/// [`rating_counts`].
pub fn ratings(out: &mut dyn Write, rows: u64, seed: u64) -> io::Result<()> {
    let mut random = Random::new(seed);
    let mut left = rating_counts(rows);
    let mut title = 0;
    writeln!(out, "tconst\taverageRating\tnumVotes")?;
    for remaining in (1..=rows).rev() {
        // Drawn without replacement, so that each rating comes exactly as often as it should.
        let mut draw = random.below(remaining);
        let rating = left.iter().position(|&count| {
            let here = draw < count;
            draw = draw.wrapping_sub(count);
            here
        });
        let rating = rating.expect("the counts sum up to the rows");
        left[rating] -= 1;
        title += 1 + random.below(12);
        let tenths = tenths(rating as u64 + 1, &mut random);
        let magnitude = random.below(20);
        let votes = 5 + random.below(1 << magnitude);
        writeln!(out, "tt{title:07}\t{}.{}\t{votes}", tenths / 10, tenths % 10)?;
    }
    Ok(())
}

/// A rating in tenths, between 1.0 and 10.0, that rounds (half to even) to this integer.
fn tenths(rating: u64, random: &mut Random) -> u64 {
    let even = rating.is_multiple_of(2);
    let low = (10 * rating - if even { 5 } else { 4 }).max(10);
    let high = (10 * rating + if even { 5 } else { 4 }).min(100);
    low + random.below(high - low + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::key::{Maker, Recipe};

    #[test]
    fn the_ratings_have_the_counts_of_the_document() {
        assert_eq!(rating_counts(TITLES), RATINGS);
        assert_eq!(RATINGS.iter().sum::<u64>(), TITLES);
        for rows in [0, 1, 9, 1000, 5_000_000_000] {
            assert_eq!(rating_counts(rows).iter().sum::<u64>(), rows);
        }
    }

    #[test]
    fn rounding_gives_the_counts_and_titles_are_unique() {
        let rows = 20_000;
        let mut bytes = Vec::new();
        ratings(&mut bytes, rows, 7).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let recipe = Recipe { group: Some("averageRating:round".parse().unwrap()), ..Recipe::lines() };
        let mut maker = Maker::new(&recipe);
        let (mut counts, mut last) = ([0; 10], String::new());
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split('\t').collect();
            assert!(cells[0].len() > last.len() || cells[0] > last.as_str(), "titles ascend");
            last = cells[0].into();
            let group = maker.group(Some(cells[1].as_bytes())).unwrap();
            counts[str::from_utf8(group).unwrap().parse::<usize>().unwrap() - 1] += 1;
        }
        assert_eq!(counts, rating_counts(rows));
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let make = |seed| {
            let mut bytes = Vec::new();
            ratings(&mut bytes, 100, seed).unwrap();
            bytes
        };
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
    }
}
