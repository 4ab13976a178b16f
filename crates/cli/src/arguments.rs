//! Arguments that several verbs share: their syntax, then what they mean.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tamis::hash::HashKey;
use tamis::key::{Field, Recipe, TextRule};
use tamis::sizing::Kind;
pub use tamis_jobs::request::bytes;
pub use tamis_jobs::request::time::duration;
use tamis_jobs::request::{self, HashName, MOST_THREADS};
use tamis_make::exact::LEAST_MEMORY;
use tamis_make::number;
use tamis_make::pipe::{Form, Target};
use tamis_make::rows::OnBad;
use tamis_read::{Delimiter, Format, Quotes};

use crate::show::{Output, usage, wrong};

/// One of these values, by its name.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    all: impl IntoIterator<Item = T>,
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<T> = all.into_iter().collect();
    let names = PossibleValuesParser::new(all.iter().map(|one| name(*one)));
    names.map(move |given| *all.iter().find(|one| name(**one) == given).expect("it is one of the names"))
}

/// How input is read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub struct Reading {
    /// The format, if it is not recognised correctly; log: access logs as Apache and nginx write them, with
    /// columns such as host, time, path, status and agent
    #[arg(long, value_parser = one_of(Format::ALL, Format::name))]
    pub format: Option<Format>,
    /// The delimiter of delimited text: one character, or its name: tab, comma, semicolon, pipe, space;
    /// or whitespace: runs of blanks and tabs
    #[arg(long, value_parser = delimiter)]
    pub delimiter: Option<Delimiter>,
    /// Delimited text has no header line; columns go by number
    #[arg(long)]
    pub no_header: bool,
    /// Delimited text has a header line, also where columns go by number or the file of filters says
    /// otherwise
    #[arg(long, conflicts_with = "no_header")]
    pub with_header: bool,
    /// What a quote at the beginning of a field means: csv (up to the next quote, over line ends; `""`
    /// is a quote), log (up to the next quote in the line; `\"` is a quote), none (an ordinary
    /// character). [default: none for TSV, log where blanks separate, csv otherwise; `--quotes` alone: csv]
    #[arg(long, value_parser = one_of(Quotes::ALL, Quotes::name), value_name = "STYLE", num_args = 0..=1)]
    #[arg(default_missing_value = "csv")]
    pub quotes: Option<Quotes>,
    /// The same as --quotes none
    #[arg(long, hide = true, conflicts_with = "quotes")]
    pub no_quotes: bool,
    /// Lines that begin with this character are comments; they are skipped and counted
    #[arg(long, value_name = "SIGN", value_parser = comment)]
    pub comment: Option<u8>,
    /// What to do with rows that have no key or cannot be read: fail, or skip and count them [default: fail;
    /// skip with --bad-rows-to]
    #[arg(long, value_parser = one_of(OnBad::NAMED, OnBad::name))]
    pub bad_rows: Option<OnBad>,
    /// Set such rows aside to this file, each with its input, its line, the reason and its text as a line
    /// of JSON, and go on; the file is empty where there are none
    #[arg(long, value_name = "FILE")]
    pub bad_rows_to: Option<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_parser = threads)]
    pub threads: Option<usize>,
}

impl Reading {
    /// The request.
    pub fn request(&self) -> request::Reading {
        request::Reading {
            format: self.format,
            delimiter: self.delimiter,
            no_header: self.no_header,
            with_header: self.with_header,
            recorded: false,
            quotes: match self.no_quotes {
                true => Some(Quotes::None),
                false => self.quotes,
            },
            comment: self.comment,
            bad_rows: self.bad_rows,
            bad_rows_to: self.bad_rows_to.clone(),
            threads: self.threads,
        }
    }

    /// Refuses a file for bad rows where none is written.
    pub fn refuse_aside(&self) -> Result<()> {
        match &self.bad_rows_to {
            Some(_) => usage("no bad rows are set aside here: leave out --bad-rows-to"),
            None => Ok(()),
        }
    }

    /// Threads to use.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(tamis_make::parallel::default_threads)
    }
}

