//! Filters of other systems: what is said of them on the command line, and opening them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use tamis::key::{Field, Step};
use tamis::params::Name;
use tamis_formats::Layout;
use tamis_make::files::Mapped;
use tamis_make::foreign::{self, Origin, Said, Target};
use tamis_make::number;

use crate::arguments::one_of;
use crate::show::{Output, usage};

/// What a filter of another system does not say of itself.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Filters of other systems")]
pub struct OfOthers {
    /// Whose file it is, where that is not recognised
    #[arg(long = "as", value_parser = one_of(Layout::ALL, Layout::name), value_name = "FORMAT")]
    layout: Option<Layout>,
    /// What its keys are there: utf8 or bytes (as they are), utf16, int, long; or the steps that they went
    /// through, as in a recipe: upper; long,xxhash64
    #[arg(long, value_parser = funnel, value_name = "TYPE")]
    funnel: Option<Funnel>,
}

/// The steps of a funnel. (A list of its own, for clap takes a bare one for several values.)
#[derive(Debug, Clone, PartialEq, Eq)]
struct Funnel(Vec<Step>);

fn funnel(text: &str) -> Result<Funnel, String> {
    foreign::funnel(text).map(Funnel)
}

impl OfOthers {
    /// What is said; also by the steps of the one key that is asked.
    pub fn said_at(&self, keys: &[Field]) -> Said {
        let mut said = self.said();
        if let (None, [key]) = (&self.funnel, keys) {
            said.at_key.clone_from(&key.steps);
        }
        said
    }

    fn said(&self) -> Said {
        let steps = self.funnel.clone().map(|funnel| funnel.0).unwrap_or_default();
        Said { layout: self.layout, steps, ..Said::default() }
    }

    /// What is said of a file that is one of several: those of ours say themselves what others do not.
    pub fn said_of_several(&self, keys: &[Field]) -> Said {
        Said { of_several: true, ..self.said_at(keys) }
    }

    /// Opens a file of filters, ours or of another system; says what is not in a file of the latter. `keys` may have
    /// steps of their own, which say of what type they are.
    pub fn open(&self, output: &Output, path: &Path, keys: &[Field]) -> Result<(Mapped, Option<Origin>)> {
        self.open_as(output, path, &self.said_at(keys), keys)
    }

    /// The same of one of several files.
    pub fn open_one(&self, output: &Output, path: &Path, keys: &[Field]) -> Result<(Mapped, Option<Origin>)> {
        self.open_as(output, path, &self.said_of_several(keys), keys)
    }

    fn open_as(
        &self,
        output: &Output,
        path: &Path,
        said: &Said,
        keys: &[Field],
    ) -> Result<(Mapped, Option<Origin>)> {
        let (file, origin) = foreign::open_to_ask(path, said)?;
        if let Some(origin) = &origin {
            let said = self.funnel.is_some() || keys.iter().any(|field| !field.steps.is_empty());
            say(output, path, origin, said);
        }
        Ok((file, origin))
    }

    /// The same of a file of which no keys are asked.
    pub fn open_as_is(&self, path: &Path) -> Result<(Mapped, Option<Origin>)> {
        Ok(foreign::open_said(path, &self.said())?)
    }
}

/// A file that is asked besides the first, with the name by which it is told from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Also {
    pub name: Name,
    pub path: PathBuf,
}

impl Also {
    /// Reads `NAME=FILE`, or `FILE`, whose name is that of the file without its end.
    pub fn parse(text: OsString) -> Result<Also, String> {
        let bytes = text.as_encoded_bytes();
        let parts = bytes.iter().position(|byte| *byte == b'=').map(|at| (&bytes[..at], &bytes[at + 1..]));
        match parts {
            Some((name, path)) if !name.is_empty() && !path.is_empty() && !name.contains(&b'/') => {
                let path = std::str::from_utf8(path).map_err(|_| "a name that is not UTF-8 stands alone")?;
                Ok(Also { name: Name(name.to_vec()), path: path.into() })
            }
            _ => Ok(Also { name: name_of(Path::new(&text)), path: text.into() }),
        }
    }

