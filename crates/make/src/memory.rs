//! Sketches of tables in memory, which stay in memory: what programs do that bring their own rows.
//!
//! The phases are those of [`mod@crate::build`], so that the bytes are those of a file that is
//! built of the same rows. Rows of one table may be spread over many machines: each builds with the
//! same parameters, and the parts are [merged](crate::merge::merge_in_memory).

use std::path::Path;
use std::sync::Arc;

use tamis::about::Classes;
use tamis::countmin::Heavy;
use tamis::format::{Beside, Extras};
use tamis::memory::Words;
use tamis::params::Params;
use tamis::sizing::Kind;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};
use tamis_read::{Control, Explained, Sources, Table};

use crate::arena::Placing;
use crate::aside::{self, Aside};
use crate::build::{self, Built, Hashed, Job, Putting, Sketches};
use crate::count::Afterwards;
use crate::files::{self, Mapped};
use crate::opt;

/// Tables of fewer rows are read on one thread: beginning others takes longer than the rows do.
pub const FEW: u64 = 4096;

/// The threads for a table of this many rows, where this many are allowed.
pub fn threads_for(threads: usize, rows: u64) -> usize {
    if rows < FEW { 1 } else { threads }
}

/// Hashes of fewer keys are put in on one thread: that takes about a millisecond, and threads take a good part of
/// one to begin. A guess, not a measurement.
const FEW_HASHES: u64 = 1 << 18;

/// The threads for this many keys that come as their hashes, where this many are allowed.
pub fn threads_for_hashes(threads: usize, keys: u64) -> usize {
    if keys < FEW_HASHES { 1 } else { threads }
}

/// What was built.
#[derive(Debug)]
pub struct Report {
    /// The sketches.
    pub file: Mapped,
    /// Rows left out.
    pub skipped: u64,
    /// Whether the keys were estimated, not counted.
    pub estimated: bool,
    /// The heavy keys that are kept beside sketches that count, where they are.
    pub heavy: Option<u64>,
}

/// Why tables that come one by one are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Their keys are not counted first.
    #[error("tables that come one by one are not counted first")]
    Uncounted,
    /// A static filter needs all keys.
    #[error("a {0} filter is built from all keys at once")]
    Static(Kind),
    /// Heavy keys need a second pass.
    #[error("heavy keys are found in a second pass")]
    Heavy,
    /// A file for their bad rows.
    #[error("bad rows of tables that come one by one are not set aside")]
    SetAside,
    /// An earlier table was added in part.
    #[error("a table before this one could not be added whole")]
    Broken,
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::Uncounted => vec![Help::give(opt::PARAMS)],
            Refusal::Static(_) => {
                vec![Help::give(opt::KIND.with(Kind::Blocked.name())), Help::Do("build from one table")]
            }
            Refusal::Heavy => vec![Help::Do("build from one table"), Help::leave_out(opt::HEAVY)],
            Refusal::SetAside => vec![Help::Do("build from one table"), Help::leave_out(opt::BAD_ROWS_TO)],
            Refusal::Broken => vec![Help::Do("start again with an empty one")],
        }
    }
}

/// Builds sketches of a table. The inputs that the job names are not looked at.
pub fn build(job: &Job, table: Arc<dyn Table>, control: &Control) -> Result<Report> {
    of_sources(job, Sources::of_table(table, &job.recipe.columns())?, [] as [&Path; 0], control)
}

/// Builds sketches of keys that come as their hashes: the bytes are those of a table of the keys. The job
/// [takes hashes](Job::takes_hashes), by which these were made.
pub fn build_hashed(job: &Job, keys: Hashed, control: &Control) -> Result<Report> {
    report(job, build::make_of_hashes(job, keys, control)?)
}

/// Builds sketches of the inputs that the job names, and tells how these were understood.
pub fn build_inputs(job: &Job, control: &Control) -> Result<(Report, Vec<Explained>)> {
    let sources = Sources::open(&job.inputs, &job.options, &job.recipe.columns())?;
    let inputs = sources.explain();
    let report = of_sources(job, sources, inputs.iter().map(|input| &input.path), control)?;
    Ok((report, inputs))
}