/// How keys and groups are made.
#[derive(Debug, Args)]
#[command(next_help_heading = "Keys")]
pub struct Keys {
    /// The column of the key, by name or number, with steps: `email:trim,lower`. Several make a
    /// compound key. A number beyond the last column is a name (`2024`); `(file)` is the name of the input
    /// file. Steps: trim, lower, upper, nfc (one form of accents), round, floor, ceil, prefix=N, suffix=N,
    /// before=TEXT (the first), before-last=TEXT, after=TEXT (the last), after-first=TEXT, extract=REGEX,
    /// extract-last=REGEX, ip, cidr=24/48, domain (the registrable one). TEXT and REGEX may stand in double
    /// quotes
    #[arg(long, value_name = "COLUMN[:STEPS]")]
    pub key: Vec<Field>,
    /// A column of keywords, which makes the row a record: `keywords:split=','`. Several columns
    /// add up. Steps as for --key, and split=TEXT, words, json[=MEMBER] (of a JSON list), whole
    /// (the value is one keyword, the default), sort. Later steps apply to each keyword: stop=en (drops
    /// words such as "the"), min=N (characters), stem=en (one keyword for the forms of a word), top=N (those
    /// that occur most often)
    #[arg(long, value_name = "COLUMN[:STEPS]", conflicts_with = "key")]
    pub keywords: Vec<Field>,
    /// The column of the group, with steps: `averageRating:round`; `(file)` makes a group for each input
    /// file, an index that tamis locate asks
    #[arg(long, value_name = "COLUMN[:STEPS]")]
    pub group: Option<Field>,
    /// The column of the weight of a row, a non-negative integer: `bytes` [default: each row has
    /// weight 1]. For --kind count-min
    #[arg(long, value_name = "COLUMN[:STEPS]")]
    pub weight: Option<Field>,
    /// The text that replaces an empty cell, \N or null (without it these are bad rows)
    #[arg(long, value_name = "VALUE")]
    pub null: Option<String>,
}

/// What is a record, and what becomes of its keywords.
#[derive(Debug, Args)]
#[command(next_help_heading = "Keys")]
pub struct Records {
    /// Each input file is one record, whose text is `(line)`: `--record file --key :words,stop=en,stem=en`. Of
    /// .html, .htm, .md and .markdown the text without markup, of others the text as it stands; html, markdown
    /// and text say so whatever the name. Then each keyword is a key, unless the kind is layered
    #[arg(long, value_name = "RULE", value_parser = one_of(TextRule::ALL, record_name))]
    pub record: Option<TextRule>,
    /// Each keyword is a key of its own, not the record as a whole: an index that tamis search asks
    #[arg(long)]
    pub each_keyword: bool,
}

/// What a rule is called on the command line.
fn record_name(rule: TextRule) -> &'static str {
    match rule {
        TextRule::ByName => "file",
        rule => rule.name(),
    }
}

impl Records {
    /// The request for keys, with these.
    pub fn with(&self, keys: &Keys) -> request::Keys {
        request::Keys { record: self.record, each_keyword: self.each_keyword, ..keys.request() }
    }
}

impl Keys {
    /// The request.
    pub fn request(&self) -> request::Keys {
        request::Keys {
            record: None,
            each_keyword: false,
            key: self.key.clone(),
            keywords: self.keywords.clone(),
            group: self.group.clone(),
            weight: self.weight.clone(),
            null: self.null.clone(),
        }
    }

    /// A recipe of their own.
    pub fn recipe(&self) -> Result<Recipe> {
        self.request().recipe().map_err(wrong)
    }
}

/// Other columns for a stored recipe.
#[derive(Debug, Args)]
#[command(next_help_heading = "Keys")]
pub struct Columns {
    /// The column of the key, if this input names it differently; the stored steps apply
    #[arg(long, value_name = "COLUMN", visible_alias = "keywords")]
    pub key: Vec<Field>,
    /// The column of the group, if this input names it differently; the stored steps apply
    #[arg(long, value_name = "COLUMN")]
    pub group: Option<Field>,
}

impl Columns {
    /// The request.
    pub fn request(&self) -> request::Columns {
        request::Columns { key: self.key.clone(), group: self.group.clone() }
    }
}

/// Refuses a report on standard output where the records go there.
pub fn refuse_json(to_stdout: bool, output: &Output) -> Result<()> {
    if to_stdout && output.json {
        return usage("the records go to standard output: --json goes with --count or -o FILE");
    }
    Ok(())
}

