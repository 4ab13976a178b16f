//! Notes and warnings that several verbs share.

use std::path::Path;
use std::time::SystemTime;

use anyhow::Result;
use tamis::key::Recipe;
use tamis::params::Params;
use tamis::sizing::{Kind, Shape, least_rate};
use tamis_jobs::classes::Doubt;
use tamis_jobs::request::Reading;
use tamis_make::exact::{Broken, Found, path_beside};
use tamis_make::files::{Draft, Mapped};
use tamis_make::{exact, files, number, opt, pipe};
use tamis_read::refusal::{Voice, say};
use tamis_read::{Delimiter, Error, Explained, Format, calendar};
use tamis_report::{Page, Section};

use crate::show::Output;
use crate::words::Flags;

/// Writes a page.
pub fn write_page(path: &Path, page: Page) -> Result<()> {
    Ok(files::finish_all([draft_page(path, page)?])?)
}

/// A page, not yet in its place, which says by what and when it was made. Pages alone have a date: everything
/// else is the same every time.
pub fn draft_page(path: &Path, mut page: Page) -> Result<Draft> {
    let day = calendar::day(SystemTime::now());
    page.sections.push(Section::Text(format!("Made by tamis {} on {day}.", env!("CARGO_PKG_VERSION"))));
    Ok(files::draft(path, |out| out.write_all(page.html().as_bytes()))?)
}

/// Says that an index of words misses documents, where it has only the most frequent words of each.
pub fn most_frequent_only(output: &Output, recipe: &Recipe) {
    if let Some(most) = recipe.most_keywords() {
        output.note(format!(
            "the index has only the {} most frequent words of each document (top={most}): documents that have a \
             word less often are missing",
            number::count(most as u64)
        ));
    }
}

/// How the inputs were understood, where that may not be what was meant, and which of the options that were
/// given had no effect on any of them.
pub fn inputs(output: &Output, given: &Reading, inputs: &[Explained]) {
    let delimited = |input: &Explained| input.delimiter.is_some();
    let text = |input: &Explained| input.format != Format::Parquet;
    for (is_given, option, has_it, of) in [
        (given.delimiter.is_some(), opt::DELIMITER, delimited as fn(&Explained) -> bool, "delimited text"),
        (given.quotes.is_some(), opt::QUOTES, delimited, "delimited text"),
        (given.no_header, opt::NO_HEADER, delimited, "delimited text"),
        (given.with_header, opt::WITH_HEADER, delimited, "delimited text"),
        (given.comment.is_some(), opt::COMMENT, text, "text"),
    ] {
        if is_given && !inputs.is_empty() && !inputs.iter().any(has_it) {
            output.warn(format!("{} had no effect: no input is {of}", Flags.option(option)));
        }
    }
    for input in inputs.iter().filter(|input| input.delimiter_by_look) {
        output.note(format!(
            "{}: the delimiter seems to be {}, judging by the header (--delimiter sets another)",
            input.path.display(),
            input.delimiter.unwrap_or(Delimiter::Byte(b','))
        ));
    }
    for input in inputs.iter().filter(|input| input.quotes_by_look) {
        output.note(format!(
            "{}: its fields stand in quotes, and with this delimiter these are ordinary characters; --quotes csv \
             reads them as quotes",
            input.path.display(),
        ));
    }
    for input in inputs.iter().filter(|input| numbers_for_names(input)) {
        output.warn(format!(
            "{}: its first line ({}) was read as column names; --no-header reads it as data",
            input.path.display(),
            input.columns.join(", ")
        ));
    }
}

/// Whether the names of columns look like values.
fn numbers_for_names(input: &Explained) -> bool {
    input.header && input.columns.iter().any(|name| name.parse::<f64>().is_ok())
}

/// That keys of another class asked a file, and some were not found.
pub fn other_class(output: &Output, path: &Path, doubt: &Doubt) {
    output.warn(format!("{}: {doubt}; {}", path.display(), doubt.advice()));
}

