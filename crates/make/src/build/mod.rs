//! The second phase: the sketches themselves.
//!
//! [`Sketches`] say what is made. A job counts, plans and builds, as far as that needs each of them:
//! `sketches` knows what must be known of the rows first and how keys get in, `insert` puts keys in row by
//! row, `from_counted` the hashes that were counted, `of_hashes` those that came in place of rows,
//! `static_filters` all hashes of a set at once; `finish` writes the files, `add` begins with a file.

mod add;
mod finish;
mod from_counted;
mod insert;
mod of_hashes;
mod refusal;
mod sketches;
mod static_filters;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tamis::about::{About, Classes};
use tamis::countmin::Heavy;
use tamis::format::{Beside, Tally};
use tamis::key::Recipe;
use tamis::memory::Words;
use tamis::params::{Common, Name, Params};
use tamis::sizing::Kind;
use tamis_read::error::Result;
use tamis_read::{Control, Explained, Sources, Table};

pub use self::add::{Addition, add};
use self::finish::{Output, finish, gather};
pub(crate) use self::from_counted::{from_pairs, of_counted};
pub(crate) use self::insert::{Taken, insert, insert_distinct, taken};
pub use self::of_hashes::Hashed;
pub(crate) use self::of_hashes::make_of_hashes;
pub use self::refusal::Refusal;
pub use self::refusal::{refuse_distinct, refuse_exact, refuse_heavy, refuse_small_share};
pub use self::sketches::{Bits, FilterSizing, Given, Layering, Sketches, Static};
pub(crate) use self::sketches::{Need, OfHashes, Putting};
pub(crate) use self::static_filters::static_filters;
use crate::aside::{self, Aside};
use crate::count::{self, Afterwards, Counted, KeyRules, Means};
use crate::distinct::EXACT;
use crate::names::Content;
use crate::pipe::{self, Target};
use crate::rows::BadRows;
use crate::{count_min, exact, files, place, plan};

/// Sketches to be built from a table.
#[derive(Debug, Clone)]
pub struct Job {
    /// Files, globs, folders, `-`.
    pub inputs: Vec<String>,
    /// How to read them.
    pub options: tamis_read::Options,
    /// How keys are made of them.
    pub recipe: Recipe,
    /// What is made.
    pub sketches: Sketches,
    /// Rows without a key.
    pub bad_rows: BadRows,
    /// Threads.
    pub threads: usize,
    /// Memory for counting, and for collecting the keys themselves where they are kept.
    pub memory: u64,
    /// What is recorded about the file.
    pub about: About,
}

impl Job {
    /// Kind, hash and recipe.
    pub fn common(&self) -> Common {
        self.sketches.common(self.recipe.clone())
    }

    /// What is recorded about the file of rows that are open: with the classes of their keys.
    fn about(&self, sources: &Sources) -> About {
        self.about_classes(sources.classes(&self.recipe.key_columns()))
    }

    /// The same of keys of these classes.
    fn about_classes(&self, classes: Classes) -> About {
        let mut about = self.about.clone();
        about.record_classes(classes);
        about
    }

    /// Records that keys were counted, where they were, and nothing was estimated. A file that could be
    /// written before counts were recorded stays as it was.
    pub(crate) fn record_count(&self, about: &mut About, estimated: bool, rows: &[u64]) {
        if !estimated && self.sketches.records_count() {
            about.counted = Some(rows.iter().fold(0, |all, rows| all.saturating_add(*rows)));
        }
    }

    /// How its keys are made.
    pub(crate) fn rules<'a>(&'a self, aside: Option<&'a Aside>) -> KeyRules<'a> {
        KeyRules {
            recipe: &self.recipe,
            hash: self.sketches.hash(),
            on_bad: (&self.bad_rows).into(),
            aside,
            count_keywords: self.sketches.kind() == Kind::Layered,
        }
    }

    /// Up to how many keys are counted exactly: all of them where the sketches are made of all at once.
    pub(crate) fn exactly(&self) -> usize {
        if self.sketches.putting() == Putting::Static { usize::MAX } else { EXACT }
    }

