//! Filters of other systems as containers in memory, and back into their own layouts.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use tamis::bloom::{self, Bloom};
use tamis::countmin::{epsilon_of, shape_by_hand};
use tamis::format::{self, Beside};
use tamis::hash::{ByBytes, Foreign, Scheme, SparkCounts};
use tamis::key::{Column, Field, Recipe, Step};
use tamis::memory::Words;
use tamis::params::{Common, Goal, GroupParams, Name, Params};
use tamis::scalable::Sizes;
use tamis::sizing::{Kind, Shape};
use tamis::sketch::estimated_keys;
use tamis_formats::{Counts, Fault, Filter, Found, Held, Layout, Links, Unwritable};
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};
use tamis_read::{Control, Sources};

use crate::files::{self, Mapped};
use crate::rows::{BadRows, Groups, Key, KeyRows, OnBad, Take};
use crate::{build, opt, pipe};

/// What is said of a file that does not say it itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Its layout; recognised, where nothing is said.
    pub layout: Option<Layout>,
    /// What its keys went through: the last step may be their type in the other system.
    pub steps: Vec<Step>,
    /// The same, where it is said at the key that is asked, which may be one of ours: that says itself.
    pub at_key: Vec<Step>,
    /// Whether it is said of several files, of which those of ours say themselves what they are.
    pub of_several: bool,
}

impl Said {
    /// What is said by names: that of a layout, and a [funnel].
    ///
    /// # Errors
    /// Where there is no such layout or funnel: what there is.
    pub fn by_names(layout: Option<&str>, funnel: Option<&str>) -> std::result::Result<Said, String> {
        let named = |name: &str| {
            Layout::ALL.into_iter().find(|layout| layout.name() == name).ok_or_else(|| {
                let names: Vec<&str> = Layout::ALL.into_iter().map(Layout::name).collect();
                format!("{name:?} is no format of another system; there is {}", names.join(", "))
            })
        };
        let layout = layout.map(named).transpose()?;
        let steps = funnel.map(self::funnel).transpose()?.unwrap_or_default();
        Ok(Said { layout, steps, ..Said::default() })
    }
}

/// The steps of a funnel: `utf8` and `bytes` have none, all others are those of a recipe.
///
/// # Errors
/// Where there are no such steps.
pub fn funnel(text: &str) -> std::result::Result<Vec<Step>, String> {
    match text {
        "utf8" | "bytes" => Ok(Vec::new()),
        _ => format!(":{text}").parse::<Field>().map(|field| field.steps).map_err(|error| error.to_string()),
    }
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
    /// Whether it can become a file of ours.
    pub converts: bool,
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
    /// A sketch of another system of which a file of ours would not be all that it is.
    #[error("is {}, which is asked as it is, and not converted{}", .layout.title(), why(*.layout))]
    Kept {
        /// Its layout.
        layout: Layout,
    },
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
            Refusal::Kept { layout: Layout::SparkCounts } => {
                vec![Help::DoWith("count its keys again, by build", vec![opt::KIND.with("count-min")])]
            }
            Refusal::Kept { .. } => {
                vec![Help::DoWith("build it again from its keys, by build", vec![opt::TO.with("FORMAT")])]
            }
            Refusal::Groups(_) => vec![Help::Give(vec![opt::GROUP.with("NAME")])],
            Refusal::NotThat { .. } | Refusal::Damaged { .. } | Refusal::Unwritable(_) => Vec::new(),
        }
    }
}

/// What a conversion would lose.
fn why(layout: Layout) -> &'static str {
    match layout {
        Layout::HadoopCounting => ": its counters, by which keys are taken out, would be lost",
        Layout::Redis => ": it grew, and no other filter has links of these sizes",
        Layout::SparkCounts => ": no other sketch places keys as it does",
        _ => "",
    }
}

