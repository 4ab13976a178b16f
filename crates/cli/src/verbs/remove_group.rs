use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tamis::params::Name;
use tamis_make::{groups, parallel};

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
    file: PathBuf,
    /// The names of the groups
    #[arg(required = true)]
    groups: Vec<OsString>,
}

impl RemoveGroup {
    /// Drops them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let names: Vec<Name> =
            self.groups.iter().map(|name| Name(name.as_encoded_bytes().to_vec())).collect();
        let left = progress::run(output, "dropping groups", |control| {
            groups::drop_groups(&self.file, &names, parallel::default_threads(), control)
        })?;
        notes::exact(output, &self.file, left.exact);
        inspect::written(output, &self.file)
    }
}