    /// The parameters, where no row must be read for them.
    pub fn parameters_without_rows(&self) -> Result<Option<Params>, plan::Refusal> {
        match self.sketches.need() {
            Need::Nothing(params) => Ok(Some(params.clone())),
            Need::Names(each) if self.recipe.group.is_none() => {
                Ok(Some(each.parameters(self.common(), vec![Name::default()])?))
            }
            Need::Names(_) | Need::Keys(_) | Need::Slots(_) => Ok(None),
        }
    }
}

/// What was built.
#[derive(Debug)]
pub struct Report {
    /// The parameters.
    pub params: Params,
    /// What each sketch says of itself.
    pub tallies: Vec<Tally>,
    /// Rows left out.
    pub skipped: u64,
    /// Whether the keys were estimated, not counted.
    pub estimated: bool,
    /// Whether keywords were counted, and no record has more than one.
    pub lone_keywords: bool,
    /// Groups that an addition made.
    pub new_groups: Vec<Name>,
    /// How the inputs were understood.
    pub inputs: Vec<Explained>,
    /// The time of each phase.
    pub phases: Vec<(&'static str, Duration)>,
    /// The (key, group) pairs that are kept beside the filters, where they are.
    pub exact: Option<u64>,
    /// The heavy keys that are kept beside sketches that count, where they are.
    pub heavy: Option<u64>,
}

/// Sketches in memory, on their way to a file.
pub(crate) struct Built {
    pub params: Params,
    pub rows: Vec<u64>,
    /// What the sketches keep beside their words.
    pub beside: Vec<Beside>,
    pub arena: Words,
    pub skipped: u64,
    pub estimated: bool,
    pub lone_keywords: bool,
    pub heavy: Option<Heavy>,
    /// What is recorded about the file.
    pub about: About,
}

impl Built {
    /// Sketches of which there is nothing else to tell.
    pub fn new(params: Params, rows: Vec<u64>, beside: Vec<Beside>, arena: Words) -> Built {
        Built {
            params,
            rows,
            beside,
            arena,
            skipped: 0,
            estimated: false,
            lone_keywords: false,
            heavy: None,
            about: About::default(),
        }
    }

    /// The total weights of sketches that count.
    pub fn totals(&self) -> impl Iterator<Item = u64> {
        self.beside.iter().map(|beside| beside.total_weight())
    }
}

/// Builds the filters and writes them to a file, or to standard output.
pub fn build<'o>(job: &Job, output: impl Into<Target<'o>>, control: &Control) -> Result<Report> {
    build_keeping(job, Keep::Nothing, output.into(), control)
}

/// The same, and keeps the keys themselves in a file beside it.
pub fn build_exact<'o>(job: &Job, output: impl Into<Target<'o>>, control: &Control) -> Result<Report> {
    build_keeping(job, Keep::Keys, output.into(), control)
}

/// The same as [`build_exact`] of a table in memory, whatever inputs the job names.
pub fn build_exact_of_table(
    job: &Job,
    table: Arc<dyn Table>,
    output: &Path,
    control: &Control,
) -> Result<Report> {
    let open = || Sources::of_table(table, &job.recipe.columns());
    build_rows(job, open, Keep::Keys, output.into(), control)
}

/// What is kept beside the filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Nothing,
    Keys,
}

fn build_keeping(job: &Job, keep: Keep, to: Target<'_>, control: &Control) -> Result<Report> {
    let open = || Sources::open(&job.inputs, &job.options, &job.recipe.columns());
    build_rows(job, open, keep, to, control)
}