/// Lines that were passed over as comments.
pub fn comments(output: &Output, lines: u64) {
    if lines > 0 {
        output.note(format!("{} skipped", number::counted(lines, "comment line")));
    }
}

/// Rows that were left out.
pub fn skipped(output: &Output, rows: u64) {
    if rows > 0 {
        output.warn(format!("left out {}", number::counted(rows, "bad row")));
    }
}

/// That the keys were too many to be counted one by one.
pub fn estimated(output: &Output, estimated: bool) {
    if estimated {
        output.note(
            "more than 2^24 distinct keys: their number was estimated, with a margin of three standard errors (2.4 %)",
        );
    }
}

/// Says where keys are kept, where they are; and of keys that another file left there.
pub fn exact(output: &Output, path: &Path, pairs: Option<u64>) {
    let keys = path_beside(path);
    match (pairs, exact::found(&keys)) {
        (Some(pairs), _) => {
            output.note(format!("{}: {} kept", keys.display(), number::counted(pairs, "key")));
        }
        (None, Ok(Some(Found::Keys))) => output.warn(format!(
            "{}: holds the keys of the file that was replaced, not of {} as it is: remove it, or build with --exact",
            keys.display(),
            path.display()
        )),
        (None, Ok(Some(Found::Other))) => {
            output.warn(format!("{}: {}", keys.display(), say(&Broken::Magic, &Flags)));
        }
        (None, _) => {}
    }
}

/// Warns of keys beside a file that is only asked, if they are damaged or belong to another file.
pub fn keys_beside(output: &Output, path: &Path, file: &Mapped) {
    if let Err(Error::Input { path, why }) = exact::beside(path, file) {
        output.warn(format!("{}: {}", path.display(), say(&*why, &Flags)));
    }
}

/// What went to standard output.
pub fn sent(output: &Output, params: &Params) {
    let bytes = params.groups.iter().map(|group| 8 * group.shape.words()).sum();
    let groups = number::counted(params.groups.len() as u64, "group");
    output.note(format!("{}: {}, {groups}, {}", pipe::OUTPUT, params.common.kind, number::bytes(bytes)));
}

/// How many heavy keys are kept, where they are.
pub fn heavy(output: &Output, keys: Option<u64>, share: Option<f64>) {
    if let Some(keys) = keys {
        let of = share
            .map_or(String::new(), |share| format!(" with a share of {} or more", number::percent(share)));
        output.note(format!("{}{of} kept: tamis top lists them", number::counted(keys, "key")));
    }
}

/// A target that filters of this kind miss by more than a hundredth, and why, where that is known; of shapes with
/// their keys and targets.
pub fn missed_rate(output: &Output, kind: Kind, planned: impl IntoIterator<Item = (Shape, u64, f64)>) {
    let missed = planned.into_iter().filter_map(|(shape, keys, asked)| {
        let expected = shape.expected_rate(keys);
        (expected > 1.01 * asked).then_some((expected, asked, expected == least_rate(keys)))
    });
    let factor = |(expected, asked, _): &(f64, f64, bool)| expected / asked;
    let Some((expected, asked, least)) = missed.max_by(|a, b| factor(a).total_cmp(&factor(b))) else {
        return;
    };
    let reason = if least { ": that often another key has the same 64-bit hash as one of these" } else { "" };
    output.note(format!(
        "{kind}: the expected rate is {}, above the target of {}{reason}",
        number::rate(expected),
        number::rate(asked)
    ));
}

/// The same of all groups.
pub fn missed_rates(output: &Output, params: &Params) {
    let planned = params.groups.iter().map(|group| (group.shape, group.keys(), group.fpr()));
    missed_rate(output, params.common.kind, planned);
}

/// That keywords were looked for, and no record has more than one.
pub fn lone_keywords(output: &Output, lone: bool) {
    if lone {
        output.warn(
            "no record has more than one keyword: does the delimiter of --keywords occur in the column? (build --explain shows the first records)",
        );
    }
}
