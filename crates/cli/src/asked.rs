//! What a file that is asked says of the text that it is asked about.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;
use tamis_jobs::request;
use tamis_make::files::Mapped;
use tamis_make::number;
use tamis_make::opt;
use tamis_read::refusal::{Given, Voice};
use tamis_read::{Control, Explained, Options, Quotes, Watch};

use crate::show::{Output, wrong};
use crate::words::Flags;
use crate::{notes, progress};

/// A file that is asked, and what is to be said of how text is read then.
pub struct Asked {
    path: PathBuf,
    /// How the text is read: as is given and, where nothing is, as the file records.
    pub reading: request::Reading,
    taken: Vec<Given>,
    given: request::Reading,
    /// Of a file that cannot say how its own text was read, or that says that quotes mean nothing.
    watch: Option<Watch>,
}

impl Asked {
    /// Of this file; says where what is given contradicts it.
    pub fn of(output: &Output, path: &Path, file: &Mapped, given: request::Reading) -> Result<Asked> {
        let silent = file.version() == 1 && given.quotes.is_none();
        let request::Beside { reading, taken, contradicted } =
            given.beside(&file.about().dialect).map_err(wrong)?;
        for (recorded, instead) in &contradicted {
            let (path, recorded, instead) = (path.display(), said(recorded), said(instead));
            output.warn(format!("{path} was made with {recorded}, and this is read with {instead}"));
        }
        let watched = silent || taken.contains(&opt::QUOTES.with(Quotes::None.name()));
        Ok(Asked { path: path.into(), reading, taken, given, watch: watched.then(Watch::default) })
    }

    /// Of nothing: no file is asked.
    pub fn nothing(given: request::Reading) -> Asked {
        Asked { path: PathBuf::new(), reading: given.clone(), taken: Vec::new(), given, watch: None }
    }

    /// Reads by these options so that what is to be said is found.
    pub fn watch(&self, options: &mut Options) {
        options.watch.clone_from(&self.watch);
    }

    /// Runs a job on the text, and says what should be known of it, also of how its inputs were understood.
    pub fn run<T>(
        &self,
        output: &Output,
        doing: &'static str,
        job: impl FnOnce(&Control) -> tamis_read::Result<T>,
        inputs: impl FnOnce(&T) -> &[Explained],
    ) -> Result<T> {
        let report = self.done(output, progress::run(output, doing, job))?;
        self.inputs(output, inputs(&report));
        Ok(report)
    }

    /// The same of a job that ran on Spark, which tells how quotes were read where its driver saw some.
    pub fn told(&self, output: &Output, told: Value) -> Result<Value> {
        let quoted = told["quoted"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for quotes in quoted.filter_map(|name| Quotes::ALL.into_iter().find(|quotes| quotes.name() == name)) {
            self.watch.iter().for_each(|watch| watch.see(quotes));
        }
        self.done(output, Ok(told))
    }

    /// Says what should be known of these inputs.
    pub fn inputs(&self, output: &Output, inputs: &[Explained]) {
        notes::inputs(output, &self.given, inputs);
        let mut unnamed = inputs.iter().filter(|input| input.table && !input.header);
        if let Some(input) = unnamed.next().filter(|_| self.taken.contains(&opt::NO_HEADER.into())) {
            output.note(format!(
                "{}{} read without a header, as {} records; --with-header reads the first line as names",
                input.path.display(),
                match unnamed.count() {
                    0 => " was".to_owned(),
                    more => format!(" and {} were", number::counted(more as u64, "other input")),
                },
                self.path.display()
            ));
        }
    }

    /// Says what should be known of a job that has ended, well or not.
    pub fn done<T>(&self, output: &Output, result: Result<T>) -> Result<T> {
        let path = self.path.display();
        if result.is_err() && !self.taken.is_empty() {
            let taken: Vec<String> = self.taken.iter().map(said).collect();
            output.note(format!("text was read as {path} records, with {}", taken.join(" ")));
        }
        let saw = |quotes| self.watch.as_ref().is_some_and(|watch| watch.saw(quotes));
        if self.reading.quotes == Some(Quotes::None) && saw(Quotes::None) {
            output.note(format!(
                "a field begins with a quote, and quotes are ordinary characters here, as {path} records; \
                 --quotes csv reads them as quotes"
            ));
            return result;
        }
        let way = if saw(Quotes::None) {
            "in TSV quotes are ordinary characters now; --quotes csv reads as before"
        } else if saw(Quotes::Log) {
            "where blanks separate, a quoted field ends in its line now; --quotes csv reads as before"
        } else if saw(Quotes::Csv) {
            "in CSV text after a closing quote makes a bad row now, and all else is as before; --quotes csv \
             says that this is meant"
        } else {
            return result;
        };
        output.note(format!(
            "a field begins with a quote, and {path} (version 1) does not say how quotes were read when it was \
             made: {way}"
        ));
        result
    }
}

fn said(given: &Given) -> String {
    match &given.value {
        Some(value) => Flags.with(given.option, value),
        None => Flags.option(given.option),
    }
}
