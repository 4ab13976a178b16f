use std::ffi::OsString;
use std::io::{self, BufRead, BufWriter, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use serde_json::json;
use tamis::about::Classes;
use tamis::key::{BadValue, Recipe, keywords_of};
use tamis::params::Name;
use tamis_jobs::ask::Extent;
use tamis_jobs::classes::{self, Hits};
use tamis_jobs::query::Asker;
use tamis_jobs::removed_keys::RemovedKeys;
use tamis_make::number;
use tamis_make::pipe;
use tamis_make::text::listed_name;
use tamis_make::text::printable;
use tamis_read::{Error, LONGEST_ROW};

use super::counters;
use super::several::Several;
use crate::foreign::{self, Also, OfOthers};
use crate::notes;
use crate::show::{self, Output, unless_closed, usage};

/// Ask which groups keys may be in, or how often they occurred
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis query ratings.tamis tt0111161 tt0000001
  cut -f1 titles.tsv | tamis query ratings.tamis
  tamis query movies.tamis 'space, alien, survival'          a record of keywords
  tamis query movies.tamis --partial 'space, alien'          the first keywords of a record
  tamis query films.tamis '[\"space\", \"alien\"]'               keywords that stand in a JSON list
  printf 'ann\\t2026-11-15\\n' | tamis query visits.tamis     a compound key, parts separated by tabs
  tamis query users.tamis --removed gone.tamis ann@example.org   in the first, and not in the second
  tamis query hits.tamis 203.0.113.7                         how often it occurred (count-min)
  tamis query ids.bin --as guava --funnel long 42 43         a filter of another system
  tamis query bad.tamis 8b1a --also known=hashlookup.bloom   several files: prints the names of those that have it

Prints a line per key: the key, a tab, and the groups it may be in, separated by commas (`yes` \
if there are no groups; nothing if it is in no group). In the name of a group a comma is written \
\\, and a backslash \\\\. With --json: a list of objects with `key`, `found` (whether it may be \
in any) and, with groups, `groups`.

For sketches that count (build --kind count-min), prints a line per key, or per group in which its estimate \
is above zero: the key, the group where there are groups, the estimate, and the bound, separated by tabs. \
The true count is never above the estimate and, except with a small probability, not below it by more than \
the bound; both values are noted on standard error. `full` stands in place of an estimate where all \
counters of the key are full: the true count may then be anything up to the total weight (--json has \
`estimate` null, `full` true, and the limits `at_least`, except with that probability, and `at_most`).

With --also, prints a line per key: the key, a tab, and the names of the files that may have it, separated by commas. \
The name of a file is that before its last dot, or the NAME that it is given. With --json: `key`, `found` and `files`, \
a list of objects with `name` and, where the file has groups, `groups`.

Give keywords as they stand in the data, those of several columns separated by tabs. Where the data has a JSON \
list, give that, or a JSON list of the keywords alone, or one keyword; commas separate several only if the \
recipe trims them (COLUMN:json,trim), since keywords may begin or end with blanks. A keyword that holds a comma \
itself is given in a JSON list: [\"solo, one\"]. Where a key is not found and would be as a JSON list, or without \
one, a note says so.

A layered filter (build --kind layered) is asked for whole records: every keyword in its layer, then the XOR \
layer; the answer is yes or no. With --partial, the keywords are asked in the layers that they reach, and the \
XOR layer is not asked: `yes` says that each keyword may be at its place in some record, and not that one record \
has them all. A third column (--json: `layers_asked`) says which layers were asked. Keyword i is in layer i; \
where records have more keywords than there are layers, the first layer follows the last. So with 2 layers the \
first keyword of a query is found where a record has it as its first, third or fifth; with 1 layer, at any \
place. A keyword is asked at the place that it has in the query; with :sort, in the order of the keywords that are \
given.

With --removed FILE, a key is found if it may be in the first file and not in the second, group by group \
(or, where the second has no groups, in all). The second has false positives, too: at its rate, a key that \
was not removed is missed. Filters of --kind counting do not have this flaw.

A key that the recipe cannot use (a wrong number of parts, a text where a number is rounded) is named on \
standard error, and the others are answered. Exit code as grep's: 0 if any key may be in the set (or has an \
estimate above zero), 1 if none, 2 on error.")]
pub struct Query {
    /// The file of filters
    pub(super) file: PathBuf,
    /// Ask these files, too, and print the names of those that may have a key
    #[arg(long, value_name = "[NAME=]FILE", value_parser = OsStringValueParser::new().try_map(Also::parse),
          conflicts_with_all = ["removed", "partial"])]
    pub(super) also: Vec<Also>,
    /// Filters of keys that were removed since: a key in both files is not found
    #[arg(long, value_name = "FILE.tamis")]
    pub(super) removed: Option<PathBuf>,
    /// Ask a layered filter for the first keywords of records: each in its layer, without the XOR layer
    #[arg(long)]
    partial: bool,
    /// The keys; none or `-`: one per line on standard input
    keys: Vec<OsString>,
    #[command(flatten)]
    others: OfOthers,
}

