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

Keys beside it (FILE.keys, of build --exact) are checked, too, and that they belong to this file.

Exit code 1 if any part is damaged. With --json: an object with `sound`, true or false, and `damage`, a \
list of what is wrong with which file.")]
pub struct Verify {
    /// The file
    pub(super) file: PathBuf,
}

impl Verify {
    /// Checks it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let found = progress::run(output, "verifying", |control| {
            verify::verify(&self.file, parallel::default_threads(), control)
        });
        let (found, damage): (_, Vec<String>) = match found {
            Ok(found) => {
                let mut damage: Vec<String> = found.damage.iter().map(|what| self.of_file(what)).collect();
                damage
                    .extend(found.keys.iter().filter_map(|keys| Some(in_words(keys.found.as_ref().err()?))));
                (Some(found), damage)
            }
            Err(error) => match error.downcast() {
                Ok(error @ Error::File { source: tamis::Error::HashKey { .. }, .. }) => {
                    return Err(error.into());
                }
                // That it is no file of filters, or none any more, is an answer too.
                Ok(error @ (Error::File { .. } | Error::Input { .. })) => (None, vec![in_words(&error)]),
                Ok(error) => return Err(error.into()),
                Err(error) => return Err(error),
            },
        };
        damage.iter().take(SHOWN).for_each(show::error);
        if let Some(more @ 1..) = damage.len().checked_sub(SHOWN) {
            show::error(format!("and {} more filters are damaged", number::count(more as u64)));
        }
        let keys = found.as_ref().and_then(|found| found.keys.as_ref());
        let pairs = keys.and_then(|keys| keys.found.as_ref().ok());
        let text = match &found {
            Some(found) if damage.is_empty() => format!(
                "{}: sound ({}, {} of filters{})\n",
                self.file.display(),
                number::counted(found.groups as u64, "group"),
                number::bytes(found.bytes),
                pairs
                    .map_or(String::new(), |pairs| format!(", {} beside it", number::counted(*pairs, "key"))),
            ),
            _ => String::new(),
        };
        let sound = damage.is_empty();
        let json = json!({
            "path": self.file,
            "sound": sound,
            "groups": found.as_ref().map(|found| found.groups),
            "bytes": found.as_ref().map(|found| found.bytes),
            "keys": pairs,
            "damage": damage,
        });
        output.result(text, json)?;
        Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// What is wrong with a part of the file.
    fn of_file(&self, what: &tamis::Error) -> String {
        format!("{}: {what}", self.file.display())
    }
}

/// What is wrong with which file.
fn in_words(error: &Error) -> String {
    match error {
        Error::Input { path, why } => format!("{}: {}", path.display(), say(&**why, &Flags)),
        error => error.to_string(),
    }
}
