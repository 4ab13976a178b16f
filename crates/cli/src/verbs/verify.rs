use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use tamis_engine::report::number;
use tamis_engine::{merge, parallel};

use super::inspect::counted_groups;
use crate::progress;
use crate::show::Output;

/// Check every checksum of a file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis verify ratings.tamis && echo sound

Exit code 1 if any part is damaged.")]
pub struct Verify {
    /// The file
    file: PathBuf,
}

impl Verify {
    /// Checks it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let (groups, bytes) = progress::run(output, "verifying", |control| {
            merge::verify(&self.file, parallel::default_threads(), control)
        })?;
        let (path, size) = (self.file.display(), number::bytes(bytes));
        let text = format!("{path}: sound ({}, {size} of filters)\n", counted_groups(groups));
        output.result(text, json!({ "path": self.file, "sound": true, "groups": groups, "bytes": bytes }))?;
        Ok(ExitCode::SUCCESS)
    }
}