/// Builds sketches of rows that are open, which come from these files.
fn of_sources<P: AsRef<Path>>(
    job: &Job,
    mut sources: Sources,
    inputs: impl IntoIterator<Item = P> + Clone,
    control: &Control,
) -> Result<Report> {
    let aside = Aside::open(&job.bad_rows, [], inputs)?;
    let built = build::make(job, &mut sources, aside.as_ref(), &mut |_, _| (), control)?;
    let report = report(job, built)?;
    aside::finish(aside)?;
    Ok(report)
}

/// What was built, as a container in memory.
fn report(job: &Job, built: Built) -> Result<Report> {
    let heavy = built.heavy.as_ref();
    let extras = Extras { heavy, about: Some(&built.about), journal: b"" };
    let file =
        files::in_memory(&built.params, (&built.rows, &built.beside), &built.arena, extras, job.threads)?;
    let (skipped, estimated) = (built.skipped, built.estimated);
    Ok(Report { file, skipped, estimated, heavy: heavy.map(Heavy::keys) })
}

/// The parameters for a table: the first phase alone.
pub fn plan(job: &Job, table: Arc<dyn Table>, control: &Control) -> Result<Params> {
    let sources = Sources::of_table(table, &job.recipe.columns())?;
    let aside = Aside::open(&job.bad_rows, [], [] as [&Path; 0])?;
    let (params, _) = build::plan_rows(job, job.rules(aside.as_ref()), &sources, Afterwards::No, control)?;
    aside::finish(aside)?;
    Ok(params)
}

/// Sketches of given parameters that take tables one after the other, such as the batches of a stream
/// or of a partition: memory is that of the sketches, however many tables come.
#[derive(Debug)]
pub struct Builder {
    job: Job,
    params: Params,
    /// What was added so far; nothing once a table could not be added.
    arena: Option<Words>,
    rows: Vec<u64>,
    beside: Vec<Beside>,
    skipped: u64,
    /// The classes of keys so far.
    classes: Classes,
}

impl Builder {
    /// Sketches that are still empty. The job has parameters.
    pub fn new(job: Job) -> Result<Builder> {
        if job.bad_rows.path().is_some() {
            return Err(Refusal::SetAside.into());
        }
        let params = match (&job.sketches, job.sketches.putting()) {
            (sketches, Putting::Static) => return Err(Refusal::Static(sketches.kind()).into()),
            (_, Putting::Weights { heavy: Some(_) }) => return Err(Refusal::Heavy.into()),
            (Sketches::Given(given), _) => given.params(),
            _ => return Err(Refusal::Uncounted.into()),
        };
        let (params, groups) = (params.clone(), params.groups.len());
        let arena = Some(Placing::new(&params).empty()?);
        let beside = vec![Beside::empty(params.common.kind); groups];
        let classes = Classes::NONE;
        Ok(Builder { job, params, arena, rows: vec![0; groups], beside, skipped: 0, classes })
    }

    /// Adds the rows of a table. After an error only part of them may be there, so that nothing more
    /// can be done with the sketches.
    pub fn add(&mut self, table: Arc<dyn Table>, control: &Control) -> Result<()> {
        let rows = (0..table.parts()).map(|part| table.rows(part) as u64).sum();
        let threads = threads_for(self.job.threads, rows);
        let sources = Sources::of_table(table, &self.job.recipe.columns())?;
        let arena = Some(self.arena.take().ok_or_else(Builder::broken)?);
        let (rules, params) = (self.job.rules(None), self.params.clone());
        let built = build::insert(&sources, rules, params, arena, threads, control)?;
        self.rows.iter_mut().zip(&built.rows).for_each(|(all, more)| *all = all.saturating_add(*more));
        self.beside.iter_mut().zip(&built.beside).for_each(|(all, more)| *all = all.plus(*more));
        self.skipped += built.skipped;
        self.classes = self.classes.and(sources.classes(&self.job.recipe.key_columns()));
        self.arena = Some(built.arena);
        Ok(())
    }

    /// The sketches, with all rows so far.
    pub fn finish(self) -> Result<Report> {
        let arena = self.arena.ok_or_else(Builder::broken)?;
        let mut about = self.job.about;
        about.record_classes(self.classes);
        let extras = Extras { about: Some(&about), ..Extras::default() };
        let file =
            files::in_memory(&self.params, (&self.rows, &self.beside), &arena, extras, self.job.threads)?;
        Ok(Report { file, skipped: self.skipped, estimated: false, heavy: None })
    }

    fn broken() -> Error {
        Refusal::Broken.into()
    }
}
