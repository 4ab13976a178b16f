use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tamis::key::Recipe;
use tamis_make::files::{self, Mapped};
use tamis_make::foreign;
use tamis_make::names::Content;
use tamis_read::Error;

use super::inspect;
use crate::foreign::{OfOthers, To};
use crate::show::Output;

/// Move a filter between tamis and other systems: the same bits in another file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis convert users.bin --to tamis -o users.tamis                  recognised; keys are asked as text
  tamis convert ids.bin --funnel long --to tamis -o ids.tamis        keys are numbers of 64 bits there
  tamis convert hashlookup.bloom --funnel upper --to tamis -o h.tamis
  tamis convert users.tamis --to guava -o users.bin                  back, bit for bit
  tamis convert week.tamis --group 8 --to spark -o eight.bin         one group of several

A filter can be written for another system if its keys are placed as that system places them: because it came from \
there, or because it was built so (tamis build --to spark, or --hash spark-v2). No conversion moves keys: a filter \
does not know them. Other systems do not record how keys were made from values; a note says what they must do \
likewise.")]
pub struct Convert {
    /// The file of filters
    pub(super) file: PathBuf,
    /// What to write: tamis, or spark, guava, hadoop, dcso, datasketches, redis
    #[arg(long, value_parser = To::parse, value_name = "FORMAT")]
    to: To,
    /// The file to write
    #[arg(long, short)]
    output: PathBuf,
    /// Write this group
    #[arg(long, value_name = "NAME")]
    group: Option<OsString>,
    #[command(flatten)]
    others: OfOthers,
}

impl Convert {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        super::Named::outputs([&self.output]).and_inputs([&self.file])
    }

    /// Converts it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        files::check(&self.output)?;
        let (file, origin) = self.others.open(output, &self.file, &[])?;
        origin.map_or(Ok(()), |origin| origin.check_converts(&self.file))?;
        (0..file.params().groups.len())
            .try_for_each(|at| file.verify(at))
            .map_err(Error::file(&self.file))?;
        match self.to {
            To::Tamis => {
                Content::Sketches.check(&self.output)?;
                files::write_whole(&self.output, |out| out.write_all(file.bytes()))?;
                inspect::written(output, &self.output)
            }
            To::Other(target) => {
                let group = super::group_at(&self.file, &file, self.group.as_deref())?;
                let filter = foreign::filter_of(&file, group, target)
                    .map_err(|refusal| Error::input(&self.file, refusal))?;
                write(output, &file, &filter, &self.output)
            }
        }
    }
}

/// Writes a filter of a file for another system, and says what its file does not record.
pub(super) fn write(
    output: &Output,
    file: &Mapped,
    filter: &tamis_formats::Filter<'_>,
    to: &Path,
) -> Result<ExitCode> {
    foreign::write(to, filter)?;
    let recipe = &file.params().common.recipe;
    if recipe.key.iter().any(|field| !field.steps.is_empty()) {
        let keys = Recipe { key: recipe.key.clone(), ..Recipe::lines() };
        output.note(format!("{} does not record how keys are made: {keys}", to.display()));
    }
    inspect::written(output, to)
}
