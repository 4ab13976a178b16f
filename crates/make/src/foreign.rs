//! Filters of other systems as containers in memory, and back into their own layouts.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use tamis::bloom;
use tamis::format::{self, Beside, Extras};
use tamis::hash::{Foreign, Scheme};
use tamis::key::{Column, Field, Recipe, Step};
use tamis::params::{Common, GroupParams, Name, Params};
use tamis::sizing::{Kind, Shape};
use tamis::sketch::estimated_keys;
use tamis_formats::{Fault, Filter, Found, Layout, Unwritable};
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};

use crate::files::{self, Mapped};
use crate::{opt, pipe};

/// What is said of a file that does not say it itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Its layout; recognised, where nothing is said.
    pub layout: Option<Layout>,
    /// What its keys went through: the last step may be their type in the other system.
    pub steps: Vec<Step>,
}

/// What is known of a file that came from another system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Origin {
    /// Its layout.
    pub layout: Layout,
    /// Whether it records the keys and the rate that it was made for.
    pub planned: bool,
    /// Bytes of its user after the filter.
    pub beyond: u64,
}

/// Why a file of another system is not opened, or not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is one, where keys are changed.
    #[error("is {}, not a tamis file", .0.title())]
    NotOurs(Layout),
    /// It was said to be of a layout, and is not.
    #[error("is not {}: {fault}", .layout.title())]
    NotThat {
        /// As was said.
        layout: Layout,
        /// What does not fit.
        fault: Fault,
    },
    /// It begins like one, and the rest does not fit.
    #[error("begins like {}, but {fault}", .layout.title())]
    Damaged {
        /// What it begins like.
        layout: Layout,
        /// What does not fit.
        fault: Fault,
    },
    /// It is a tamis file, and was said to be another.
    #[error("is a tamis file, which says itself how its keys were made")]
    Ours,
    /// A filter whose scheme is not that of the layout.
    #[error("its keys are placed by {from}, and {to} places them otherwise: no conversion can move them")]
    Scheme {
        /// The scheme.
        from: String,
        /// The layout, or a scheme of it.
        to: &'static str,
    },
    /// A kind that other systems do not have.
    #[error("holds {0} sketches, and other systems read only classic Bloom filters")]
    Kind(Kind),
    /// Several filters, where a layout has one.
    #[error("holds {0} filters, and a file of another system holds one")]
    Groups(usize),
    /// A layout that cannot have the filter.
    #[error("{0}")]
    Unwritable(#[from] Unwritable),
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::NotOurs(_) => {
                vec![Help::DoWith("make one of it by convert", vec![opt::TO.with("tamis")])]
            }
            Refusal::Ours => vec![Help::leave_out(opt::AS), Help::leave_out(opt::FUNNEL)],
            Refusal::Scheme { .. } | Refusal::Kind(_) => {
                vec![Help::DoWith("build it again from its keys, by build", vec![opt::TO.with("FORMAT")])]
            }
            Refusal::Groups(_) => vec![Help::Give(vec![opt::GROUP.with("NAME")])],
            Refusal::NotThat { .. } | Refusal::Damaged { .. } | Refusal::Unwritable(_) => Vec::new(),
        }
    }
}

/// Opens a file of filters, ours or of another system, of which keys are asked.
pub fn open(path: &Path) -> Result<Mapped> {
    open_to_ask(path, &Said::default()).map(|(file, _)| file)
}

/// The same, of which this is said; and where it comes from, if it is of another system.
pub fn open_to_ask(path: &Path, said: &Said) -> Result<(Mapped, Option<Origin>)> {
    let (file, origin) = open_said(path, said)?;
    Ok((files::to_ask(path, file)?, origin))
}

/// The same of a file of which no keys are asked.
pub fn open_said(path: &Path, said: &Said) -> Result<(Mapped, Option<Origin>)> {
    let refused = |refusal| Error::input(path, refusal);
    let ours = |file: Result<Mapped>| match said.steps.is_empty() {
        true => file.map(|file| (file, None)),
        false => Err(refused(Refusal::Ours)),
    };
    if said.layout.is_none() && pipe::is_stdin(path) {
        return ours(files::open_as_is(path));
    }
    let map = files::mapped(path)?;
    let found = match said.layout {
        Some(layout) => layout.read(&map).map_err(|fault| refused(Refusal::NotThat { layout, fault }))?,
        None if map.starts_with(&format::MAGIC) => return ours(files::of_map(path, map)),
        None => match tamis_formats::recognise(&map) {
            Ok(Some(found)) => found,
            Err((layout, fault)) => return Err(refused(Refusal::Damaged { layout, fault })),
            Ok(None) => return Ok((files::of_map(path, map)?, None)), // which says that it is not ours
        },
    };
    let origin =
        Origin { layout: found.layout, planned: found.filter.planned.is_some(), beyond: found.beyond };
    Ok((container(found, said.steps.clone())?, Some(origin)))
}

