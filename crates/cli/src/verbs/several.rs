//! Keys that are asked of several files.

use std::io::{self, BufWriter, StdoutLock, Write};

use anyhow::Result;
use serde_json::{Value, json};
use tamis::params::Name;
use tamis_jobs::query::Asker;
use tamis_make::files::Mapped;
use tamis_make::text::{listed_name, printable};

use crate::show::{self, unless_closed};

/// Several files, and the answers that they give.
pub(super) struct Several<'f> {
    askers: Vec<(&'f Name, bool, Asker<'f>)>,
    out: BufWriter<StdoutLock<'static>>,
    json: bool,
    first: bool,
    /// Whether any key was found, and whether any could not be asked.
    any: bool,
    bad: bool,
}

impl<'f> Several<'f> {
    /// Asks these, each by its name.
    pub(super) fn new(files: &'f [(Name, Mapped)], json: bool) -> Result<Several<'f>> {
        let asker = |(name, file): &'f (Name, Mapped)| {
            Ok((name, file.params().common.recipe.group.is_some(), Asker::new(file)?))
        };
        let askers = files.iter().map(asker).collect::<Result<_>>()?;
        let out = BufWriter::new(io::stdout().lock());
        Ok(Several { askers, out, json, first: true, any: false, bad: false })
    }

    /// Writes which files may have a key; whether there is still a reader. A key that one of the files cannot be asked
    /// for (a text where it has numbers) is not in that one.
    pub(super) fn answer(&mut self, key: &[u8]) -> Result<bool> {
        let (mut names, mut objects): (Vec<String>, Vec<Value>) = (Vec::new(), Vec::new());
        for (name, grouped, asker) in &mut self.askers {
            match asker.ask(key) {
                Ok(groups) if groups.is_empty() => {}
                Ok(groups) if *grouped => {
                    names.push(listed_name(&name.0));
                    objects.push(json!({ "name": name, "groups": groups }));
                }
                Ok(_) => {
                    names.push(listed_name(&name.0));
                    objects.push(json!({ "name": name }));
                }
                Err(bad) => {
                    show::error(format!("key {:?}: {name}: {bad}", String::from_utf8_lossy(key)));
                    self.bad = true;
                }
            }
        }
        self.any |= !names.is_empty();
        let written = match self.json {
            true => {
                let before = if self.first { "[\n" } else { ",\n" };
                let answer =
                    json!({ "key": Name(key.to_vec()), "found": !names.is_empty(), "files": objects });
                write!(self.out, "{before}{answer}")
            }
            false => writeln!(self.out, "{}\t{}", printable(key), names.join(",")),
        };
        self.first = false;
        Ok(unless_closed(written)?)
    }

    /// Ends the answers: whether any key was found, and whether any could not be asked.
    pub(super) fn finish(mut self) -> Result<(bool, bool)> {
        if self.json {
            unless_closed(self.out.write_all(if self.first { b"[]\n" } else { b"\n]\n" }))?;
        }
        unless_closed(self.out.flush())?;
        Ok((self.any, self.bad))
    }
}
