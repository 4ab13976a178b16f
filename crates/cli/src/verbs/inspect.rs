use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use tamis::counting::MOST;
use tamis_jobs::classes;
use tamis_jobs::inspect::{self as as_data, Group, State, Summary};
use tamis_make::foreign::Origin;
use tamis_make::text::{printable, visible_lines};
use tamis_make::{exact, files, number};
use tamis_read::Error;
use tamis_report::contents;

use super::counters;
use crate::foreign::OfOthers;
use crate::notes;
use crate::show::{FEW, Largest, Output, Sheet, print, unless_closed, usage};

/// Show the contents of a file: kind, recipe, and the state of every group
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis inspect ratings.tamis
  tamis inspect ratings.tamis --json
  tamis inspect ratings.tamis --group 8 --raw-bits rating8.bits
  tamis inspect ratings.tamis --text                 8<TAB>3 17 42 …, a line for each group
  tamis inspect ratings.tamis --text=bits            8<TAB>000100…
  tamis inspect hits.tamis --text                    8<TAB>0<TAB>17 0 3 …, a line for each row
  tamis inspect hashlookup-full.bloom                a filter of another system: what it is, and how full

With --text, bits are those of the section in the file: of a layered filter one layer after the other, the \
XOR layer last. In the names of groups, commas, backslashes and unprintable characters are escaped, as locate \
escapes them.")]
pub struct Inspect {
    /// The file
    pub(super) file: PathBuf,
    /// Show this group only
    #[arg(long)]
    group: Option<OsString>,
    /// Write the bit array of the group to a file: little-endian, ⌈bits/8⌉ bytes
    #[arg(long, value_name = "FILE")]
    raw_bits: Option<PathBuf>,
    /// Print the contents as text, a line for each group: the positions of bits that are 1 (or counters, if the
    /// kind has them), or all bits as 0 and 1
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, conflicts_with = "raw_bits")]
    text: Option<Option<Form>>,
    #[command(flatten)]
    others: OfOthers,
}

/// The contents of a sketch as text: [`contents::Form`]. (Words on each value would double the help.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Positions,
    Bits,
    Counters,
}

impl Form {
    fn is(self, form: contents::Form) -> bool {
        match self {
            Form::Positions => form == contents::Form::Positions,
            Form::Bits => form == contents::Form::Bits,
            Form::Counters => form == contents::Form::Counters,
        }
    }
}

impl Inspect {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        super::Named::outputs(&self.raw_bits).and_inputs([&self.file])
    }

    /// Shows it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let (file, origin) = self.others.open_as_is(&self.file)?;
        let only = super::group_at(&self.file, &file, self.group.as_deref())?;
        if let Some(path) = &self.raw_bits {
            let at = match (only, &file.params().groups[..]) {
                (Some(at), _) => at,
                (None, [_]) => 0,
                _ => return usage("--raw-bits writes one filter: name its group with --group"),
            };
            file.verify(at).map_err(Error::file(&self.file))?;
            let bytes = file.params().groups[at].shape.bits().div_ceil(8) as usize;
            let section = file.section(at);
            files::write_whole(path, |out| {
                let mut left = bytes;
                for word in section {
                    let some = left.min(8);
                    out.write_all(&word.to_le_bytes()[..some])?;
                    left -= some;
                }
                Ok(())
            })?;
            output.note(format!("{}: {} of bits", path.display(), number::bytes(bytes as u64)));
        }
        if let Some(form) = self.text {
            return self.contents(output, &file, only, form);
        }
        notes::keys_beside(output, &self.file, &file);
        let more = match origin {
            None => More::about(&self.file, &file),
            Some(origin) => More::of_others(&file, &origin),
        };
        show(output, &self.file, &Summary::of(&file, only), Listed::All, more)
    }
}

