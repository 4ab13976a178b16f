//! Which documents have all of some words: an index of words names those that may, and the documents
//! themselves tell which of these do.

use std::collections::BTreeSet;
#[cfg(unix)]
use std::ffi::OsStr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tamis::key::{BadValue, Column, Maker, Recipe, keywords_of};
use tamis::sizing::Kind;
use tamis_make::files::Mapped;
use tamis_make::opt;
use tamis_make::parallel;
use tamis_make::rows::{Keyless, Unusable};
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};
use tamis_read::remote;
use tamis_read::{Control, Options, RowResult, Sink, Sources};

/// Why words are not sought in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A file that holds no words.
    #[error("its keys are not single words, so that no words can be sought in it")]
    NoWords,
    /// The same of a kind that cannot hold them.
    #[error(
        "it is layered: its keys are records of keywords and not single words, so that no words can be sought in it"
    )]
    Layered,
    /// Words that are made in several ways.
    #[error(
        "the words of its columns are made by different steps, so that nobody can tell by which a word is sought"
    )]
    Steps,
    /// One set of words.
    #[error("it has no groups, so that there are no documents to tell apart")]
    NoGroups,
    /// A file that counts.
    #[error("it counts, and does not tell which documents have a word")]
    Counts,
    /// Groups that are no files.
    #[error("its groups are no whole files that could be read")]
    NoFiles,
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::NoWords => vec![Help::BuildWith(vec![opt::EACH_KEYWORD.into()])],
            Refusal::Layered => {
                vec![Help::BuildWith(vec![opt::KIND.with("blocked"), opt::EACH_KEYWORD.into()])]
            }
            Refusal::Steps => Vec::new(),
            Refusal::NoGroups => vec![Help::BuildWith(vec![opt::GROUP.with("'(file)'")])],
            Refusal::Counts => vec![Help::build_with(opt::KIND.with("blocked"))],
            Refusal::NoFiles => vec![Help::leave_out(opt::STRICT)],
        }
    }
}

/// That words can be sought in a file; `strict` says that its documents shall be read.
pub fn check(file: &Mapped, strict: bool) -> std::result::Result<(), Refusal> {
    let common = &file.params().common;
    let recipe = &common.recipe;
    if common.kind.counts() {
        return Err(Refusal::Counts);
    }
    if common.kind == Kind::Layered {
        return Err(Refusal::Layered);
    }
    if !recipe.has_key_each() {
        return Err(Refusal::NoWords);
    }
    if recipe.key.iter().any(|field| field.steps != recipe.key[0].steps) {
        return Err(Refusal::Steps);
    }
    let Some(group) = &recipe.group else { return Err(Refusal::NoGroups) };
    match strict && !(recipe.record.is_some() && group.column == Column::File && group.steps.is_empty()) {
        true => Err(Refusal::NoFiles),
        false => Ok(()),
    }
}

/// The words of a question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// The different keywords that are sought, in the order in which they came.
    pub keywords: Vec<Vec<u8>>,
    /// The words that the recipe drops: stop words, short ones.
    pub dropped: Vec<Vec<u8>>,
}

impl Question {
    /// What texts ask for.
    pub fn of<'t>(
        recipe: &Recipe,
        texts: impl IntoIterator<Item = &'t [u8]>,
    ) -> std::result::Result<Question, BadValue> {
        let mut question = Question::default();
        for text in texts {
            for (word, keyword) in recipe.asked_keywords(text)? {
                match keyword {
                    Some(keyword) if !question.keywords.contains(&keyword) => question.keywords.push(keyword),
                    None if !question.dropped.contains(&word) => question.dropped.push(word),
                    _ => {}
                }
            }
        }
        Ok(question)
    }
}

/// Why a document is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoDocument {
    /// A folder has its name.
    #[error("is a folder now")]
    Folder,
    /// Something else has its name that is no file, such as a pipe: reading it may never end.
    #[error("is no regular file now")]
    NoFile,
}

impl refusal::Refusal for NoDocument {}

/// What a document says itself.
#[derive(Debug)]
pub enum Read {
    /// It has all of the words.
    Has,
    /// It lacks one: it was named by chance, or changed since. Nothing tells these apart.
    Lacks,
    /// It cannot be read any more.
    Unreadable(Error),
}

/// Reads the documents of these groups, and tells which of them have all keywords of a question.
pub fn read(
    file: &Mapped,
    groups: &[usize],
    question: &Question,
    threads: usize,
    control: &Control,
) -> Result<Vec<Read>> {
    control.begin(groups.len() as u64);
    let params = file.params();
    // All words of the document, also where the index has the most frequent alone.
    let recipe = params.common.recipe.with_all_keywords();
    parallel::each(threads, groups.len(), |at| {
        control.check()?;
        let path = path_of(&params.groups[groups[at]].group.0);
        let found = read_one(&path, &recipe, question, control);
        control.advance(1);
        Ok(match found {
            Ok(true) => Read::Has,
            Ok(false) => Read::Lacks,
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => Read::Unreadable(error),
        })
    })
}

/// The file that a group is the name of.
fn path_of(name: &[u8]) -> PathBuf {
    #[cfg(unix)]
    let name: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(name);
    #[cfg(not(unix))]
    let name = String::from_utf8_lossy(name).into_owned();
    PathBuf::from(name)
}

fn read_one(path: &Path, recipe: &Recipe, question: &Question, control: &Control) -> Result<bool> {
    if !remote::is_remote(path) {
        let there = path.metadata().map_err(Error::io(path))?;
        if !there.is_file() {
            let why = if there.is_dir() { NoDocument::Folder } else { NoDocument::NoFile };
            return Err(Error::input(path, why));
        }
    }
    let sources = Sources::of(vec![(path.to_owned(), None)], &Options::default(), &recipe.key_columns())?;
    let looking = Looking { maker: Maker::new(recipe), question, has: false };
    // Its own progress is not that of the documents.
    let quiet = Control::default();
    control.check()?;
    Ok(sources.scan_dyn(vec![looking], &quiet)?.iter().any(|looking| looking.has))
}

/// Looks for keywords in the record of a document.
struct Looking<'a> {
    maker: Maker<'a>,
    question: &'a Question,
    has: bool,
}

impl Sink for Looking<'_> {
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        match self.maker.record(values) {
            Ok(record) => {
                let words: BTreeSet<&[u8]> = keywords_of(record).collect();
                self.has = self.question.keywords.iter().all(|keyword| words.contains(&keyword[..]));
                Ok(())
            }
            // It has lost all of its words.
            Err(BadValue::NoKeywords) => Ok(()),
            Err(why) => Err(Unusable::new(Keyless::Key(why), values).into()),
        }
    }
}