impl Query {
    /// Asks. Every error is exit code 2, as grep has it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        match self.ask(output) {
            Ok(Asked { bad: true, .. }) => Ok(ExitCode::from(2)), // and said
            found => show::as_grep(found.map(|asked| asked.any)),
        }
    }

    fn ask(self, output: &Output) -> Result<Asked> {
        if !self.also.is_empty() {
            return self.ask_several(output);
        }
        let (file, _) = self.others.open(output, &self.file, &[])?;
        let removed = self.removed.as_ref().map(|path| RemovedKeys::open(path, file.params())).transpose()?;
        let refused = |refusal| Error::input(&self.file, refusal);
        let mut asker = Asker::new(&file)?.asked_for(Extent::partial_if(self.partial)).map_err(refused)?;
        if let Some(removed) = &removed {
            asker = asker.without(removed)?;
        }
        let recipe = &file.params().common.recipe;
        let mut answers = Answers {
            recipe,
            all: recipe.most_keywords().map(|_| recipe.with_all_keywords()),
            out: BufWriter::new(io::stdout().lock()),
            json: output.json,
            grouped: recipe.group.is_some(),
            asked: Asked::default(),
            first: true,
            layers: self.partial.then(|| asker.layers()),
            counts: file.params().common.kind.counts(),
        };
        self.refuse_no_keys()?;
        notes::keys_beside(output, &self.file, &file);
        if recipe.has_key_each() {
            notes::most_frequent_only(output, recipe);
        }
        if answers.counts && !output.json {
            counters::explain_bound(output, &file);
        }
        if self.partial {
            output.note(
                "asked without the XOR layer: each keyword may be at its place in some record, not all of them in one",
            );
        }
        // What was answered before an error is shown, and as JSON it is whole.
        let asked = self.each_key(|key| answers.answer(&mut asker, key));
        let answered = answers.finish()?;
        counters::explain_full(output, answered.full, &file);
        hint_at_partial(output, answered.only_partial);
        answered.say_readings(output);
        let (classes, fields) = (file.about().key_classes(), &recipe.key);
        let doubts = classes::of_scan(classes, fields, Classes::TEXT, answered.hits);
        doubts.iter().for_each(|doubt| notes::other_class(output, &self.file, doubt));
        asked.map(|()| answered)
    }

    /// Whether the keys come on standard input.
    pub(super) fn reads_stdin(&self) -> bool {
        self.keys.is_empty() || self.keys == [pipe::NAME]
    }

    fn refuse_no_keys(&self) -> Result<()> {
        if self.keys.is_empty() && io::stdin().is_terminal() {
            return usage("no keys: give them as arguments, or one per line on standard input");
        }
        Ok(())
    }

    /// Asks several files for each key.
    fn ask_several(&self, output: &Output) -> Result<Asked> {
        Also::check(&self.file, &self.also)?;
        let (first, _) = self.others.open_one(output, &self.file, &[])?;
        let mut files = vec![(foreign::name_of(&self.file), first)];
        for Also { name, path } in &self.also {
            files.push((name.clone(), self.others.open_one(output, path, &[])?.0));
        }
        self.refuse_no_keys()?;
        let mut several = Several::new(&files, output.json)?;
        // What was answered before an error is shown, and as JSON it is whole.
        let asked = self.each_key(|key| several.answer(key));
        let (any, bad) = several.finish()?;
        asked.map(|()| Asked { any, bad, ..Asked::default() })
    }

    /// Asks for one key after the other, until there is no reader of the answers.
    fn each_key(&self, mut answer: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        if self.reads_stdin() {
            let mut input = io::stdin().lock();
            let mut line = Vec::new();
            let mut number = 0;
            while read_line(&mut input, LONGEST_ROW, &mut line)? {
                number += 1;
                if line.len() > LONGEST_ROW {
                    bail!("-, line {number}: this key is longer than {} MiB", LONGEST_ROW >> 20);
                }
                let key = line.strip_suffix(b"\n").unwrap_or(&line);
                let key = key.strip_suffix(b"\r").unwrap_or(key);
                if !key.is_empty() && !answer(key)? {
                    return Ok(());
                }
                line.clear();
            }
        } else {
            for key in &self.keys {
                if !answer(key.as_encoded_bytes())? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Says that records that were not found would be found partially.
fn hint_at_partial(output: &Output, records: u64) {
    if records > 0 {
        let (all, are) = (number::counted(records, "record"), if records == 1 { "is" } else { "are" });
        output.note(format!(
            "{all} that {are} not in the set {} all keywords at places where records of the set may have them; \
             --partial asks for the first keywords of longer records",
            if records == 1 { "has" } else { "have" }
        ));
    }
}

/// The layers from the first to this one, in words.
fn layers_text(asked: u32, of: u32) -> String {
    match asked {
        1 => format!("layer 1 of {of}"),
        _ => format!("layers 1-{asked} of {of}"),
    }
}

/// Reads a line with its end, and no more than one byte beyond this length of it; false at the end.
fn read_line(input: &mut impl BufRead, longest: usize, line: &mut Vec<u8>) -> io::Result<bool> {
    Ok(input.take(longest as u64 + 1).read_until(b'\n', line)? > 0)
}

/// What was asked, as a whole.
#[derive(Debug, Default)]
struct Asked {
    /// Whether any key may be in.
    any: bool,
    /// Whether any could not be asked.
    bad: bool,
    /// Answers for which the counters are full.
    full: u64,
    /// Records that were not found, and would be if they were asked partially.
    only_partial: u64,
    /// Keys that were asked and found.
    hits: Hits,
    /// Keys of which some keywords were not asked, since the recipe keeps only the most frequent.
    cut: u64,
    /// Keys that were not found, and would be if they were written otherwise: how many, and the first of them.
    misread: (u64, Vec<String>),
}

/// This many keys that would be found otherwise are named.
const NAMED: usize = 3;

impl Asked {
    fn hear(&mut self, found: bool) {
        self.any |= found;
        self.hits.hear(found);
    }

    /// Says which keys may have been meant otherwise.
    fn say_readings(&self, output: &Output) {
        if self.cut > 0 {
            output.note(format!(
                "of {} only the most frequent keywords were asked, as the recipe (top=N) has it for records",
                number::counted(self.cut, "key")
            ));
        }
        self.misread.1.iter().for_each(|named| output.note(named));
        if let more @ 1.. = self.misread.0 - self.misread.1.len() as u64 {
            output.note(format!(
                "{} more that are not in the set would be found likewise",
                number::count(more)
            ));
        }
    }
}

struct Answers<'r, W: Write> {
    recipe: &'r Recipe,
    /// The same with all keywords of a record, where it keeps only the most frequent.
    all: Option<Recipe>,
    out: W,
    json: bool,
    grouped: bool,
    asked: Asked,
    first: bool,
    /// How many layers there are, where records are asked partially.
    layers: Option<u32>,
    /// Whether they were counted.
    counts: bool,
}

impl<W: Write> Answers<'_, W> {
    /// Notes what was not asked of a key, or may have been meant by it.
    fn hear_reading(&mut self, asker: &mut Asker<'_>, key: &[u8], found: bool) {
        let keywords = |recipe: &Recipe| recipe.key_of_cells(key).ok().map(|key| keywords_of(&key).count());
        if let Some(all) = self.all.as_ref().filter(|_| !self.recipe.has_key_each()) {
            self.asked.cut += u64::from(keywords(all) > keywords(self.recipe));
        }
        let other = if found { None } else { self.recipe.other_reading(key) };
        let is_there = |other: &Vec<u8>| asker.ask(other).is_ok_and(|groups| !groups.is_empty());
        if let Some(other) = other.filter(is_there) {
            self.asked.misread.0 += 1;
            if self.asked.misread.1.len() < NAMED {
                self.asked.misread.1.push(format!(
                    "{} is not in the set as it is written; it may be in it as {}",
                    printable(key),
                    printable(&other)
                ));
            }
        }
    }

    /// Writes how often a key came; whether there is still a reader.
    fn count(&mut self, asker: &mut Asker<'_>, key: &[u8]) -> Result<bool> {
        let counts = match asker.ask_counts(key) {
            Ok(counts) => counts,
            Err(bad) => return self.bad(key, &bad),
        };
        self.asked.hear(counts.iter().any(|count| count.estimate > 0));
        self.asked.full += counts.iter().filter(|count| count.full).count() as u64;
        let written = if self.json {
            let before = if self.first { "[\n" } else { ",\n" };
            write!(self.out, "{before}{}", counters::answer_json(key, &counts, self.grouped))
        } else {
            self.out.write_all(counters::answer_lines(key, &counts, self.grouped).as_bytes())
        };
        self.first = false;
        Ok(unless_closed(written)?)
    }

    /// Says that a key could not be asked.
    fn bad(&mut self, key: &[u8], bad: &BadValue) -> Result<bool> {
        show::error(format!("key {:?}: {bad}", String::from_utf8_lossy(key)));
        self.asked.bad = true;
        Ok(true)
    }

    /// Writes an answer; whether there is still a reader.
    fn answer(&mut self, asker: &mut Asker<'_>, key: &[u8]) -> Result<bool> {
        if self.counts {
            return self.count(asker, key);
        }
        let found = match asker.ask_records(key) {
            Ok(found) => found,
            Err(bad) => return self.bad(key, &bad),
        };
        let groups = found.groups;
        self.asked.hear(!groups.is_empty());
        self.asked.only_partial += u64::from(found.only_partial);
        self.hear_reading(asker, key, !groups.is_empty());
        let written = if self.json {
            let before = if self.first { "[\n" } else { ",\n" };
            let mut answer = json!({ "key": Name(key.to_vec()), "found": !groups.is_empty() });
            if self.grouped {
                answer["groups"] = json!(groups);
            }
            if self.layers.is_some() {
                answer["layers_asked"] = (1..=found.layers_asked).collect();
            }
            write!(self.out, "{before}{answer}")
        } else {
            let named = |name: &&Name| if self.grouped { listed_name(&name.0) } else { "yes".into() };
            let groups: Vec<String> = groups.iter().map(named).collect();
            let layers = self.layers.map(|of| format!("\t{}", layers_text(found.layers_asked, of)));
            writeln!(self.out, "{}\t{}{}", printable(key), groups.join(","), layers.unwrap_or_default())
        };
        self.first = false;
        Ok(unless_closed(written)?)
    }

    fn finish(mut self) -> Result<Asked> {
        if self.json {
            unless_closed(self.out.write_all(if self.first { b"[]\n" } else { b"\n]\n" }))?;
        }
        unless_closed(self.out.flush())?;
        Ok(self.asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_of_a_line_than_shows_that_it_is_too_long() {
        let (mut input, mut line) = (io::Cursor::new(b"ab\nabcdefgh\n"), Vec::new());
        assert!(read_line(&mut input, 4, &mut line).unwrap());
        assert_eq!(line, b"ab\n");
        line.clear();
        assert!(read_line(&mut input, 4, &mut line).unwrap() && line.len() == 5);
    }
}