impl Inspect {
    /// Prints the contents as text, group by group; each is verified before its line begins.
    fn contents(
        &self,
        output: &Output,
        file: &files::Mapped,
        only: Option<usize>,
        form: Option<Form>,
    ) -> Result<ExitCode> {
        if output.json {
            return usage("--text and --json exclude each other");
        }
        let kind = file.params().common.kind;
        let forms = contents::Form::of(kind);
        let Some(form) = forms.iter().copied().find(|is| form.is_none_or(|form| form.is(*is))) else {
            let path = self.file.display();
            return usage(match forms.first() {
                None => format!("{path}: {kind} filters hold fingerprints, which --text does not show"),
                Some(contents::Form::Counters) => format!("{path}: {kind} has counters: --text=counters"),
                Some(_) => format!("{path}: {kind} has bits: --text=positions or --text=bits"),
            });
        };
        let order = only.map_or_else(|| file.params().natural_order(), |at| vec![at]);
        let mut out = BufWriter::new(io::stdout().lock());
        for at in order {
            file.verify(at).map_err(Error::file(&self.file))?;
            let (group, words) = (&file.params().groups[at], file.section(at));
            if !unless_closed(contents::write(&mut out, group, words, form))? {
                return Ok(ExitCode::SUCCESS);
            }
        }
        unless_closed(out.flush())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Which groups a table lists; JSON has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listed {
    /// All, since that is what was asked for.
    All,
    /// The largest, where they are very many: the file was just written. Who asks for quiet gets no table.
    Largest,
}

/// What else is told of a file.
#[derive(Debug, Default)]
struct More {
    /// To people.
    lines: Vec<String>,
    /// To programs: the fields of an object.
    json: Value,
}

impl More {
    /// What is recorded about it, and beside it.
    fn about(path: &Path, file: &files::Mapped) -> More {
        let about = file.about();
        let rows = file.tallies().iter().fold(0, |rows: u64, tally| rows.saturating_add(tally.rows));
        let what = if file.params().common.recipe.has_key_each() { "keyword" } else { "row" };
        let mut lines =
            vec![format!("made from {}; format version {}", number::counted(rows, what), file.version())];
        for (name, text) in [("note", &about.note), ("source", &about.source)] {
            lines.extend(text.as_ref().map(|text| format!("{name}: {}", printable(text.as_bytes()))));
        }
        if file.keys_are_counted() {
            lines.push("planned keys were counted when it was built, and are exact".into());
        }
        if !about.classes.is_empty() {
            lines.push(format!("keys made from {}", classes::words(about.key_classes())));
        }
        let declared = &about.dialect;
        let header = declared.header.map(|header| if header { "yes" } else { "no" }.to_owned());
        let shown: Vec<String> = [
            ("delimiter", &declared.delimiter),
            ("quotes", &declared.quotes),
            ("header", &header),
            ("comment", &declared.comment),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {:?}", value.as_ref()?)))
        .collect();
        if !shown.is_empty() {
            lines.push(format!("declared dialect: {}", shown.join(", ")));
        }
        let json = as_data::about(file, Some(path));
        if json["exact_keys"] == true {
            lines.push(format!("exact keys: {}", exact::path_beside(path).display()));
        }
        More { lines, json }
    }
}

impl More {
    /// What is in a file of another system, and what is not.
    fn of_others(file: &files::Mapped, origin: &Origin) -> More {
        let scheme = file.params().common.hash.name();
        let mut lines = vec![format!("{}, scheme {scheme}", origin.layout.title())];
        if !origin.planned {
            lines.push(
                "it does not record for how many keys and which rate it was made, nor how many it holds: the plan here \
                 is the largest for which it would have this number of hashes, and the rows are estimated from its fill"
                    .into(),
            );
        }
        if origin.layout.leaves_type_open() {
            lines.push("it does not record of what type its keys are (text, numbers)".into());
        }
        if origin.beyond > 0 {
            lines.push(format!("{} of its user after the filter", number::bytes(origin.beyond)));
        }
        let json = json!({
            "format": origin.layout.name(),
            "scheme": scheme,
            "plan_is_recorded": origin.planned,
            "bytes_beyond": origin.beyond,
        });
        More { lines, json }
    }
}

/// Shows the state of a file that was written.
pub fn written(output: &Output, path: &Path) -> Result<ExitCode> {
    written_with(output, path, Value::Null)
}

/// The same of a copy of a file that is elsewhere, and called so.
pub fn written_elsewhere(output: &Output, copy: &Path, called: &Path) -> Result<ExitCode> {
    let file = files::open_as_is(copy)?;
    show(output, called, &Summary::of(&file, None), Listed::Largest, More::default())
}

/// The same, with more to tell programs: the fields of an object.
pub fn written_with(output: &Output, path: &Path, json: Value) -> Result<ExitCode> {
    let file = files::open_any(path)?;
    show(output, path, &Summary::of(&file, None), Listed::Largest, More { json, ..More::default() })
}

/// Warnings about filters that are overfull: no more than this.
const MOST_WARNINGS: usize = 20;

/// Shows the state of the groups, and warns of those that are overfull.
fn show(output: &Output, path: &Path, summary: &Summary<'_>, listed: Listed, more: More) -> Result<ExitCode> {
    let (mut warnings, mut totals) = (Vec::new(), Totals::default());
    let mut largest = Largest::default();
    for group in summary.groups() {
        let group = group?;
        totals.add(&group);
        largest.add(group.size());
        if warnings.len() < MOST_WARNINGS {
            warnings.extend(tamis_report::inspect::overfull(&group));
        }
    }
    warnings.extend(totals.ran_full(summary)?);
    if output.json {
        let mut fields = summary.fields();
        fields["path"] = json!(path);
        as_data::extend(&mut fields, more.json);
        let groups = || summary.groups().filter_map(Result::ok).map(|group| group.json());
        output.json_with(fields, "groups", &|| Box::new(groups()))?;
    } else if !(output.quiet && listed == Listed::Largest) {
        let mut lines = vec![tamis_report::inspect::headline(path, summary)];
        lines.extend(totals.heavy(summary));
        lines.extend(more.lines);
        let places = match largest.places().filter(|_| listed == Listed::Largest) {
            None => (0..summary.count()).collect(),
            Some(places) => {
                let (path, all) = (path.display(), number::count(summary.count() as u64));
                lines.push(format!(
                    "These are the {FEW} largest of {all} groups; tamis inspect {path} shows all, and so does --json."
                ));
                places
            }
        };
        let groups = places.into_iter().map(|place| summary.group(place)).collect::<Result<Vec<_>, _>>()?;
        let table = tamis_report::inspect::table(summary.common(), &groups);
        match listed {
            Listed::Largest => print(&Sheet { table, lines }.to_string())?,
            // What the file is comes first: the groups may be many.
            Listed::All => print(&format!("{}\n\n{}", visible_lines(&lines.join("\n")), table.text()))?,
        }
    }
    warnings.iter().for_each(|warning| output.warn(warning));
    Ok(ExitCode::SUCCESS)
}

/// What is told of all groups together.
#[derive(Debug, Default)]
struct Totals {
    /// Keys that are kept beside sketches that count.
    heavy: u64,
    /// Counters that ran full.
    full: u64,
}

impl Totals {
    fn add(&mut self, group: &Group<'_>) {
        match &group.state {
            State::Counts(counts) => {
                self.heavy += counts.heavy.unwrap_or(0);
                self.full += counts.census.saturated;
            }
            State::Filter(health) => self.full += health.full.unwrap_or(0),
        }
    }

    /// What is kept beside sketches that count.
    fn heavy(&self, summary: &Summary<'_>) -> Option<String> {
        Some(format!(
            "Keys with a share of {} or more are kept, {} in all: tamis top lists them.",
            number::percent(summary.heavy_share()?),
            number::count(self.heavy)
        ))
    }

    /// That counters ran full, and what follows.
    fn ran_full(&self, summary: &Summary<'_>) -> Result<Option<String>> {
        let full = self.full;
        if full == 0 {
            return Ok(None);
        }
        if summary.common().kind.counts() {
            return Ok(Some(counters::ran_full(full, summary.group(0)?.params.shape.width())));
        }
        let (stay, it) = if full == 1 { ("stays", "it") } else { ("stay", "them") };
        Ok(Some(format!(
            "{} ran full (at {MOST}) and {stay} so whatever is removed: keys that were added that often, or share {it}, cannot be removed completely",
            number::counted(full, "counter")
        )))
    }
}
