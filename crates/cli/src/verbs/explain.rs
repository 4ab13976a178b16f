use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Arg, Args};
use serde_json::json;
use tamis::hash::Scheme;
use tamis::params::Name;
use tamis::sizing::{Kind, Shape};
use tamis::{bloom, counting, layered, scalable};
use tamis_jobs::inspect::{State, Summary};
use tamis_make::design::{self, Room, Wishes};
use tamis_make::names::Content;
use tamis_make::text::{group_name, printable};
use tamis_make::{files, groups, number, opt};
use tamis_read::Error;
use tamis_read::refusal::{Opt, Refusal, Voice};
use tamis_report::lesson::{Lesson, Seen, slides};

use crate::arguments::{self, Counting};
use crate::notes;
use crate::show::{Output, usage, wrong_by};
use crate::words::Flags;

/// The columns of a terminal that a page takes.
const COLUMNS: usize = 92;

/// What a layered filter is explained with where nothing is given: an example of the guide.
const LAYERED: (u64, u32, f64) = (10_000, 3, 0.05);

/// What a filter that grows is explained with: the keys of its first layer, and its rate.
const SCALABLE: (u64, f64) = (1_000_000, 0.01);

/// The heading of the numbers of sketches that count.
const COUNTS: &str = "Counts (count-min)";

/// Options that other verbs have, under the heading that they have here.
fn here(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "epsilon" | "delta" | "width" | "depth" | "counter_bits" => arg.help_heading(COUNTS),
        _ => arg,
    }
}

/// Explain a kind of sketch with your numbers: what it answers, how it errs, what it costs
#[derive(Debug, Args)]
#[command(mut_args(here))]
#[command(after_help = "\
Examples:
  tamis explain bloom                                  a billion keys in 8 billion bits
  tamis explain bloom --keys 1e6 --fpr 0.01 --report bloom.html
  tamis explain bloom --keys 1e9 --bits 8e9 --hashes 2
  tamis explain blocked --keys 1e6 --bits-per-key 10
  tamis explain layered --keys 10000 --layers 3 --fpr 0.05
  tamis explain count-min --epsilon 0.001 --delta 0.01 --total 1e6
  tamis explain ratings.tamis --group 8                a filter that was built, with its own numbers

Two of --keys, --bits (or --size), --bits-per-key and --fpr determine the rest, as in tamis plan; where \
numbers are missing, those of the example are taken: 1e9 keys, 8 bits per key. How the error follows is \
derived step by step, by one hash function, by two and by k; --report writes the same as a page with charts.")]
pub struct Explain {
    /// A kind (bloom, blocked, fuse, ribbon, counting, scalable, layered, count-min), or a file whose filter is
    /// explained
    #[arg(value_name = "KIND|FILE")]
    what: PathBuf,
    /// The group of the file
    #[arg(long)]
    group: Option<OsString>,
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    counting: Counting,
    /// The total weight of the stream: the number of its rows, where each has weight 1 [default: 1e9]
    #[arg(long, value_parser = arguments::count, value_name = "N", help_heading = COUNTS)]
    total: Option<u64>,
}

/// The numbers of a filter.
#[derive(Debug, Args)]
#[command(next_help_heading = "Size")]
struct Sizes {
    /// Keys; of a scalable filter, those of its first layer
    #[arg(long, value_parser = arguments::count, value_name = "N")]
    keys: Option<u64>,
    /// The rate of false positives; of a layered filter, that of a layer
    #[arg(long, value_parser = arguments::rate)]
    fpr: Option<f64>,
    /// Bits in all
    #[arg(long, value_parser = arguments::count, value_name = "N", conflicts_with = "size")]
    bits: Option<u64>,
    /// Bytes in all: 64MB, 1GiB
    #[arg(long, value_parser = arguments::bytes)]
    size: Option<u64>,
    /// Bits per key
    #[arg(long, value_parser = arguments::positive)]
    bits_per_key: Option<f64>,
    /// Hash functions [default: the best number]
    #[arg(long, value_name = "K")]
    hashes: Option<u32>,
    /// The layers of a layered filter, without the XOR layer [default: 3]
    #[arg(long, value_name = "N")]
    layers: Option<u32>,
}