/// How a file of filters goes to standard output.
#[derive(Debug, Args)]
pub struct Piped {
    /// With `-o -`: write one line of base64, for what carries lines (Hadoop Streaming, sort)
    #[arg(long)]
    base64: bool,
}

impl Piped {
    /// Where the file goes.
    pub fn target<'p>(&self, path: &'p Path, output: &Output) -> Result<Target<'p>> {
        let form = if self.base64 { Form::Base64 } else { Form::Bytes };
        let target = Target::of(path, form).map_err(wrong)?;
        if target.file().is_none() && output.json {
            return usage("the file goes to standard output: --json goes with -o FILE");
        }
        Ok(target)
    }
}

/// The kind of filter and its hash.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters")]
pub struct Kinds {
    /// The kind: blocked (fastest, default), bloom (classic), fuse (static, small), ribbon (static, smallest),
    /// counting (keys can be removed; four times the memory), layered (records of several keywords; --fpr is then the
    /// rate of a single layer), count-min (not a filter: counts how often keys occur)
    #[arg(long)]
    pub kind: Option<Kind>,
    /// Count with less error by conservative update. Such sketches depend on the order of the rows
    /// and cannot be merged. For --kind count-min
    #[arg(long)]
    pub conservative: bool,
    /// The layers of a layered filter [default: the mean number of keywords / hashes, rounded]
    #[arg(long, value_name = "N")]
    pub layers: Option<u32>,
    #[command(flatten)]
    pub hashing: Hashing,
}

/// The hash of new sketches.
#[derive(Debug, Clone, Copy, Args)]
pub struct Hashing {
    /// The hash: xxh3 (default); siphash with the secret key of --hash-key, where strangers choose the
    /// keys or must not find out which ones there are; murmur3 with the positions of Python's mmh3 and
    /// the textbook's m and k (implies bloom); polynomial, h = (R·h + c) mod m over the bytes c of a
    /// key with an R for each position, as Collodi and Ghera have it (implies bloom; weak)
    #[arg(long, value_parser = one_of(HashName::ALL, HashName::name))]
    pub hash: Option<HashName>,
    /// The seed of xxh3, or of the factors of polynomial: a number, or `random` to protect against chosen keys [default: 0]
    #[arg(long, value_parser = seed)]
    pub seed: Option<u64>,
}

impl Hashing {
    /// The request, with the key that was given.
    pub fn request(self) -> request::Hashing {
        request::Hashing { hash: self.hash, seed: self.seed, hash_key: HashKey::usual() }
    }
}

impl Kinds {
    /// The request.
    pub fn request(&self) -> request::Kinds {
        let Kinds { kind, conservative, layers, hashing } = *self;
        let request::Hashing { hash, seed, hash_key } = hashing.request();
        request::Kinds { kind, conservative, layers, hash, seed, hash_key }
    }
}

/// The requested size of filters.
#[derive(Debug, Args)]
#[command(next_help_heading = "Size")]
pub struct Sizes {
    /// The highest allowed expected rate of false positives [default: 0.01]
    #[arg(long, value_parser = rate, conflicts_with_all = ["bits_per_key", "size"])]
    pub fpr: Option<f64>,
    /// Bits per key
    #[arg(long, value_parser = positive, conflicts_with = "size")]
    pub bits_per_key: Option<f64>,
    /// Bytes for all groups together (64MB, 1GiB), shared so that all have the same expected rate
    #[arg(long, value_parser = bytes)]
    pub size: Option<u64>,
    /// Plan each group for N keys instead of counting them
    #[arg(long, value_parser = count, value_name = "N")]
    pub keys: Option<u64>,
}

impl Sizes {
    /// The request.
    pub fn request(&self) -> request::Sizes {
        let Sizes { fpr, bits_per_key, size, keys } = *self;
        request::Sizes { fpr, bits_per_key, size, keys }
    }
}

/// The numbers of a filter, chosen by hand.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Size")]
pub struct ByHand {
    /// Hashes of a key (k): 1 to 64 of a bloom filter [default: the best number]
    #[arg(long, value_name = "K")]
    pub hashes: Option<u32>,
    /// Bits (m): exactly these without groups; with groups, those of all groups together
    #[arg(long, value_parser = count, value_name = "M")]
    pub bits: Option<u64>,
    /// Bits of each group, exactly
    #[arg(long, value_parser = count, value_name = "M")]
    pub bits_per_group: Option<u64>,
}