fn build_rows(
    job: &Job,
    open: impl FnOnce() -> Result<Sources>,
    keep: Keep,
    to: Target<'_>,
    control: &Control,
) -> Result<Report> {
    let start = Instant::now();
    let output = match to {
        Target::File(path) => {
            files::check(path)?;
            path
        }
        Target::Stdout(_) if keep == Keep::Keys => return Err(pipe::Refusal::Exact.into()),
        Target::Stdout(form) => {
            pipe::check(form)?;
            Path::new(place::STDOUT) // which may lead to a file
        }
    };
    refuse_exact(keep == Keep::Keys, job.sketches.kind())?;
    let mut sources = open()?;
    let inputs = sources.explain();
    files::check_is_no_input(output, inputs.iter().map(|input| &input.path))?;
    Content::Sketches.check(output)?;
    let keys = (keep == Keep::Keys).then(|| exact::path_beside(output));
    if let Some(keys) = &keys {
        files::check_is_no_input(keys, inputs.iter().map(|input| &input.path))?;
        exact::check_place(output)?;
        sources.keep(); // a pass of its own collects the keys
    }
    let outputs = [Some(output), keys.as_deref()];
    let aside = Aside::open(&job.bad_rows, outputs, inputs.iter().map(|input| &input.path))?;
    let mut phases = vec![("open", start.elapsed())];
    let mut phase = |name, since: Instant| phases.push((name, since.elapsed()));

    let built = make(job, &mut sources, aside.as_ref(), &mut phase, control)?;
    let collecting = Instant::now();
    let gathered = match keep {
        Keep::Keys => {
            let rules = job.rules(None).again();
            let found = gather(&sources, rules, &built, job.memory, job.threads, output, control)?;
            phase("collect keys", collecting);
            Some(found)
        }
        Keep::Nothing => None,
    };
    let writing = Instant::now();
    let (skipped, estimated, lone_keywords) = (built.skipped, built.estimated, built.lone_keywords);
    let heavy = built.heavy.as_ref().map(Heavy::keys);
    let output = Output { to, changing: None, aside: aside::end(aside)? };
    let (params, tallies, exact) = finish(built, gathered, None, output, job.threads, control)?;
    phase("write", writing);
    Ok(Report {
        params,
        tallies,
        skipped,
        estimated,
        lone_keywords,
        new_groups: Vec::new(),
        inputs,
        phases,
        exact,
        heavy,
    })
}