/// The refusal of a file that is not ours, where it is known whose it is.
pub(crate) fn whose(file: &[u8]) -> Option<Refusal> {
    let found = tamis_formats::recognise(file).ok()??;
    Some(Refusal::NotOurs(found.layout))
}

/// A filter of another system as a container of ours: the same bits, with its own scheme.
fn container(found: Found, steps: Vec<Step>) -> Result<Mapped> {
    let Filter { scheme, bits, hashes, words, planned, added } = found.filter;
    let recipe = Recipe { key: vec![Field { column: Column::Line, steps }], ..Recipe::lines() };
    let common = Common { kind: Kind::Bloom, hash: Scheme::Foreign(scheme), recipe };
    let (keys, rate) = planned.unwrap_or_else(|| most_for(scheme, bits, hashes));
    let group = GroupParams::filter(Name::default(), keys, rate, Shape::Bloom { bits, hashes });
    let params = Params::new(common, vec![group])?;
    let mut arena = words.into_owned();
    arena.resize(params.layout().1, 0);
    // Where nobody counted them, the rows are as many as the fill tells of keys.
    let ones = arena.iter().map(|word| u64::from(word.count_ones())).sum();
    let filled = || estimated_keys(ones, bits, hashes).ceil().min(bits as f64) as u64;
    let rows = [added.unwrap_or_else(filled)];
    files::in_memory(&params, (&rows, &[Beside::Nothing]), &arena, Extras::default(), 1)
}

/// The most keys for which its system chooses this number of hashes, and their rate: what stands for a plan that nobody
/// recorded. It follows from the shape alone, so that filters of one shape can be merged.
fn most_for(scheme: Foreign, bits: u64, hashes: u32) -> (u64, f64) {
    // Hashes are bits per key · ln 2, rounded; DataSketches rounds up.
    let rounded = if matches!(scheme, Foreign::DataSketches { .. }) { 1.0 } else { 0.5 };
    let least = (f64::from(hashes) - rounded).max(0.5);
    let keys = (bits as f64 * std::f64::consts::LN_2 / least).floor().max(1.0) as u64;
    (keys, bloom::expected_rate(keys, bits, hashes).clamp(f64::MIN_POSITIVE, 1.0))
}

/// A layout, or one of the schemes that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Whatever the scheme is, if it is one of this layout.
    Layout(Layout),
    /// This scheme; its seed is that of the filter.
    Scheme(Foreign),
}

impl Target {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Target::Layout(layout) => layout.name(),
            Target::Scheme(scheme) => scheme.name(),
        }
    }

    /// The scheme with which a new filter is made for it: of several, the one that its system takes today.
    pub fn scheme(self) -> Foreign {
        match self {
            Target::Scheme(scheme) => scheme,
            Target::Layout(Layout::Spark) => Foreign::SparkV2 { seed: 0 },
            Target::Layout(Layout::Guava) => Foreign::Guava64,
            Target::Layout(Layout::Hadoop | Layout::HadoopCounting) => Foreign::HadoopMurmur,
            Target::Layout(Layout::Dcso) => Foreign::Dcso,
            Target::Layout(Layout::DataSketches) => Foreign::DATASKETCHES,
            Target::Layout(Layout::Redis) => Foreign::Redis,
        }
    }

    fn takes(self, scheme: Foreign) -> bool {
        match self {
            Target::Layout(layout) => Layout::of(scheme) == layout,
            Target::Scheme(wanted) => wanted.name() == scheme.name(),
        }
    }
}

/// One filter of a file, as its own system has it.
///
/// # Errors
/// Where the target cannot have it.
pub fn filter_of(
    file: &Mapped,
    group: Option<usize>,
    to: Target,
) -> std::result::Result<Filter<'_>, Refusal> {
    let params = file.params();
    if params.common.kind != Kind::Bloom {
        return Err(Refusal::Kind(params.common.kind));
    }
    let scheme = match params.common.hash {
        Scheme::Foreign(scheme) if to.takes(scheme) => scheme,
        other => return Err(Refusal::Scheme { from: other.to_string(), to: to.name() }),
    };
    let at = match (group, params.groups.len()) {
        (Some(at), _) => at,
        (None, 1) => 0,
        (None, groups) => return Err(Refusal::Groups(groups)),
    };
    let group = &params.groups[at];
    let tally = &file.tallies()[at];
    Ok(Filter {
        scheme,
        bits: group.shape.slots(),
        hashes: group.shape.hashes(),
        words: Cow::Borrowed(file.section(at)),
        planned: Some((group.keys(), group.fpr())),
        added: Some(if file.keys_are_counted() { group.keys() } else { tally.rows }),
    })
}

/// Writes a filter in its own layout, whole or not at all.
pub fn write(path: &Path, filter: &Filter<'_>) -> Result<()> {
    files::write_whole(path, |out| {
        let mut out = io::BufWriter::with_capacity(1 << 20, out);
        tamis_formats::write(filter, &mut out)?;
        out.flush()
    })
}