impl ByHand {
    /// The request.
    pub fn request(self) -> request::ByHand {
        let ByHand { hashes, bits, bits_per_group } = self;
        request::ByHand { hashes, bits, bits_per_group }
    }
}

/// The requested size of sketches that count.
#[derive(Debug, Args)]
#[command(next_help_heading = "Counts (--kind count-min)")]
pub struct Counting {
    /// The error: an estimate exceeds the truth by at most this share of the total weight [default: 0.0001]
    #[arg(long, value_parser = share, value_name = "E", conflicts_with = "width")]
    pub epsilon: Option<f64>,
    /// The probability that an estimate exceeds that error [default: 0.01]
    #[arg(long, value_parser = share, value_name = "D", conflicts_with = "depth")]
    pub delta: Option<f64>,
    /// Counters in a row, instead of --epsilon
    #[arg(long, value_parser = count, value_name = "N")]
    pub width: Option<u64>,
    /// Rows of counters, instead of --delta
    #[arg(long, value_name = "N")]
    pub depth: Option<u32>,
    /// Bits of a counter: 64 or 32. A counter that reaches its largest value stays there, with a warning
    #[arg(long, value_parser = counter_bits, value_name = "BITS")]
    pub counter_bits: Option<u32>,
}

impl Counting {
    /// The request.
    pub fn request(&self) -> request::Counting {
        let Counting { epsilon, delta, width, depth, counter_bits } = *self;
        request::Counting { epsilon, delta, width, depth, counter_bits }
    }
}

fn counter_bits(text: &str) -> Result<u32, String> {
    match text {
        "32" => Ok(32),
        "64" => Ok(64),
        _ => Err("a counter has 64 bits or 32".into()),
    }
}

/// A share of the whole, or a probability.
pub fn share(text: &str) -> Result<f64, String> {
    part(text, "must be above 0 and below 1")
}

/// A rate of false positives.
pub fn rate(text: &str) -> Result<f64, String> {
    part(text, "a rate lies between 0 and 1, both excluded")
}

/// A part of one, also in per cent; and what is said of another number.
fn part(text: &str, otherwise: &str) -> Result<f64, String> {
    let part = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    match part {
        Ok(part) if part > 0.0 && part < 1.0 => Ok(part),
        Ok(_) => Err(otherwise.into()),
        Err(_) => Err("not a number".into()),
    }
}

fn delimiter(text: &str) -> Result<Delimiter, String> {
    Ok(Delimiter::Byte(match text {
        "tab" | "\\t" => b'\t',
        "comma" => b',',
        "semicolon" => b';',
        "pipe" => b'|',
        "space" => b' ',
        "whitespace" => return Ok(Delimiter::Whitespace),
        _ => match text.as_bytes() {
            [b'\n' | b'\r' | b'"'] => return Err("a line end or a quote cannot delimit values".into()),
            [byte] => *byte,
            _ => {
                return Err(
                    "a delimiter is one byte, or tab, comma, semicolon, pipe, space or whitespace".into()
                );
            }
        },
    }))
}

/// The sign of comments.
fn comment(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [b'\n' | b'\r' | b'"'] => Err("a line end or a quote cannot be the sign of comments".into()),
        [byte] => Ok(*byte),
        _ => Err("the sign of comments is one byte, such as #".into()),
    }
}

/// A number of threads.
pub fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=MOST_THREADS) => Ok(threads),
        _ => Err(format!("a number of threads lies between 1 and {MOST_THREADS}")),
    }
}

/// A number above zero.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("not a number above zero".into()),
    }
}

/// An exponent of Zipf's law.
pub fn skew(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(skew) if (0.0..=10.0).contains(&skew) => Ok(skew),
        _ => Err("must lie between 0 and 10".into()),
    }
}