impl Origin {
    /// Refuses what is asked as it is, and not made a file of ours.
    ///
    /// # Errors
    /// Where it is that.
    pub fn check_converts(&self, path: &Path) -> Result<()> {
        match self.converts {
            true => Ok(()),
            false => Err(Error::input(path, Refusal::Kept { layout: self.layout })),
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
    let ours = |file: Result<Mapped>| match said.steps.is_empty() || said.of_several {
        true => file.map(|file| (file, None)),
        false => Err(refused(Refusal::Ours)),
    };
    if said.layout.is_none() && pipe::is_stdin(path) {
        return ours(files::open_as_is(path));
    }
    let map = files::mapped(path)?;
    let found = match said.layout {
        _ if said.of_several && map.starts_with(&format::MAGIC) => return ours(files::of_map(path, map)),
        Some(layout) => layout.read(&map).map_err(|fault| refused(Refusal::NotThat { layout, fault }))?,
        None if map.starts_with(&format::MAGIC) => return ours(files::of_map(path, map)),
        None => match tamis_formats::recognise(&map) {
            Ok(Some(found)) => found,
            Err((layout, fault)) => return Err(refused(Refusal::Damaged { layout, fault })),
            Ok(None) => return Ok((files::of_map(path, map)?, None)), // which says that it is not ours
        },
    };
    let planned = match &found.held {
        Held::Filter(filter) => filter.planned.is_some(),
        Held::Links(_) | Held::Counts(_) => true,
    };
    let converts = found.filter().is_some() && found.layout != Layout::HadoopCounting;
    let origin = Origin { layout: found.layout, planned, beyond: found.beyond, converts };
    let mut steps = if said.steps.is_empty() { said.at_key.clone() } else { said.steps.clone() };
    if said.of_several && !said.steps.is_empty() && !found.layout.leaves_type_open() {
        // A type that is said of several files is that of those that leave it open: others have bytes.
        steps.retain(|step| !matches!(step, Step::Int | Step::Long | Step::Utf16 | Step::Xxhash64));
    }
    Ok((container(found, steps)?, Some(origin)))
}

/// The same of bytes: those of another system, which are recognised where nothing is said, or none.
///
/// # Errors
/// Where they are not what was said, or begin like one and the rest does not fit.
pub fn of_bytes(bytes: &[u8], said: &Said) -> Result<Option<Mapped>> {
    let found = match said.layout {
        Some(layout) => Some(layout.read(bytes).map_err(|fault| Refusal::NotThat { layout, fault })?),
        None => {
            tamis_formats::recognise(bytes).map_err(|(layout, fault)| Refusal::Damaged { layout, fault })?
        }
    };
    found.map(|found| container(found, said.steps.clone())).transpose()
}

/// The refusal of a file that is not ours, where it is known whose it is.
pub(crate) fn whose(file: &[u8]) -> Option<Refusal> {
    let found = tamis_formats::recognise(file).ok()??;
    Some(Refusal::NotOurs(found.layout))
}

/// What a file of another system holds as a container of ours: the same bits, with its own scheme.
fn container(found: Found, steps: Vec<Step>) -> Result<Mapped> {
    match found.held {
        Held::Filter(filter) => of_filter(filter, steps),
        Held::Links(links) => of_links(links, steps),
        Held::Counts(counts) => of_counts(counts, steps),
    }
}

fn of_filter(filter: Filter<'static>, steps: Vec<Step>) -> Result<Mapped> {
    let Filter { scheme, bits, hashes, words, planned, added } = filter;
    let (keys, rate) = planned.unwrap_or_else(|| most_for(scheme, bits, hashes));
    let group = GroupParams::filter(Name::default(), keys, rate, Shape::Bloom { bits, hashes });
    // Where nobody counted them, the rows are as many as the fill tells of keys.
    let ones = words.iter().map(|word| u64::from(word.count_ones())).sum();
    let filled = || estimated_keys(ones, bits, hashes).ceil().min(bits as f64) as u64;
    let tally = (added.unwrap_or_else(filled), Beside::Nothing);
    of_words((Kind::Bloom, Scheme::Foreign(scheme)), steps, group, tally, words.into_owned())
}

/// A filter that grew, with its links as layers.
fn of_links(links: Links, steps: Vec<Step>) -> Result<Mapped> {
    let Links { growth, count, planned: (keys, rate), added: (added, newest), words } = links;
    let shape = Sizes::Redis { growth }.shape(keys, rate, count)?;
    let group = GroupParams::filter(Name::default(), keys, rate, shape);
    let hash = Scheme::Foreign(Foreign::RedisLinks { growth });
    of_words((Kind::Scalable, hash), steps, group, (added, Beside::NewestKeys(newest)), words)
}

/// A sketch that counts. Whether keys are numbers, or text and bytes, is said by their steps.
fn of_counts(counts: Counts, steps: Vec<Step>) -> Result<Mapped> {
    let Counts { total, depth, width, seed, counters } = counts;
    let numbers = steps.last().is_some_and(|step| matches!(step, Step::Int | Step::Long | Step::Xxhash64));
    let hash = if numbers { SparkCounts::Longs { seed } } else { SparkCounts::Bytes };
    let goal = Goal::Error { epsilon: epsilon_of(width) };
    let group = GroupParams { group: Name::default(), goal, shape: shape_by_hand(width, depth, 64)? };
    let tally = (total, Beside::TotalWeight(total));
    of_words((Kind::CountMin, Scheme::SparkCounts(hash)), steps, group, tally, counters)
}

/// A container of one sketch, of lines that go through these steps.
fn of_words(
    (kind, hash): (Kind, Scheme),
    steps: Vec<Step>,
    group: GroupParams,
    tally: (u64, Beside),
    words: Vec<u64>,
) -> Result<Mapped> {
    let recipe = Recipe { key: vec![Field { column: Column::Line, steps }], ..Recipe::lines() };
    let params = Params::new(Common { kind, hash, recipe }, vec![group])?;
    files::of_sketch(&params, tally, words)
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
    /// The one of this name.
    ///
    /// # Errors
    /// Where there is none: the names of all.
    pub fn named(text: &str) -> std::result::Result<Target, String> {
        let read_only = [Layout::HadoopCounting, Layout::SparkCounts];
        let layouts = Layout::ALL.into_iter().filter(|layout| !read_only.contains(layout));
        let schemes = Foreign::ALL.into_iter().map(Target::Scheme);
        let targets: Vec<Target> = layouts.map(Target::Layout).chain(schemes).collect();
        targets.iter().copied().find(|target| target.name() == text).ok_or_else(|| {
            let mut names: Vec<&str> = targets.iter().map(|target| target.name()).collect();
            names.sort_unstable();
            names.dedup();
            format!("there is tamis, {}", names.join(", "))
        })
    }

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
            Target::Layout(Layout::Spark | Layout::SparkCounts) => Foreign::SparkV2 { seed: 0 },
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

/// The keys that are new when the rows of a job are added to its filter one after the other: what DCSO and RedisBloom
/// count. Keys that the filter takes for others are not among them. None where the rows can be read only once.
///
/// # Errors
/// Those of reading.
pub fn added_in_order(job: &build::Job, filter: &Filter<'_>, control: &Control) -> Result<Option<u64>> {
    let sources = Sources::open(&job.inputs, &job.options, &job.recipe.columns())?;
    if sources.are_streams() {
        return Ok(None);
    }
    // What is set aside was, when the filter was built.
    let on_bad = if job.bad_rows == BadRows::Fail { OnBad::Fail } else { OnBad::Skip };
    let bloom = Bloom::zeroed(filter.bits, filter.hashes)?;
    let adding = Adding { bloom, by: ByBytes::Foreign(filter.scheme), new: 0 };
    let rows = KeyRows::new(&job.recipe, Scheme::Foreign(filter.scheme), on_bad, Groups::One(0), adding);
    let sinks = sources.scan_dyn(vec![rows], control)?;
    Ok(sinks.first().map(|rows| rows.take.new))
}

/// A filter to which keys are added, in one thread and in their order.
struct Adding {
    bloom: Bloom<Words>,
    by: ByBytes,
    new: u64,
}

impl Take for Adding {
    fn take(&mut self, key: Key<'_>) {
        self.new += u64::from(self.bloom.insert_new_bytes(self.by, key.bytes));
    }
}

/// The bytes of a filter in its own layout.
///
/// # Errors
/// Where the layout cannot have it.
pub fn to_bytes(filter: &Filter<'_>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    tamis_formats::write(filter, &mut bytes)?;
    Ok(bytes)
}

/// Writes a filter in its own layout, whole or not at all.
pub fn write(path: &Path, filter: &Filter<'_>) -> Result<()> {
    files::write_whole(path, |out| {
        let mut out = io::BufWriter::with_capacity(1 << 20, out);
        tamis_formats::write(filter, &mut out)?;
        out.flush()
    })
}
