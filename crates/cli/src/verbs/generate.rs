use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use tamis_lab::generate;
use tamis_lab::sample::{self, Drawn};
use tamis_make::destination::Destination;
use tamis_make::names::Content;
use tamis_make::{files, number};
use tamis_read::{Format, extension};

use crate::arguments;
use crate::progress;
use crate::show::{Output, unless_closed, usage};

/// Generate data to try things on; the same seed gives the same bytes everywhere
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis generate ratings -o ratings.tsv
  tamis generate ratings --rows 1e4 --seed 7 -o - | head
  tamis generate words --rows 2M -o people.txt
  tamis generate emails --rows 1e6 -o allow.txt
  tamis generate ips --rows 2M --seed 1 -o train.txt
  tamis generate sample people.txt --gap 500 --seed 1 -o known.txt")]
pub struct Generate {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Ratings(Ratings),
    Words(Words),
    Emails(Emails),
    Ips(Ips),
    Sample(Sample),
}

/// Film ratings like IMDb's title.ratings.tsv, with the counts per rating of 2022
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis generate ratings -o ratings.tsv                  1,260,817 rows
  tamis generate ratings --rows 1e4 --seed 7 -o small.tsv")]
struct Ratings {
    /// The rows; another number than the default has the same proportions
    #[arg(long, value_parser = arguments::count, default_value_t = generate::TITLES)]
    rows: u64,
    #[command(flatten)]
    to: To,
}

/// Pronounceable words of the same length, one per line
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis generate words --rows 2M -o people.txt
  tamis generate words --rows 10 --letters 8 -o -")]
struct Words {
    /// The words
    #[arg(long, value_parser = arguments::count, default_value_t = 1_000_000)]
    rows: u64,
    /// The letters of each
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=1000))]
    letters: u16,
    #[command(flatten)]
    to: To,
}

/// Distinct e-mail addresses, one per line
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis generate emails --rows 1e6 -o allow.txt
  tamis generate emails --rows 5 -o -")]
struct Emails {
    /// The addresses
    #[arg(long, value_parser = arguments::count, default_value_t = 1_000_000)]
    rows: u64,
    #[command(flatten)]
    to: To,
}

/// IPv4 addresses, one per line
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis generate ips --rows 2M --seed 1 -o train.txt                    uniform
  tamis generate ips --rows 1e7 --distinct 1e6 --skew 1.1 -o hits.txt   some are much more frequent