/// An integer from 1: `1000000`, `1_000_000`, `1,000,000`, `1e6`, `1M`.
pub fn count(text: &str) -> Result<u64, String> {
    const MOST: u64 = 1_000_000_000_000_000_000;
    const BOUNDS: &str = "must lie between 1 and 1e18";
    if !commas_part_thousands(text) {
        return Err("a comma parts thousands here (1,500,000); the decimal sign is a point (1.5M)".into());
    }
    let plain: String = text.chars().filter(|c| !matches!(c, '_' | ',')).collect();
    if let Ok(number) = plain.parse::<u64>() {
        return match number {
            0 => Err("must be at least 1".into()),
            1..=MOST => Ok(number),
            _ => Err(BOUNDS.into()),
        };
    }
    let (digits, zeros) = match plain.chars().last() {
        Some('k' | 'K') => (&plain[..plain.len() - 1], 3),
        Some('M') => (&plain[..plain.len() - 1], 6),
        Some('G' | 'B') => (&plain[..plain.len() - 1], 9),
        Some('T') => (&plain[..plain.len() - 1], 12),
        _ => (plain.as_str(), 0),
    };
    let (digits, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let number = exponent.parse::<i16>().ok().and_then(|exponent| {
        // Read as one number: a product of two could miss an integer by a rounding error.
        format!("{digits}e{}", i32::from(exponent) + zeros).parse::<f64>().ok()
    });
    match number {
        None => Err("not a number (1000000, 1e6 and 1M are)".into()),
        Some(number) if !(1.0..=MOST as f64).contains(&number) => Err(BOUNDS.into()),
        Some(number) if number.fract() != 0.0 => Err("must be a whole number".into()),
        Some(number) => Ok(number as u64),
    }
}

/// Whether commas, if there are any, stand before every three digits of an integer.
fn commas_part_thousands(text: &str) -> bool {
    let mut parts = text.split(',');
    let first = parts.next().unwrap_or_default();
    let mut rest = parts.peekable();
    if rest.peek().is_none() {
        return true;
    }
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    (1..=3).contains(&first.len()) && digits(first) && rest.all(|part| part.len() == 3 && digits(part))
}

/// Memory for a job that can do with little.
pub fn memory(text: &str) -> Result<u64, String> {
    memory_from(LEAST_MEMORY, text)
}

/// Memory for a job that can do with this little.
pub fn memory_from(least: u64, text: &str) -> Result<u64, String> {
    match bytes(text)? {
        memory if memory < least => {
            Err(format!("less than {} is of no use", number::bytes(least).replace(' ', "")))
        }
        memory => Ok(memory),
    }
}

pub fn seed(text: &str) -> Result<u64, String> {
    if text == "random" {
        return Ok(tamis_make::seed::random());
    }
    text.parse().map_err(|_| "a seed is a number, or `random`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for text in ["1000000", "1e6", "1M", "1_000_000", "1,000,000", "1000k", "0.001G"] {
            assert_eq!(count(text), Ok(1_000_000), "{text}");
        }
        assert_eq!((count("1.5M"), count("1.1e6"), count("4.35k")), (Ok(1_500_000), Ok(1_100_000), Ok(4350)));
        for text in [
            "0",
            "-1",
            "1.1e18",
            "1000000000000000001",
            "x",
            "",
            "e",
            "M",
            "1e",
            "1e30",
            "1e99999",
            "1e32767T",
            "NaN",
            "inf",
            "1.5",
            "1.23456k",
            "0.5",
            "1,5M",
            "1,5",
            "1,50,000",
            "12,3456",
            ",100",
            "1,000,",
            "1,000k",
            "1.000,5",
        ] {
            assert!(count(text).is_err(), "{text}");
        }
        assert_eq!(
            (count("1e18"), bytes("1e18")),
            (Ok(10u64.pow(18)), Ok(10u64.pow(18))),
            "as the messages say"
        );
        assert_eq!(bytes("64MB"), Ok(64_000_000));
        assert_eq!(bytes("1.5KiB"), Ok(1536));
        assert_eq!(bytes("1e9"), Ok(1_000_000_000));
        assert!(bytes("64XB").is_err() && bytes("0").is_err() && bytes("MB").is_err());
        assert_eq!(rate("1%"), Ok(0.01));
        assert!(rate("0").is_err() && rate("1").is_err() && rate("nan").is_err());
        let names = ["tab", "\\t", "comma", "semicolon", "pipe", "space", ";", ":"];
        assert_eq!(names.map(delimiter), b"\t\t,;| ;:".map(|byte| Ok(Delimiter::Byte(byte))));
        assert_eq!(delimiter("whitespace"), Ok(Delimiter::Whitespace));
        assert!(delimiter("||").is_err());
        assert_eq!(comment("#"), Ok(b'#'));
        assert!(["", "//", "\n", "\""].iter().all(|text| comment(text).is_err()));
    }
}
