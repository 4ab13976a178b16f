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

const CONSONANTS: &[u8] = b"bcdfghjklmnprstvz";
const VOWELS: &[u8] = b"aeiou";

/// Appends a pronounceable word of so many letters: consonants and vowels by turns, now and then
/// with a second consonant.
fn word(random: &mut Random, letters: usize, out: &mut Vec<u8>) {
    let end = out.len() + letters;
    let mut bits = 0;
    let mut draw = |from: &[u8], random: &mut Random| {
        if bits < 256 {
            bits = random.next();
        }
        // Few letters are drawn of one number: the rest stays nearly uniform.
        let letter = from[(bits % from.len() as u64) as usize];
        bits /= from.len() as u64;
        letter
    };
    while out.len() < end {
        out.push(draw(CONSONANTS, random));
        if out.len() < end {
            out.push(draw(VOWELS, random));
        }
        if out.len() + 2 < end && draw(b"nnnnyyy", random) == b'y' {
            out.push(draw(b"lmnrst", random));
        }
    }
}

/// Words of so many letters, from a seed.
#[derive(Debug)]
pub struct Words {
    random: Random,
    letters: usize,
}

impl Words {
    /// A stream of words.
    pub fn new(letters: usize, seed: u64) -> Words {
        Words { random: Random::new(seed), letters }
    }

    /// Appends the next word.
    pub fn next(&mut self, out: &mut Vec<u8>) {
        word(&mut self.random, self.letters, out);
    }
}

/// Writes pronounceable words of so many letters, one per line.
pub fn words(out: &mut dyn Write, rows: u64, letters: usize, seed: u64) -> io::Result<()> {
    let mut words = Words::new(letters, seed);
    lines(out, rows, |_, line| words.next(line))
}

/// Makes the e-mail address of this number; those of different numbers differ.
pub fn email(number: u64, seed: u64, out: &mut Vec<u8>) {
    const DOMAINS: [&[u8]; 4] = [b"mail.example", b"post.example", b"inbox.example", b"letters.example"];
    let mut random = Random::new(xxh3(&number.to_le_bytes(), seed));
    let choice = random.next();
    word(&mut random, 4 + (choice % 5) as usize, out);
    out.push(b'.');
    let mut rest = number;
    loop {
        out.push(b"0123456789abcdefghijklmnopqrstuvwxyz"[(rest % 36) as usize]);
        rest /= 36;
        if rest == 0 {
            break;
        }
    }
    out.push(b'@');
    out.extend_from_slice(DOMAINS[(choice >> 32) as usize % DOMAINS.len()]);
}

/// Writes distinct e-mail addresses, one per line.
pub fn emails(out: &mut dyn Write, rows: u64, seed: u64) -> io::Result<()> {
    lines(out, rows, |number, line| email(number, seed, line))
}

fn lines(out: &mut dyn Write, rows: u64, mut make: impl FnMut(u64, &mut Vec<u8>)) -> io::Result<()> {
    let mut line = Vec::new();
    for number in 0..rows {
        line.clear();
        make(number, &mut line);
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
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
        type Make = fn(&mut dyn Write, u64) -> io::Result<()>;
        let all: [Make; 3] = [
            |out, seed| ratings(out, 100, seed),
            |out, seed| words(out, 100, 30, seed),
            |out, seed| emails(out, 100, seed),
        ];
        for write in all {
            let make = |seed| {
                let mut bytes = Vec::new();
                write(&mut bytes, seed).unwrap();
                bytes
            };
            assert_eq!(make(1), make(1));
            assert_ne!(make(1), make(2));
        }
    }

    #[test]
    fn words_have_their_letters_and_rarely_repeat() {
        let mut bytes = Vec::new();
        words(&mut bytes, 50_000, 30, 1).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.lines().all(|word| word.len() == 30 && word.bytes().all(|c| c.is_ascii_lowercase())));
        let vowels = text.bytes().filter(|c| VOWELS.contains(c)).count();
        assert!(vowels * 3 > 30 * 50_000, "a third of the letters at least");
        let mut distinct: Vec<&str> = text.lines().collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 50_000);
    }

    #[test]
    fn addresses_differ() {
        let mut bytes = Vec::new();
        emails(&mut bytes, 100_000, 3).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let mut distinct: Vec<&str> = text.lines().collect();
        assert!(distinct.iter().all(|line| line.ends_with(".example") && line.matches('@').count() == 1));
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 100_000);
    }
}
