//! One file per verb: its arguments, and how they become a job.

mod add;
mod build;
mod compare;
mod completions;
mod convert;
mod counters;
mod dedup;
mod demo;
mod explain;
mod filter;
mod generate;
mod inner_product;
mod inspect;
mod locate;
mod merge;
mod parquet;
mod plan;
mod query;
mod remove;
mod remove_group;
mod reproduce;
mod scale;
mod search;
mod several;
mod stream;
mod test;
mod top;
mod understood;
mod verify;
mod windows;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Command, Subcommand};
use tamis::params::Name;
use tamis_make::files::{self, Mapped};
use tamis_make::{groups, pipe, place};
use tamis_read::{Error, Sources};

use crate::arguments::Reading;
use crate::foreign::Also;
use crate::interrupt::Manner;
use crate::show::{Output, usage, wrong};

/// Verbs by their names.
macro_rules! verbs {
    ($($name:literal $verb:ident($arguments:ty),)*) => {
        /// What tamis can do.
        #[derive(Debug, Subcommand)]
        pub enum Verb {
            $(#[command(name = $name)] $verb($arguments),)*
        }

        /// Each verb, and what makes its arguments known.
        const EACH: &[(&str, fn(Command) -> Command)] = &[$(($name, <$arguments as Args>::augment_args)),*];
    };
}

verbs! {
    "demo" Demo(demo::Demo),
    "generate" Generate(generate::Generate),
    "explain" Explain(explain::Explain),
    "plan" Plan(plan::Plan),
    "build" Build(build::Build),
    "add" Add(add::Add),
    "remove" Remove(remove::Remove),
    "remove-group" RemoveGroup(remove_group::RemoveGroup),
    "merge" Merge(merge::Merge),
    "test" Test(test::Test),
    "query" Query(query::Query),
    "locate" Locate(locate::Locate),
    "search" Search(search::Search),
    "top" Top(top::Top),
    "inner-product" InnerProduct(inner_product::InnerProduct),
    "filter" Filter(filter::Filter),
    "dedup" Dedup(dedup::Dedup),
    // By far the largest.
    "stream" Stream(Box<stream::Stream>),
    "inspect" Inspect(inspect::Inspect),
    "compare" Compare(compare::Compare),
    "convert" Convert(convert::Convert),
    "verify" Verify(verify::Verify),
    "parquet" Parquet(parquet::Parquet),
    "reproduce" Reproduce(reproduce::Reproduce),
    "completions" Completions(completions::Completions),
}

/// In place of [`Verb`], none.
#[derive(Debug, Subcommand)]
pub enum NoVerb {}

/// The verbs whose names are among these words.
pub fn among(words: &[OsString]) -> impl Iterator<Item = Command> {
    let named = EACH.iter().filter(|(name, _)| words.iter().any(|word| word == name));
    named.map(|(name, with_arguments)| with_arguments(Command::new(*name)))
}

/// The files that the arguments of a verb name, where no job compares them: jobs know the tables that they
/// read, and refuse to write over them.
#[derive(Debug, Default)]
struct Named<'v> {
    /// Files that are written.
    outputs: Vec<&'v Path>,
    /// Files that are read, by their names.
    inputs: Vec<&'v Path>,
    /// Tables: files, globs, folders.
    tables: &'v [String],
}