/// What is explained.
struct Subject {
    lesson: Lesson,
    /// What is seen of it in a file.
    seen: Option<Seen>,
}

impl Explain {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        let file = self.kind().is_none().then_some(&self.what);
        super::Named::outputs(&self.report).and_inputs(file)
    }

    /// Explains it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        if let Some(path) = &self.report {
            files::check(path)?;
            Content::Page.check(path)?;
        }
        let Subject { lesson, seen } = match self.kind() {
            Some(kind) => Subject { lesson: self.of_kind(kind, output)?, seen: None },
            None => self.of_file()?,
        };
        let page = lesson.page(seen.as_ref());
        let text = page.text(COLUMNS);
        if let Some(path) = &self.report {
            notes::write_page(path, page)?;
            output.note(format!("{}: the same as a page, with charts", path.display()));
        }
        let mut json = lesson.json();
        if let Some(seen) = seen {
            json["seen"] = json!({
                "name": seen.name, "fill": seen.fill, "fpr_now": seen.rate,
                "estimated_keys": seen.keys.is_finite().then_some(seen.keys),
            });
        }
        output.result(text, json)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The kind that is named; none where a file is. A file with the name of a kind is `./bloom`.
    fn kind(&self) -> Option<Kind> {
        self.what.to_str()?.parse().ok()
    }

    fn of_kind(&self, kind: Kind, output: &Output) -> Result<Lesson> {
        self.refuse_others(kind)?;
        let lesson = match kind {
            Kind::CountMin | Kind::CountMinConservative => self.of_counts(output)?,
            Kind::Scalable => self.sizes.scalable(output)?,
            Kind::Layered => {
                self.sizes.layered(output).map(|(shape, keys)| Lesson::of_filter(shape, keys))?
            }
            kind => self.sizes.filter(kind, output).map(|(shape, keys)| Lesson::of_filter(shape, keys))?,
        };
        Ok(lesson.expect("the shape is that of the kind"))
    }

    fn of_counts(&self, output: &Output) -> Result<Option<Lesson>> {
        let request = self.counting.request();
        let counters = request.counters(None).map_err(wrong)?;
        let wished = request.by_error().then(|| request.error(None));
        if self.total.is_none() {
            output
                .note(format!("a total weight of {} is taken: give --total N", number::count(slides::KEYS)));
        }
        Ok(Lesson::of_counts(counters.shape, self.total.unwrap_or(slides::KEYS), wished))
    }

    /// The sketch of a file, with its own numbers.
    fn of_file(&self) -> Result<Subject> {
        if !self.what.exists() && self.what.components().count() == 1 && self.what.extension().is_none() {
            return usage(format!(
                "{}: is neither a file nor a kind; the kinds are {}",
                self.what.display(),
                Kind::ALL.map(Kind::name).join(", ")
            ));
        }
        let file = files::open_as_is(&self.what)?;
        self.refuse(&self.given(), "the numbers come from the file")?;
        let at = match (&self.group, &file.params().groups[..]) {
            (Some(name), _) => {
                let name = Name(name.as_encoded_bytes().to_vec());
                groups::find(file.params(), &name).map_err(|refusal| Error::input(&self.what, refusal))?
            }
            (None, [_]) => 0,
            (None, several) => {
                return usage(format!(
                    "{}: one filter is explained, and there are {}: name its group with --group",
                    self.what.display(),
                    number::count(several.len() as u64)
                ));
            }
        };
        let kind = file.params().common.kind;
        let group = Summary::of(&file, Some(at)).group(0)?;
        let shape = group.params.shape;
        let (lesson, seen) = match &group.state {
            State::Counts(counts) => (Lesson::of_counts(shape, counts.promise.total, None), None),
            State::Filter(health) => {
                let lesson = match kind {
                    Kind::Scalable => {
                        Lesson::of_growing(group.params.keys(), group.params.fpr(), shape.layers())
                    }
                    _ => Lesson::of_filter(shape, group.params.keys()),
                };
                let name = name(&self.what, &group.params.group);
                let seen = Seen { name, kind, fill: health.fill, keys: health.keys, rate: health.rate };
                // The bits of fingerprints tell nothing.
                (lesson, (!kind.is_static()).then_some(seen))
            }
        };
        Ok(Subject { lesson: lesson.expect("a file has no other shapes"), seen })
    }

    /// The options of numbers that were given.
    fn given(&self) -> Vec<&'static str> {
        let Sizes { keys, fpr, bits, size, bits_per_key, hashes, layers } = &self.sizes;
        let Counting { epsilon, delta, width, depth, counter_bits } = &self.counting;
        let all = [
            ("--keys", keys.is_some()),
            ("--fpr", fpr.is_some()),
            ("--bits", bits.is_some()),
            ("--size", size.is_some()),
            ("--bits-per-key", bits_per_key.is_some()),
            ("--hashes", hashes.is_some()),
            ("--layers", layers.is_some()),
            ("--epsilon", epsilon.is_some()),
            ("--delta", delta.is_some()),
            ("--width", width.is_some()),
            ("--depth", depth.is_some()),
            ("--counter-bits", counter_bits.is_some()),
            ("--total", self.total.is_some()),
        ];
        all.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag).collect()
    }

    /// Refuses numbers that sketches of this kind do not have.
    fn refuse_others(&self, kind: Kind) -> Result<()> {
        if self.group.is_some() {
            return usage(format!(
                "{kind} is a kind, and groups are in files: leave out --group, or name a file"
            ));
        }
        const OF_COUNTS: [&str; 6] =
            ["--epsilon", "--delta", "--width", "--depth", "--counter-bits", "--total"];
        let has = |flag: &str| match (kind, OF_COUNTS.contains(&flag)) {
            (kind, of_counts) if kind.counts() => of_counts,
            (_, true) => false,
            (Kind::Layered, _) => flag != "--bits-per-key",
            (Kind::Scalable, _) => matches!(flag, "--keys" | "--fpr"),
            (Kind::Fuse | Kind::Ribbon, _) => !matches!(flag, "--layers" | "--hashes"),
            _ => flag != "--layers",
        };
        let others: Vec<&str> = self.given().into_iter().filter(|flag| !has(flag)).collect();
        let what = if kind.counts() { "sketch" } else { "filter" };
        self.refuse(&others, &format!("a {kind} {what} has no such number"))
    }

    fn refuse(&self, flags: &[&str], why: &str) -> Result<()> {
        if flags.is_empty() { Ok(()) } else { usage(format!("{why}: leave out {}", flags.join(" and "))) }
    }
}

