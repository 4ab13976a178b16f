//! What a file that is asked says of the text that it is asked about.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tamis_jobs::request;
use tamis_make::files::Mapped;
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
    /// Of a file that cannot say how its own text was read.
    watch: Option<Watch>,
}

impl Asked {
    /// Of this file; says where what is given contradicts it.
    pub fn of(output: &Output, path: &Path, file: &Mapped, given: request::Reading) -> Result<Asked> {
        let silent = file.version() == 1 && given.quotes.is_none();
        let request::Beside { reading, taken, contradicted } =
            given.beside(&file.about().dialect).map_err(wrong)?;
        for (recorded, given) in &contradicted {
            let (path, recorded, given) = (path.display(), said(recorded), said(given));
            output.warn(format!("{path} was made with {recorded}, and this is read with {given}"));
        }
        Ok(Asked { path: path.into(), reading, taken, watch: silent.then(Watch::default) })
    }

    /// Of nothing: no file is asked.
    pub fn nothing(given: request::Reading) -> Asked {
        Asked { path: PathBuf::new(), reading: given, taken: Vec::new(), watch: None }
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
        notes::inputs(output, inputs(&report));
        Ok(report)
    }

    /// Says what should be known of a job that has ended, well or not.
    pub fn done<T>(&self, output: &Output, result: Result<T>) -> Result<T> {
        let path = self.path.display();
        if result.is_err() && !self.taken.is_empty() {
            let taken: Vec<String> = self.taken.iter().map(said).collect();
            output.note(format!("text was read as {path} records, with {}", taken.join(" ")));
        }
        let saw = |quotes| self.watch.as_ref().is_some_and(|watch| watch.saw(quotes));
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
