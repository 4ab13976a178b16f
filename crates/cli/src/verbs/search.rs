use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use tamis::params::Name;
use tamis_jobs::locate::{Sought, Wanted};
use tamis_jobs::search::{self, Question, Read};
use tamis_make::files::{self, Mapped};
use tamis_make::text::printable;
use tamis_make::{number, parallel};
use tamis_read::Error;

use super::locate::print_names;
use crate::notes;
use crate::progress;
use crate::show::{self, Output, unless_closed, usage};
use crate::words::Flags;

/// Say which documents may have all of some words
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis build docs/ --record file --key :words,stop=en,min=3,stem=en --group '(file)' -o index.tamis
  tamis search index.tamis 'space alien'             documents that may have both words
  tamis search index.tamis space alien --strict      those that have, by reading them
  tamis search index.tamis 'space alien' --print0 | xargs -0 grep -il alien
  tamis locate index.tamis space alien               documents that may have one of them
  tamis add index.tamis docs/new.html                a new document in the index
  tamis build films.csv --keywords plot:words,lower --each-keyword --group title -o plots.tamis

Prints the documents, one per line: the groups of the index, mostly paths as they were named when it was built. \
The words are made into keywords as those of the documents were, so that Aliens finds alien; words that are \
dropped there (stop words, short ones) are named and not sought. No document that has all of the words is missing, \
as it was when the index was made; some may be named by chance, and how many to expect is noted on standard error. \
An index of the most frequent words alone (a step top=N in its key) misses documents that have a word less often; \
that is noted, too (--json: `most_frequent_only`).

With --strict the documents are read, and only those are printed that have all words now. The others that the index \
named are counted (--json: `lacking`): named by chance, or changed since, which nothing tells apart. Paths that are \
relative are sought from the folder where the search runs: run it where the index was built. A document that cannot \
be read, or is no regular file any more, is named as an error (--json: `unreadable`), and the exit code is 2.

Exit code as grep's: 0 if any document is printed, 1 if none, 2 on error.")]
pub struct Search {
    /// The index
    pub(super) index: PathBuf,
    /// The words that a document must have, all of them
    #[arg(required = true)]
    words: Vec<OsString>,
    /// Read the documents that may have the words, and print only those that have
    #[arg(long)]
    strict: bool,
    /// End each name with a null byte, and write it as it is: for xargs -0
    #[arg(long)]
    print0: bool,
}

/// The documents that are printed, and what is told of the others.
#[derive(Default)]
struct Found {
    groups: Vec<usize>,
    /// Documents that the index names and that lack a word.
    lacking: Vec<usize>,
    /// Documents that cannot be read.
    unreadable: Vec<usize>,
}

impl Search {
    /// Searches. Every error is exit code 2, as grep has it, and so is a document that cannot be read.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        match self.search(output) {
            Ok(Found { unreadable, .. }) if !unreadable.is_empty() => Ok(ExitCode::from(2)), // and said
            found => show::as_grep(found.map(|found| !found.groups.is_empty())),
        }
    }

    fn search(&self, output: &Output) -> Result<Found> {
        show::refuse_print0_as_json(self.print0, output)?;
        let file = files::open(&self.index)?;
        search::check(&file, self.strict).map_err(|why| Error::input(&self.index, why))?;
        let params = file.params();
        let texts = self.words.iter().map(|word| word.as_encoded_bytes());
        let question = Question::of(&params.common.recipe, texts).or_else(|why| usage(why.to_string()))?;
        if !question.dropped.is_empty() {
            let dropped = question.dropped.iter().map(|word| printable(word)).collect::<Vec<_>>().join(", ");
            output.note(format!("not sought, since the index leaves out such words: {dropped}"));
        }
        if question.keywords.is_empty() {
            return usage("no word is left to search for");
        }
        notes::most_frequent_only(output, &params.common.recipe);
        let mut sought = Sought::new(&file)?;
        question.keywords.iter().for_each(|keyword| sought.push_key(keyword));
        let located = progress::run(output, "asking", |control| {
            sought.locate(Wanted::All, parallel::default_threads(), control)
        })?;
        let all = params.groups.len() as u64;
        output.note(format!(
            "{} of {} may have {}; {} would be expected by chance, if none had a word",
            number::count(located.groups.len() as u64),
            number::counted(all, "document"),
            match question.keywords.len() {
                1 => "the word".to_owned(),
                words => format!("all {} words", number::count(words as u64)),
            },
            number::significant(located.by_chance, 2)
        ));
        let found = match self.strict {
            true => self.read(output, &file, &located.groups, &question)?,
            false => Found { groups: located.groups.clone(), ..Found::default() },
        };
        let name = |group: &usize| &params.groups[*group].group;
        if output.json {
            let names =
                |groups: &[usize]| -> Vec<Value> { groups.iter().map(|group| json!(name(group))).collect() };
            let words = |words: &[Vec<u8>]| -> Vec<Value> {
                words.iter().map(|word| json!(Name(word.clone()))).collect()
            };
            let mut answer = json!({
                "documents": names(&found.groups), "all_documents": all, "words": words(&question.keywords),
                "dropped": words(&question.dropped), "expected_by_chance": located.by_chance,
                "most_frequent_only": params.common.recipe.most_keywords(),
            });
            if self.strict {
                answer["candidates"] = json!(located.groups.len());
                answer["lacking"] = json!(names(&found.lacking));
                answer["unreadable"] = json!(names(&found.unreadable));
            }
            unless_closed(writeln!(io::stdout().lock(), "{answer}"))?;
        } else {
            print_names(found.groups.iter().map(name), self.print0)?;
        }
        Ok(found)
    }

    /// Reads the documents that may have the words.
    fn read(&self, output: &Output, file: &Mapped, groups: &[usize], question: &Question) -> Result<Found> {
        let read = progress::run(output, "reading documents", |control| {
            search::read(file, groups, question, parallel::default_threads(), control)
        })?;
        let mut found = Found::default();
        for (&group, read) in groups.iter().zip(&read) {
            match read {
                Read::Has => found.groups.push(group),
                Read::Lacks => found.lacking.push(group),
                Read::Unreadable(why) => {
                    found.unreadable.push(group);
                    show::error(format!("{}, so that it cannot be checked", why.said(&Flags)));
                }
            }
        }
        output.note(format!(
            "{} of them read: {} the words, {} not (named by chance, or changed since)",
            number::counted((found.groups.len() + found.lacking.len()) as u64, "document"),
            match found.groups.len() {
                1 => "1 has".to_owned(),
                have => format!("{} have", number::count(have as u64)),
            },
            number::count(found.lacking.len() as u64)
        ));
        if !found.unreadable.is_empty() {
            show::error(format!(
                "{} could not be read, and may have the words; a path that does not begin with / is sought from \
                 the folder where tamis search runs: run it where the index was built",
                number::counted(found.unreadable.len() as u64, "document")
            ));
        }
        Ok(found)
    }
}