    /// That no two of several files have one name.
    pub fn check(first: &Path, also: &[Also]) -> Result<()> {
        let mut names = vec![name_of(first)];
        for Also { name, .. } in also {
            if names.contains(name) {
                return usage(format!(
                    "two files are called {name}: --also NAME=FILE gives one of them another name"
                ));
            }
            names.push(name.clone());
        }
        Ok(())
    }
}

/// What a file is called among others: its name without the end.
pub fn name_of(path: &Path) -> Name {
    let name = path.file_stem().unwrap_or(path.as_os_str());
    Name(name.as_encoded_bytes().to_vec())
}

/// Says what nobody can see in a file.
fn say(output: &Output, path: &Path, origin: &Origin, type_is_said: bool) {
    let (path, what) = (path.display(), origin.layout.title());
    if origin.layout.leaves_type_open() && !type_is_said {
        output.note(format!(
            "{path} is {what}, which does not say of what type its keys are: they are asked as text (--funnel long, \
             int or utf16 asks for others)"
        ));
    }
    if origin.beyond > 0 {
        output.note(format!(
            "{path}: {} of its user after the filter are left out",
            number::bytes(origin.beyond)
        ));
    }
}

/// Refuses to take a filter of another system where others must open it, too.
pub fn refuse_elsewhere(path: &Path, origin: Option<&Origin>) -> Result<()> {
    match origin {
        Some(origin) => usage(format!(
            "{}: {} is asked on one machine; tamis convert --to tamis makes a file of it that Spark can ask",
            path.display(),
            origin.layout.title()
        )),
        None => Ok(()),
    }
}

/// What `--to` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// A file of ours.
    Tamis,
    /// One of another system.
    Other(Target),
}

impl To {
    /// Reads a name.
    pub fn parse(text: &str) -> Result<To, String> {
        if text == "tamis" {
            return Ok(To::Tamis);
        }
        Target::named(text).map(To::Other)
    }
}

#[cfg(test)]
mod tests {
    use tamis::hash::Foreign;

    use super::*;

    #[test]
    fn targets_are_layouts_and_schemes_by_their_names() {
        assert_eq!(To::parse("tamis"), Ok(To::Tamis));
        assert_eq!(To::parse("guava"), Ok(To::Other(Target::Layout(Layout::Guava))));
        assert_eq!(To::parse("guava-32"), Ok(To::Other(Target::Scheme(Foreign::Guava32))));
        let none = To::parse("parquet").unwrap_err();
        assert!(none.contains("tamis, datasketches, dcso, guava, guava-32"), "{none}");
    }

    #[test]
    fn one_of_several_files_has_a_name_of_its_own_or_that_of_its_file() {
        let parsed = |text: &str| Also::parse(text.into()).map(|also| (also.name.to_string(), also.path));
        assert_eq!(parsed("lists/bad.bloom"), Ok(("bad".into(), "lists/bad.bloom".into())));
        assert_eq!(parsed("worst=lists/bad.bloom"), Ok(("worst".into(), "lists/bad.bloom".into())));
        assert_eq!(parsed("lists/day=1/bad.bloom"), Ok(("bad".into(), "lists/day=1/bad.bloom".into())));
        let also = [Also::parse("b/ids.bin".into()).unwrap()];
        assert!(Also::check(Path::new("a/ids.tamis"), &also).is_err());
    }

    #[test]
    fn a_funnel_is_a_type_or_steps() {
        assert_eq!(funnel("utf8"), Ok(Funnel(vec![])));
        assert_eq!(funnel("long,xxhash64"), Ok(Funnel(vec![Step::Long, Step::Xxhash64])));
        assert!(funnel("longs").is_err());
        assert!(funnel("long,upper").is_err());
    }
}
