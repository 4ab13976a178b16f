use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use tamis_jobs::verify;
use tamis_make::{number, parallel};
use tamis_read::Error;
use tamis_read::refusal::say;

use crate::progress;
use crate::show::{self, Output};
use crate::words::Flags;

/// How many damaged filters are named one by one.
const SHOWN: usize = 20;

/// Check every checksum of a file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis verify ratings.tamis && echo sound

Exit code 1 if any part is damaged. With --json: an object with `sound`, true or false, and `damage`, a \
list of what is wrong.")]
pub struct Verify {
    /// The file
    file: PathBuf,
}

impl Verify {
    /// Checks it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let found = progress::run(output, "verifying", |control| {
            verify::verify(&self.file, parallel::default_threads(), control)
        });
        let (groups, bytes, damage): (_, _, Vec<String>) = match found {
            Ok(found) => {
                let damage = found.damage.iter().map(ToString::to_string).collect();
                (Some(found.groups), Some(found.bytes), damage)
            }
            Err(error) => match error.downcast() {
                // That it is no file of filters, or none any more, is an answer too.
                Ok(Error::File { source, .. }) => (None, None, vec![source.to_string()]),
                Ok(Error::Input { why, .. }) => (None, None, vec![say(&*why, &Flags)]),
                Ok(error) => return Err(error.into()),
                Err(error) => return Err(error),
            },
        };
        let mut lines = damage.iter().map(|what| format!("{}: {what}", self.file.display()));
        lines.by_ref().take(SHOWN).for_each(show::error);
        if lines.len() > 0 {
            show::error(format!("and {} more filters are damaged", number::count(lines.len() as u64)));
        }
        let text = match (groups, bytes) {
            (Some(groups), Some(bytes)) if damage.is_empty() => format!(
                "{}: sound ({}, {} of filters)\n",
                self.file.display(),
                number::counted(groups as u64, "group"),
                number::bytes(bytes)
            ),
            _ => String::new(),
        };
        let sound = damage.is_empty();
        let json = json!({
            "path": self.file, "sound": sound, "groups": groups, "bytes": bytes, "damage": damage,
        });
        output.result(text, json)?;
        Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
