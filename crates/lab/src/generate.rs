//! Data sets made from a seed: the same bytes everywhere.

use std::io::{self, Write};

use tamis::hash::xxh3;
use tamis::real;

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

/// The titles per rating of a table of this many rows: exactly those that Patimo counts for his
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

/// Appends a pronounceable word of this many letters: consonants and vowels by turns, now and then
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

/// Words of this many letters, from a seed.
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

/// Writes pronounceable words of this many letters, one per line.
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

/// All IPv4 addresses.
pub const ADDRESSES: u64 = 1 << 32;

/// Ranks from 1 to n, each k drawn in proportion to k^−s: by inversion of the area under that curve,
/// and rejection of what lies above its steps (Hörmann & Derflinger, 1996). No table is needed.
#[derive(Debug, Clone, Copy)]
pub struct Zipf {
    ranks: f64,
    skew: f64,
    /// The area up to the first step and to the last.
    area: (f64, f64),
}

impl Zipf {
    /// Ranks up to this, with this exponent.
    pub fn new(ranks: u64, skew: f64) -> Zipf {
        let zipf = Zipf { ranks: ranks.max(1) as f64, skew, area: (0.0, 0.0) };
        Zipf { area: (zipf.area_to(1.5) - 1.0, zipf.area_to(zipf.ranks + 0.5)), ..zipf }
    }

    /// The area under the curve, up to a constant.
    fn area_to(&self, x: f64) -> f64 {
        // (x^(1−s) − 1) / (1−s), and its limit ln x.
        let (power, log) = (1.0 - self.skew, real::log(x));
        if (power * log).abs() < 1e-8 { log } else { real::expm1(power * log) / power }
    }

    /// Where the area is this.
    fn at_area(&self, area: f64) -> f64 {
        let power = 1.0 - self.skew;
        let log =
            if (power * area).abs() < 1e-8 { area } else { real::log1p((power * area).max(-1.0)) / power };
        real::exp(log)
    }

    /// The rank that some random numbers below 2⁶⁴ give, drawn until one fits.
    pub fn draw(&self, mut random: impl FnMut() -> u64) -> u64 {
        loop {
            let uniform = (random() >> 11) as f64 / (1u64 << 53) as f64;
            let area = self.area.1 + uniform * (self.area.0 - self.area.1);
            let x = self.at_area(area).clamp(1.0, self.ranks);
            let rank = x.round();
            if area >= self.area_to(rank + 0.5) - real::exp(-self.skew * real::log(rank)) {
                return rank as u64;
            }
        }
    }
}

/// Writes IPv4 addresses, one per line: of this many different ones, that of rank k in proportion to
/// k^−skew. With all addresses and a skew of 0, any is as likely as any other.
pub fn ips(out: &mut dyn Write, rows: u64, distinct: u64, skew: f64, seed: u64) -> io::Result<()> {
    let mut random = Random::new(seed);
    let zipf = Zipf::new(distinct, skew);
    lines(out, rows, |_, line| {
        let rank = match skew {
            0.0 => random.below(distinct),
            _ => zipf.draw(|| random.next()) - 1,
        };
        let [a, b, c, d] = scattered(rank as u32).to_be_bytes();
        let _ = write!(line, "{a}.{b}.{c}.{d}");
    })
}

/// Another number for each number: addresses of neighbouring ranks have nothing in common. Whatever
/// the seed, a rank has the same address: files of different seeds are about the same hosts.
fn scattered(number: u32) -> u32 {
    // What follows leaves zero as it is, which is no address of a host: it is far from the first ranks.
    let mut x = number.wrapping_add(0x9e37_79b9);
    for factor in [0x7feb_352d_u32, 0x846c_a68b] {
        x = (x ^ x >> 16).wrapping_mul(factor);
        x ^= x >> 15;
    }
    x ^ x >> 16
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
    fn the_ratings_have_the_counts_that_patimo_prints() {
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
        let all: [Make; 5] = [
            |out, seed| ips(out, 100, ADDRESSES, 0.0, seed),
            |out, seed| ips(out, 100, 1000, 1.1, seed),
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
    fn addresses_have_dots_and_are_scattered() {
        let mut bytes = Vec::new();
        ips(&mut bytes, 20_000, ADDRESSES, 0.0, 1).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let addresses: Vec<std::net::Ipv4Addr> = text.lines().map(|line| line.parse().unwrap()).collect();
        let distinct: std::collections::HashSet<_> = addresses.iter().collect();
        assert!(distinct.len() > 19_990, "20,000 of 2^32 rarely meet");
        let high = addresses.iter().filter(|address| address.octets()[0] >= 128).count();
        assert!((9_500..10_500).contains(&high));
        let all: std::collections::HashSet<u32> = (0..100_000).map(scattered).collect();
        assert_eq!(all.len(), 100_000, "no two numbers become one");
    }

    /// The most frequent address was 0.0.0.0.
    #[test]
    fn the_most_frequent_address_is_that_of_a_host_and_the_same_for_every_seed() {
        for seed in [1, 2, 3] {
            let mut bytes = Vec::new();
            ips(&mut bytes, 5000, 1000, 1.1, seed).unwrap();
            let text = String::from_utf8(bytes).unwrap();
            let mut counts = std::collections::HashMap::new();
            text.lines().for_each(|line| *counts.entry(line).or_insert(0) += 1);
            let most = counts.iter().max_by_key(|(_, count)| **count).unwrap();
            assert_eq!(*most.0, "76.4.230.16");
        }
    }

    /// Seeded; 5 standard deviations of a Poisson count.
    #[test]
    fn ranks_come_by_zipfs_law() {
        for skew in [0.5, 1.0, 1.1, 2.0] {
            let (ranks, draws) = (1000u64, 200_000u32);
            let zipf = Zipf::new(ranks, skew);
            let mut random = Random::new(3);
            let mut counts = vec![0u32; ranks as usize + 1];
            (0..draws).for_each(|_| counts[zipf.draw(|| random.next()) as usize] += 1);
            let weight = |rank: u64| (rank as f64).powf(-skew);
            let sum: f64 = (1..=ranks).map(weight).sum();
            for rank in [1, 2, 3, 10, 100, 1000] {
                let expected = f64::from(draws) * weight(rank) / sum;
                let off = (f64::from(counts[rank as usize]) - expected).abs();
                assert!(
                    off <= 5.0 * expected.sqrt() + 3.0,
                    "skew {skew}, rank {rank}: {}",
                    counts[rank as usize]
                );
            }
            assert_eq!(counts[0], 0);
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
