use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tamis::key::Column;
use tamis::params::{Name, Params};
use tamis_make::{files, groups, parallel};
use tamis_read::file_name;

use super::inspect;
use crate::show::Output;
use crate::{notes, progress};

/// Drop groups from a file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis remove-group hosts.tamis logs/2025-11-17.log     a file that is gone from an index by file
  tamis remove-group ratings.tamis 1 2

The file is replaced whole: a failure leaves it unchanged. A file of exact keys beside it (build --exact) loses \
the keys of these groups, too. To remove single keys, see tamis remove.")]
pub struct RemoveGroup {
    /// The file of filters or counts
    pub(super) file: PathBuf,
    /// The names of the groups
    #[arg(required = true)]
    groups: Vec<OsString>,
}

impl RemoveGroup {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        super::Named::outputs([&self.file])
    }

    /// Drops them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let file = files::open_as_is(&self.file)?;
        // A file has one name in an index, however its folder is written.
        let named = |name: &OsString| match file.params().find(name.as_encoded_bytes()) {
            None if is_by_file(file.params()) => Name(file_name(Path::new(name))),
            _ => Name(name.as_encoded_bytes().to_vec()),
        };
        let names: Vec<Name> = self.groups.iter().map(named).collect();
        drop(file);
        let left = progress::run(output, "dropping groups", |control| {
            groups::drop_groups(&self.file, &names, parallel::default_threads(), control)
        })?;
        notes::exact(output, &self.file, left.exact);
        inspect::written(output, &self.file)
    }
}

/// Whether the groups are the names of files.
fn is_by_file(params: &Params) -> bool {
    let group = params.common.recipe.group.as_ref();
    group.is_some_and(|field| field.column == Column::File && field.steps.is_empty())
}