impl Sizes {
    fn bits(&self) -> Option<u64> {
        self.bits.or(self.size.map(|bytes| bytes.saturating_mul(8)))
    }

    /// The shape of a filter, and its keys. What is missing comes from the example.
    fn filter(&self, kind: Kind, output: &Output) -> Result<(Shape, u64)> {
        let (mut keys, mut each) = (self.keys, self.bits_per_key);
        let (fpr, bits) = (self.fpr, self.bits());
        let per_key = match kind {
            Kind::Counting => slides::BITS_PER_KEY * u64::from(counting::COUNTER_BITS),
            _ => slides::BITS_PER_KEY,
        };
        let taken = match (keys, fpr, bits, each) {
            (None, None, None, None) => {
                (keys, each) = (Some(slides::KEYS), Some(per_key as f64));
                Some(format!("no numbers are given: these are a billion keys, {per_key} bits per key"))
            }
            (Some(_), None, None, None) | (None, None, Some(_), None) => {
                each = Some(per_key as f64);
                Some(format!("{per_key} bits per key are taken: give --bits-per-key N, or --fpr"))
            }
            (None, Some(_), None, None) | (None, None, None, Some(_)) => {
                keys = Some(slides::KEYS);
                Some(format!("{} keys are taken: give --keys N", number::count(slides::KEYS)))
            }
            _ => None,
        };
        let bits = bits.map(if kind == Kind::Bloom { Room::Exactly } else { Room::AtMost });
        let only = Some((kind, Scheme::DEFAULT));
        let wishes = Wishes { keys, fpr, bits, bits_per_key: each, hashes: self.hashes, only };
        let design = design::design(wishes).map_err(wrong)?;
        let offer = design.options.first().expect("a design without options is refused");
        taken.into_iter().for_each(|taken| output.note(taken));
        Ok((offer.shape, offer.keys))
    }

