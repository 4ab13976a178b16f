//! How the records of a job are written: in one format, which the names of its outputs say.

use std::fs;
use std::path::Path;

use tamis_read::error::{Error, Result};
use tamis_read::parquet::Codec;
use tamis_read::refusal::{self, Help};
use tamis_read::{Form, Format, Sources, extension};

use crate::destination::Destination;
use crate::names::{self, Content};
use crate::opt;

/// Where records go, and what was said of their format.
#[derive(Debug, Clone, Copy)]
pub struct Written<'a> {
    /// The file for the records that pass.
    pub output: &'a Destination,
    /// Where the others go.
    pub rejected: Option<&'a Path>,
    /// The format that was asked for.
    pub format: Option<Format>,
    /// How pages of Parquet are compressed.
    pub codec: Option<Codec>,
}

/// Why records are not written so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Parquet to standard output.
    #[error("Parquet cannot go to standard output")]
    Stdout,
    /// Parquet to a pipe or a device.
    #[error("is not a regular file, and Parquet goes to one")]
    NotAFile,
    /// A compression of pages, of which there are none.
    #[error("only Parquet has a compression of its own, and {0} would be written")]
    Compression(&'static str),
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::Stdout => vec![Help::give(opt::OUTPUT.with("FILE.parquet"))],
            Refusal::NotAFile => vec![Help::Do("name another output")],
            Refusal::Compression(_) => {
                vec![Help::leave_out(opt::COMPRESSION), Help::Do("name an output that ends in .gz or .zst")]
            }
        }
    }
}

impl Written<'_> {
    /// How the records of these inputs are written. Nothing is written yet.
    ///
    /// The format is the one that was asked for, or what the name of the output says, as far as these records can
    /// become that; then each name must say the same, or nothing.
    pub fn form(&self, sources: &mut Sources) -> Result<Form> {
        let own = sources.format();
        let name = match self.output {
            Destination::Nowhere => self.rejected,
            output => output.path(),
        };
        let said = name.and_then(Format::of_name);
        // Text stays what it is, or becomes Parquet.
        let said = said.filter(|said| own == Some(Format::Parquet) || *said == Format::Parquet);
        let mut form = sources.form(self.format.or(said))?;
        if form.format == Format::Parquet && *self.output == Destination::Stdout {
            return Err(Refusal::Stdout.into());
        }
        for path in [self.output.path(), self.rejected].into_iter().flatten() {
            // Text that stays as it is may be called what it was called, unless it would replace a file of ours.
            let as_before = || {
                let first = sources.explain().into_iter().next();
                !names::is_ours(path) && first.is_some_and(|input| same_ending(&input.path, path))
            };
            let kept = own == Some(form.format)
                && matches!(form.format, Format::Lines | Format::Csv | Format::Tsv | Format::Log);
            if !(kept && as_before()) {
                Content::Records(form.format).check(path)?;
            }
            if form.format == Format::Parquet
                && fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
            {
                return Err(Error::input(path, Refusal::NotAFile));
            }
        }
        match (&mut form.schema, self.codec) {
            (Some(schema), Some(codec)) => schema.codec = codec,
            (None, Some(_)) => return Err(Refusal::Compression(form.format.name()).into()),
            _ => {}
        }
        Ok(form)
    }
}

fn same_ending(one: &Path, other: &Path) -> bool {
    !extension(one).is_empty() && extension(one) == extension(other)
}
