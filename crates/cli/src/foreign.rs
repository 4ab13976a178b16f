//! Filters of other systems: what is said of them on the command line, and opening them.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use tamis::hash::Foreign;
use tamis::key::{Field, Step};
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
    if matches!(text, "utf8" | "bytes") {
        return Ok(Funnel(Vec::new()));
    }
    format!(":{text}").parse::<Field>().map(|field| Funnel(field.steps)).map_err(|error| error.to_string())
}

impl OfOthers {
    fn said(&self) -> Said {
        let steps = self.funnel.clone().map(|funnel| funnel.0).unwrap_or_default();
        Said { layout: self.layout, steps }
    }

    /// Opens a file of filters, ours or of another system; says what is not in a file of the latter. `keys` may have
    /// steps of their own, which say of what type they are.
    pub fn open(&self, output: &Output, path: &Path, keys: &[Field]) -> Result<(Mapped, Option<Origin>)> {
        let (file, origin) = foreign::open_to_ask(path, &self.said())?;
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
        let layouts = Layout::ALL.into_iter().filter(|layout| *layout != Layout::HadoopCounting);
        let mut targets = layouts
            .map(Target::Layout)
            .chain(Foreign::ALL.into_iter().map(Target::Scheme))
            .collect::<Vec<_>>();
        targets.dedup_by_key(|target| target.name());
        match targets.iter().find(|target| target.name() == text) {
            Some(target) => Ok(To::Other(*target)),
            None => {
                let mut names: Vec<&str> = targets.iter().map(|target| target.name()).collect();
                names.sort_unstable();
                names.dedup();
                Err(format!("there is tamis, {}", names.join(", ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
    fn a_funnel_is_a_type_or_steps() {
        assert_eq!(funnel("utf8"), Ok(Funnel(vec![])));
        assert_eq!(funnel("long,xxhash64"), Ok(Funnel(vec![Step::Long, Step::Xxhash64])));
        assert!(funnel("longs").is_err());
        assert!(funnel("long,upper").is_err());
    }
}
