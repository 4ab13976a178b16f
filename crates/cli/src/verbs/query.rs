use std::ffi::OsString;
use std::io::{self, BufRead, BufWriter, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use tamis::about::Classes;
use tamis::key::BadValue;
use tamis::params::Name;
use tamis::sizing::Kind;
use tamis_jobs::classes::{self, Hits};
use tamis_jobs::query::Asker;
use tamis_jobs::removed_keys::RemovedKeys;
use tamis_make::files;
use tamis_make::text::listed_name;
use tamis_make::text::printable;
use tamis_read::LONGEST_ROW;

use super::counters;
use crate::notes;
use crate::show::{self, Output, unless_closed, usage};

/// Ask which groups keys may be in, or how often they occurred
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis query ratings.tamis tt0111161 tt0000001
  cut -f1 titles.tsv | tamis query ratings.tamis
  tamis query movies.tamis 'space, alien, survival'          a record of keywords
  printf 'ann\\t2026-11-15\\n' | tamis query visits.tamis     a compound key, parts separated by tabs
  tamis query users.tamis --removed gone.tamis ann@example.org   in the first, and not in the second
  tamis query hits.tamis 203.0.113.7                         how often it occurred (count-min)

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

Give keywords as they stand in the data. Those of a JSON list may be separated by commas instead, those of \
several columns by tabs. `part` says that each keyword may be at its place, but no record of exactly these \
keywords is known: they may be the first keywords of a longer record, for which the XOR layer could not be \
asked.

With --removed FILE, a key is found if it may be in the first file and not in the second, group by group \
(or, where the second has no groups, in all). The second has false positives, too: at its rate, a key that \
was not removed is missed. Filters of --kind counting do not have this flaw.

A key that the recipe cannot use (a wrong number of parts, a text where a number is rounded) is named on \
standard error, and the others are answered. Exit code as grep's: 0 if any key may be in the set (as a \
whole or in part, or with an estimate above zero), 1 if none, 2 on error.")]
pub struct Query {
    /// The file of filters
    file: PathBuf,
    /// Filters of keys that were removed since: a key in both files is not found
    #[arg(long, value_name = "FILE.tamis")]
    removed: Option<PathBuf>,
    /// The keys; none or `-`: one per line on standard input
    keys: Vec<OsString>,
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
        let file = files::open(&self.file)?;
        let removed = self.removed.as_ref().map(|path| RemovedKeys::open(path, file.params())).transpose()?;
        let mut asker = Asker::new(&file)?;
        if let Some(removed) = &removed {
            asker = asker.without(removed)?;
        }
        let mut answers = Answers {
            out: BufWriter::new(io::stdout().lock()),
            json: output.json,
            grouped: file.params().common.recipe.group.is_some(),
            asked: Asked::default(),
            first: true,
            records: file.params().common.kind == Kind::Layered,
            counts: file.params().common.kind.counts(),
        };
        if self.keys.is_empty() && io::stdin().is_terminal() {
            return usage("no keys: give them as arguments, or one per line on standard input");
        }
        notes::keys_beside(output, &self.file, &file);
        if answers.counts && !output.json {
            counters::explain_bound(output, &file);
        }
        // What was answered before an error is shown, and as JSON it is whole.
        let asked = self.ask_all(&mut asker, &mut answers);
        let answered = answers.finish()?;
        counters::explain_full(output, answered.full, &file);
        let (classes, fields) = (file.about().key_classes(), &file.params().common.recipe.key);
        let doubts = classes::of_scan(classes, fields, Classes::TEXT, answered.hits);
        doubts.iter().for_each(|doubt| notes::other_class(output, &self.file, doubt));
        asked.map(|()| answered)
    }

    fn ask_all<W: Write>(&self, asker: &mut Asker<'_>, answers: &mut Answers<W>) -> Result<()> {
        if self.keys.is_empty() || self.keys == ["-"] {
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
                if !key.is_empty() && !answers.answer(asker, key)? {
                    return Ok(());
                }
                line.clear();
            }
        } else {
            for key in &self.keys {
                if !answers.answer(asker, key.as_encoded_bytes())? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Reads a line with its end, and no more than one byte beyond this length of it; false at the end.
fn read_line(input: &mut impl BufRead, longest: usize, line: &mut Vec<u8>) -> io::Result<bool> {
    Ok(input.take(longest as u64 + 1).read_until(b'\n', line)? > 0)
}

/// What was asked, as a whole.
#[derive(Debug, Default, Clone, Copy)]
struct Asked {
    /// Whether any key may be in.
    any: bool,
    /// Whether any could not be asked.
    bad: bool,
    /// Answers for which the counters are full.
    full: u64,
    /// Keys that were asked and found.
    hits: Hits,
}

impl Asked {
    fn hear(&mut self, found: bool) {
        self.any |= found;
        self.hits.hear(found);
    }
}

struct Answers<W: Write> {
    out: W,
    json: bool,
    grouped: bool,
    asked: Asked,
    first: bool,
    /// Whether keys are records of keywords in layers.
    records: bool,
    /// Whether they were counted.
    counts: bool,
}

impl<W: Write> Answers<W> {
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
        let (groups, part) = (found.whole, found.part);
        self.asked.hear(!groups.is_empty() || !part.is_empty());
        let written = if self.json {
            let before = if self.first { "[\n" } else { ",\n" };
            let mut answer = json!({ "key": Name(key.to_vec()), "found": !groups.is_empty() });
            if self.grouped {
                answer["groups"] = json!(groups);
            }
            if self.records {
                answer["part"] = if self.grouped { json!(part) } else { json!(!part.is_empty()) };
                answer["xor_layer"] =
                    if groups.is_empty() && !part.is_empty() { "could not be asked" } else { "asked" }.into();
            }
            write!(self.out, "{before}{answer}")
        } else {
            let whole =
                groups.iter().map(|name| if self.grouped { listed_name(&name.0) } else { "yes".into() });
            let part = part.iter().map(|name| match self.grouped {
                false => "part (the XOR layer could not be asked)".into(),
                true => format!("{} (part: the XOR layer could not be asked)", listed_name(&name.0)),
            });
            let groups: Vec<String> = whole.chain(part).collect();
            writeln!(self.out, "{}\t{}", printable(key), groups.join(","))
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