    /// The shape of a layered filter, and the keywords or records in a layer.
    fn layered(&self, output: &Output) -> Result<(Shape, u64)> {
        let (keys, layers, fpr) = LAYERED;
        let (keys, layers) = (self.keys.unwrap_or(keys), self.layers.unwrap_or(layers));
        let shape = match (self.bits(), self.fpr) {
            (Some(_), Some(_)) => return usage("the rate follows from the bits: leave out --fpr, or --bits"),
            (Some(bits), None) => layered::shape_for_bits(keys, bits, layers),
            (None, given) => layered::shape_for_rate(keys, given.unwrap_or(fpr), layers),
        };
        let shape = self.with_hashes(shape.map_err(|error| wrong(design::Refusal::from(error)))?)?;
        let missing = [
            (self.keys.is_none(), format!("{} keywords (--keys)", number::count(keys))),
            (self.layers.is_none(), format!("{layers} layers (--layers)")),
            (self.bits().is_none() && self.fpr.is_none(), format!("a rate of {fpr} (--fpr)")),
        ];
        note_taken(&missing, output);
        Ok((shape, keys))
    }

    /// A filter that grows, as it begins.
    fn scalable(&self, output: &Output) -> Result<Option<Lesson>> {
        let (keys, fpr) = (self.keys.unwrap_or(SCALABLE.0), self.fpr.unwrap_or(SCALABLE.1));
        scalable::layer(keys, fpr, 0).map_err(|error| wrong(design::Refusal::from(error)))?;
        let missing = [
            (self.keys.is_none(), format!("{} keys in the first layer (--keys)", number::count(keys))),
            (self.fpr.is_none(), format!("a rate of {fpr} (--fpr)")),
        ];
        note_taken(&missing, output);
        Ok(Lesson::of_growing(keys, fpr, 1))
    }

    /// The same layers with the number of hash functions that is asked for.
    fn with_hashes(&self, shape: Shape) -> Result<Shape> {
        match (shape, self.hashes) {
            (Shape::Layered { .. }, Some(_)) if self.bits().is_none() => {
                usage("the hash functions of layers follow from the rate: give --bits with --hashes")
            }
            (Shape::Layered { bits, layers, .. }, Some(hashes))
                if (1..=bloom::MOST_HASHES).contains(&hashes) =>
            {
                Ok(Shape::Layered { bits, layers, hashes })
            }
            (_, Some(hashes)) => {
                usage(format!("--hashes is a number from 1 to {}, and not {hashes}", bloom::MOST_HASHES))
            }
            (shape, None) => Ok(shape),
        }
    }
}

/// The words of a verb in which the kind is no option.
struct Words;

impl Voice for Words {
    fn option(&self, option: Opt) -> String {
        Flags.option(option)
    }

    fn with(&self, option: Opt, value: &str) -> String {
        Flags.with(option, value)
    }

    fn plan_first(&self) -> String {
        Flags.plan_first()
    }

    fn has(&self, option: Opt) -> bool {
        option != opt::KIND
    }
}

fn wrong(refusal: impl Refusal) -> anyhow::Error {
    wrong_by(&Words, refusal)
}

/// Which filter of which file it is.
fn name(path: &Path, group: &Name) -> String {
    let file = printable(path.as_os_str().as_encoded_bytes());
    if group.0.is_empty() { file } else { format!("{file}, group {}", group_name(group)) }
}

/// Says which numbers of an example are taken where none are given.
fn note_taken(numbers: &[(bool, String)], output: &Output) {
    let taken: Vec<&str> =
        numbers.iter().filter(|(taken, _)| *taken).map(|(_, what)| what.as_str()).collect();
    if !taken.is_empty() {
        output.note(format!("these numbers are taken, as none are given: {}", taken.join(", ")));
    }
}