With --skew S the frequency of the address of rank k is proportional to 1/k^S (Zipf's law). \
Files of different seeds draw from the same addresses: learn from one, ask with another.")]
struct Ips {
    /// The addresses
    #[arg(long, value_parser = arguments::count, default_value_t = 2_000_000)]
    rows: u64,
    /// The number of different addresses to draw from [default: all 2^32]
    #[arg(long, value_parser = arguments::count, value_name = "N")]
    distinct: Option<u64>,
    /// The exponent of Zipf's law; 0: all are equally likely
    #[arg(long, default_value_t = 0.0, value_parser = arguments::skew)]
    skew: f64,
    #[command(flatten)]
    to: To,
}

/// A random sample of the lines of a file, in their order
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis generate sample people.txt --gap 500 --seed 1 -o known.txt   about one line in 250
  tamis generate words --rows 1e5 -o - | tamis generate sample - > known.txt

The first line is drawn from the first --gap lines, and each next one from the --gap lines after the last: \
gaps of 1 + floor(U * gap), as in Collodi and Ghera's project. Lines are written unchanged; a header line is \
a line like all others.")]
struct Sample {
    /// Files, globs, folders, or `-` for standard input; plain or as gz, zst, bz2 or xz
    #[arg(required = true)]
    inputs: Vec<String>,
    /// The largest gap between two lines of the sample: (gap + 1) / 2 on average
    #[arg(long, value_parser = arguments::count, default_value_t = 500)]
    gap: u64,
    /// The seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The file to write [default: standard output]
    #[arg(long, short)]
    output: Option<PathBuf>,
}

impl Sample {
    fn run(self, output: &Output) -> Result<ExitCode> {
        let Sample { inputs, gap, seed, output: path } = self;
        let path = path.filter(|path| path != Path::new("-"));
        if let Some(path) = &path {
            files::check(path)?;
            // Lines of a file may have the ending that the file has.
            let ending = extension(path);
            if !inputs.iter().any(|input| extension(Path::new(input)) == ending) {
                Content::Plain(Format::Lines).check(path)?;
            }
        } else if output.json {
            return usage("the sample goes to standard output: --json goes with -o FILE");
        }
        let to = path.as_deref().map_or(Destination::Stdout, Destination::at);
        let job = sample::Job { inputs, gap, seed, output: to };
        let Drawn { lines, sample } =
            progress::run(output, "sampling", |control| sample::draw(&job, control))?;
        let Some(path) = path else { return Ok(ExitCode::SUCCESS) };
        if output.json {
            output
                .result("", json!({ "path": path, "rows": sample, "of": lines, "gap": gap, "seed": seed }))?;
        } else {
            let of = number::counted(lines, "line");
            output.note(format!("{}: a sample of {} of {of}", path.display(), number::count(sample)));
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Debug, Args)]
struct To {
    /// The seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The file to write, or `-` for standard output
    #[arg(long, short)]
    output: PathBuf,
}

impl Generate {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        let to = match &self.what {
            What::Ratings(Ratings { to, .. })
            | What::Words(Words { to, .. })
            | What::Emails(Emails { to, .. })
            | What::Ips(Ips { to, .. }) => to,
            What::Sample(sample) => {
                return super::Named::outputs(&sample.output).and_tables(&sample.inputs);
            }
        };
        super::Named::outputs([&to.output])
    }

    /// Makes it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let (counts, format) = match &self.what {
            What::Ratings(Ratings { rows, .. }) => (Some(generate::rating_counts(*rows)), Format::Tsv),
            _ => (None, Format::Lines),
        };
        type Make = Box<dyn Fn(&mut dyn Write, u64) -> io::Result<()>>;
        let (rows, to, make): (u64, To, Make) = match self.what {
            What::Ratings(Ratings { rows, to }) => {
                (rows, to, Box::new(move |out, seed| generate::ratings(out, rows, seed)))
            }
            What::Words(Words { rows, letters, to }) => {
                let letters = usize::from(letters);
                (rows, to, Box::new(move |out, seed| generate::words(out, rows, letters, seed)))
            }
            What::Emails(Emails { rows, to }) => {
                (rows, to, Box::new(move |out, seed| generate::emails(out, rows, seed)))
            }
            What::Ips(Ips { rows, distinct, skew, to }) => {
                let distinct = distinct.unwrap_or(generate::ADDRESSES);
                if distinct > generate::ADDRESSES {
                    return usage("there are 2^32 addresses: give a smaller --distinct");
                }
                (rows, to, Box::new(move |out, seed| generate::ips(out, rows, distinct, skew, seed)))
            }
            What::Sample(sample) => return sample.run(output),
        };
        let To { seed, output: path } = to;
        if path == Path::new("-") {
            let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
            unless_closed(make(&mut out, seed).and_then(|()| out.flush()))?;
            return Ok(ExitCode::SUCCESS);
        }
        Content::Plain(format).check(&path)?;
        files::write_whole(&path, |out| make(out, seed))?;
        if output.json {
            let mut made = json!({ "path": path, "rows": rows, "seed": seed });
            if let Some(counts) = counts {
                made["counts"] = json!(counts);
            }
            output.result("", made)?;
        } else {
            output.note(format!("{}: {}", path.display(), number::counted(rows, "row")));
        }
        Ok(ExitCode::SUCCESS)
    }
}