impl<'v> Named<'v> {
    fn outputs(outputs: impl IntoIterator<Item = &'v PathBuf>) -> Named<'v> {
        Named { outputs: outputs.into_iter().map(PathBuf::as_path).collect(), ..Named::default() }
    }

    fn and_inputs(mut self, inputs: impl IntoIterator<Item = &'v PathBuf>) -> Named<'v> {
        self.inputs.extend(inputs.into_iter().map(PathBuf::as_path));
        self
    }

    /// Among the outputs also the file for bad rows, where there is one.
    fn and_aside(mut self, reading: &'v Reading) -> Named<'v> {
        self.outputs.extend(reading.bad_rows_to.as_deref());
        self
    }

    fn and_tables(self, tables: &'v [String]) -> Named<'v> {
        Named { tables, ..self }
    }
}

/// Where the group of this name stands in a file; none where none is named.
fn group_at(path: &Path, file: &Mapped, name: Option<&OsStr>) -> Result<Option<usize>> {
    let Some(name) = name else { return Ok(None) };
    let found = groups::find(file.params(), &Name(name.as_encoded_bytes().to_vec()));
    Ok(Some(found.map_err(|refusal| Error::input(path, refusal))?))
}

impl Verb {
    /// Refuses outputs that are read as well, or are one file, before anything is opened; these are
    /// read whatever the verb is.
    pub fn check_files(&self, given: &[(&str, &Path)]) -> Result<()> {
        self.check_stdin()?;
        self.check_given(given)?;
        let Named { outputs, inputs, tables } = self.named();
        if outputs.is_empty() {
            return Ok(());
        }
        let tables = Sources::named(tables);
        let read: Vec<&Path> = inputs
            .into_iter()
            .chain(given.iter().map(|(_, path)| *path))
            .chain(tables.iter().map(PathBuf::as_path))
            .collect();
        let outputs = outputs.into_iter().filter(|path| *path != Path::new("-"));
        Ok(files::check_outputs(outputs.map(Some), read)?)
    }

    /// Refuses files that are given beside the verb and lie among its tables: a secret would be read as rows.
    fn check_given(&self, given: &[(&str, &Path)]) -> Result<()> {
        if given.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = self.tables().concat();
        for table in Sources::named(&names) {
            if let Some((option, path)) = given.iter().find(|(_, path)| place::is_one_file(path, &table)) {
                return usage(format!(
                    "{}: this is the file of {option}, and it is among the inputs, where it would be read as rows; \
                     keep it in another folder",
                    path.display()
                ));
            }
        }
        Ok(())
    }

    /// Refuses standard input in two places: what one reads, the other would miss.
    fn check_stdin(&self) -> Result<()> {
        let of_filters = self.filters().into_iter().filter(|path| pipe::is_stdin(path)).count();
        if of_filters == 0 {
            return Ok(());
        }
        if matches!(self, Verb::Add(_) | Verb::Remove(_) | Verb::RemoveGroup(_)) {
            return Err(wrong(pipe::Refusal::Changed));
        }
        let of_tables = self.tables().concat().iter().any(|table| table == pipe::NAME);
        let of_keys = match self {
            Verb::Query(verb) => verb.reads_stdin(),
            Verb::Locate(verb) => verb.reads_stdin(),
            _ => false,
        };
        if of_filters > 1 || of_tables || of_keys {
            return usage(
                "- (standard input) can be read only once: a file of filters comes on it, so name files for the rest",
            );
        }
        Ok(())
    }

    /// The files of filters that it reads.
    fn filters(&self) -> Vec<&Path> {
        fn several<'v>(
            file: &'v PathBuf,
            removed: Option<&'v PathBuf>,
            also: &'v [Also],
        ) -> Vec<Option<&'v PathBuf>> {
            [Some(file), removed].into_iter().chain(also.iter().map(|also| Some(&also.path))).collect()
        }
        let paths = match self {
            Verb::Build(verb) => vec![verb.like.as_ref()],
            Verb::Add(verb) => vec![Some(&verb.file)],
            Verb::Remove(verb) => vec![Some(&verb.file)],
            Verb::RemoveGroup(verb) => vec![Some(&verb.file)],
            Verb::Merge(verb) => verb.inputs.iter().map(Some).collect(),
            Verb::Test(verb) => vec![Some(&verb.file), verb.removed.as_ref()],
            Verb::Query(verb) => several(&verb.file, verb.removed.as_ref(), &verb.also),
            Verb::Locate(verb) => vec![Some(&verb.file)],
            Verb::Search(verb) => vec![Some(&verb.index)],
            Verb::InnerProduct(verb) => vec![Some(&verb.first), verb.second.as_ref()],
            Verb::Filter(verb) => several(&verb.file, verb.removed.as_ref(), &verb.also),
            Verb::Stream(verb) => vec![verb.from.as_ref()],
            Verb::Inspect(verb) => vec![Some(&verb.file)],
            Verb::Convert(verb) => vec![Some(&verb.file)],
            Verb::Compare(verb) => vec![Some(&verb.first), Some(&verb.second)],
            Verb::Verify(verb) => vec![Some(&verb.file)],
            _ => Vec::new(),
        };
        paths.into_iter().flatten().map(PathBuf::as_path).collect()
    }

    /// The tables that it reads.
    fn tables(&self) -> Vec<&[String]> {
        match self {
            Verb::Plan(verb) => vec![&verb.inputs],
            Verb::Build(verb) => vec![&verb.inputs],
            Verb::Add(verb) => vec![&verb.inputs],
            Verb::Remove(verb) => vec![&verb.inputs],
            Verb::Test(verb) => vec![&verb.inputs, &verb.negatives],
            Verb::Top(verb) => vec![&verb.inputs],
            Verb::Filter(verb) => vec![&verb.inputs],
            Verb::Dedup(verb) => vec![&verb.inputs],
            Verb::Stream(verb) => vec![&verb.train, &verb.query, &verb.remove],
            Verb::Parquet(verb) => vec![verb.tables()],
            _ => Vec::new(),
        }
    }

    fn named(&self) -> Named<'_> {
        match self {
            Verb::Generate(verb) => verb.named(),
            Verb::Explain(verb) => verb.named(),
            Verb::Plan(verb) => verb.named(),
            Verb::Build(verb) => verb.named(),
            Verb::Add(verb) => verb.named(),
            Verb::Remove(verb) => verb.named(),
            Verb::RemoveGroup(verb) => verb.named(),
            Verb::Merge(verb) => verb.named(),
            Verb::Test(verb) => verb.named(),
            Verb::Top(verb) => verb.named(),
            Verb::Filter(verb) => verb.named(),
            Verb::Dedup(verb) => verb.named(),
            Verb::Stream(verb) => verb.named(),
            Verb::Inspect(verb) => verb.named(),
            Verb::Convert(verb) => verb.named(),
            Verb::Parquet(verb) => verb.named(),
            Verb::Reproduce(verb) => verb.named(),
            Verb::Demo(_)
            | Verb::Query(_)
            | Verb::Locate(_)
            | Verb::Search(_)
            | Verb::InnerProduct(_)
            | Verb::Compare(_)
            | Verb::Verify(_)
            | Verb::Completions(_) => Named::default(),
        }
    }

    /// How it ends when it is asked to: a stream saves its state.
    pub fn manner(&self) -> Manner {
        match self {
            Verb::Stream(_) => Manner::Well,
            _ => Manner::Soon,
        }
    }

    /// Does it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        match self {
            Verb::Demo(verb) => verb.run(output),
            Verb::Generate(verb) => verb.run(output),
            Verb::Explain(verb) => verb.run(output),
            Verb::Plan(verb) => verb.run(output),
            Verb::Build(verb) => verb.run(output),
            Verb::Add(verb) => verb.run(output),
            Verb::Remove(verb) => verb.run(output),
            Verb::RemoveGroup(verb) => verb.run(output),
            Verb::Merge(verb) => verb.run(output),
            Verb::Test(verb) => verb.run(output),
            Verb::Query(verb) => verb.run(output),
            Verb::Locate(verb) => verb.run(output),
            Verb::Search(verb) => verb.run(output),
            Verb::Top(verb) => verb.run(output),
            Verb::InnerProduct(verb) => verb.run(output),
            Verb::Filter(verb) => verb.run(output),
            Verb::Dedup(verb) => verb.run(output),
            Verb::Stream(verb) => verb.run(output),
            Verb::Inspect(verb) => verb.run(output),
            Verb::Compare(verb) => verb.run(output),
            Verb::Convert(verb) => verb.run(output),
            Verb::Verify(verb) => verb.run(output),
            Verb::Parquet(verb) => verb.run(output),
            Verb::Reproduce(verb) => verb.run(output),
            Verb::Completions(_) => unreachable!("made before any verb runs"),
        }
    }
}