/// Counts, plans and builds, as far as the job needs each of them.
pub(crate) fn make(
    job: &Job,
    sources: &mut Sources,
    aside: Option<&Aside>,
    phase: &mut dyn FnMut(&'static str, Instant),
    control: &Control,
) -> Result<Built> {
    let begun = Instant::now();
    let mut rules = job.rules(aside);
    let putting = job.sketches.putting();
    if putting == Putting::Static {
        let counted = count_keys(job, rules, sources, Afterwards::No, control)?;
        phase("count", begun);
        let building = Instant::now();
        let built = static_filters(job, counted, control)?;
        phase("build", building);
        return Ok(Built { about: job.about(sources), ..built });
    }
    if matches!(putting, Putting::Weights { heavy: Some(_) }) {
        sources.keep(); // a second pass lists the keys
    }
    let (params, counted) = match job.parameters_without_rows()? {
        Some(params) => (params, None),
        None => {
            let planned = first_pass(job, rules, sources, phase, control)?;
            rules = rules.again();
            planned
        }
    };
    let building = Instant::now();
    let estimating = counted.as_ref().is_some_and(Counted::estimating);
    let lone_keywords = counted.as_ref().is_some_and(Counted::lone_keywords);
    let counted = counted.and_then(|counted| counted.that_makes(job.sketches.of_hashes()));
    let mut built = match (job.sketches.of_hashes(), counted) {
        (Some(kind), Some(counted)) => from_pairs(params, kind, counted, job.threads, control)?,
        _ if putting == Putting::Distinct => {
            let means = (job.memory, job.threads);
            insert_distinct(sources, rules, params, None, means, control)?
        }
        _ => insert(sources, rules, params, None, job.threads, control)?,
    };
    built.estimated = estimating;
    built.about = job.about(sources);
    job.record_count(&mut built.about, estimating, &built.rows);
    built.lone_keywords = lone_keywords;
    phase("build", building);
    if let Putting::Weights { heavy: Some(share) } = putting {
        let listing = Instant::now();
        count_min::keep_heavy(sources, rules.again(), &mut built, &[], share, job.threads, control)?;
        phase("heavy keys", listing);
    }
    Ok(built)
}

/// The parameters, and what was counted for them. The input can be read again afterwards, or the hashes of its keys are in
/// what was counted.
fn first_pass(
    job: &Job,
    rules: KeyRules<'_>,
    sources: &mut Sources,
    phase: &mut dyn FnMut(&'static str, Instant),
    control: &Control,
) -> Result<(Params, Option<Counted>)> {
    let begun = Instant::now();
    let names_only = matches!(job.sketches.need(), Need::Names(_));
    let of_keys = matches!(job.sketches.of_hashes(), Some(OfHashes::Bits(_))) && !names_only;
    let afterwards = if of_keys && sources.are_dear() {
        Afterwards::IfThereIsRoom
    } else if of_keys && sources.come_once() {
        Afterwards::Yes // in place of the rows, which are mostly longer
    } else {
        Afterwards::No
    };
    if afterwards != Afterwards::Yes {
        sources.keep(); // a second pass may be needed
    }
    let (params, counted) = plan_rows(job, rules, sources, afterwards, control)?;
    phase(if names_only { "groups" } else { "count" }, begun);
    Ok((params, counted))
}

/// The distinct keys of all groups.
fn count_keys(
    job: &Job,
    rules: KeyRules<'_>,
    sources: &Sources,
    afterwards: Afterwards,
    control: &Control,
) -> Result<Counted> {
    let means = Means { limit: job.exactly(), memory: job.memory, threads: job.threads, afterwards };
    count::distinct_keys(sources, rules, means, control)
}

/// What was planned for a table.
#[derive(Debug)]
pub struct Planned {
    /// The parameters.
    pub params: Params,
    /// The counts that they come from, where keys were counted.
    pub counted: Option<Counted>,
    /// How the inputs were understood.
    pub inputs: Vec<Explained>,
}

/// The parameters for a table: the first phase alone.
pub fn plan(job: &Job, control: &Control) -> Result<Planned> {
    let sources = Sources::open(&job.inputs, &job.options, &job.recipe.columns())?;
    let inputs = sources.explain();
    let aside = Aside::open(&job.bad_rows, [], inputs.iter().map(|input| &input.path))?;
    let (params, counted) = plan_rows(job, job.rules(aside.as_ref()), &sources, Afterwards::No, control)?;
    aside::finish(aside)?;
    Ok(Planned { params, counted, inputs })
}

/// The same for rows that are open: counts the keys of all groups, or finds the groups, as far as the parameters
/// depend on them.
pub(crate) fn plan_rows(
    job: &Job,
    rules: KeyRules<'_>,
    sources: &Sources,
    afterwards: Afterwards,
    control: &Control,
) -> Result<(Params, Option<Counted>)> {
    match job.sketches.need() {
        Need::Nothing(params) => Ok((params.clone(), None)),
        Need::Names(each) => {
            let names = group_names(sources, rules, job.threads, control)?;
            Ok((each.parameters(job.common(), names)?, None))
        }
        Need::Keys(_) | Need::Slots(_) => {
            let mut counted = count_keys(job, rules, sources, afterwards, control)?;
            Ok((of_counted(job, &mut counted)?, Some(counted)))
        }
    }
}

/// The names of the groups: the empty one where the recipe has none.
pub(crate) fn group_names(
    sources: &Sources,
    rules: KeyRules<'_>,
    threads: usize,
    control: &Control,
) -> Result<Vec<Name>> {
    if rules.recipe.group.is_none() {
        return Ok(vec![Name::default()]);
    }
    let names = count::group_names(sources, rules, threads, control)?;
    if names.is_empty() {
        return Err(Refusal::NoRows.into());
    }
    Ok(names)
}
