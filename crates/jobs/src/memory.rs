//! Sketches of tables in memory, which stay in memory: what programs do that bring their own rows.
//!
//! The phases are those of [`mod@crate::build`], so that the bytes are those of a file that is
//! built of the same rows. Rows of one table may be spread over many machines: each builds with the
//! same parameters, and the parts are [merged](crate::merge::merge_in_memory).

use std::sync::Arc;

use tamis::arch::map::Words;
use tamis::countmin::Heavy;
use tamis::params::Params;
use tamis::sizing::Kind;
use tamis_read::error::{Error, Result};
use tamis_read::{Control, Sources, Table};

use crate::arena::Placing;
use crate::build::{self, Job, Sizing};
use crate::counts;
use crate::output::{self, Mapped};

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

/// Builds sketches of a table. The inputs that the job names are not looked at.
pub fn build(job: &Job, table: Arc<dyn Table>, control: &Control) -> Result<Report> {
    build::refuse_early(job)?;
    let mut sources = Sources::of_table(table, &job.common.recipe.columns())?;
    let built = build::make(job, &mut sources, &mut |_, _| (), control)?;
    let heavy = built.heavy.as_ref();
    let file =
        output::in_memory(&built.params, (&built.rows, &built.seeds), &built.arena, heavy, job.threads)?;
    let (skipped, estimated) = (built.skipped, built.estimated);
    Ok(Report { file, skipped, estimated, heavy: heavy.map(Heavy::keys) })
}

/// The parameters for a table: the first phase alone.
pub fn plan(job: &Job, table: Arc<dyn Table>, control: &Control) -> Result<Params> {
    build::refuse_early(job)?;
    let sources = Sources::of_table(table, &job.common.recipe.columns())?;
    match &job.sizing {
        Sizing::Count(size) => Ok(build::count_and_plan(job, &sources, *size, control)?.0),
        Sizing::Counters(counters) => counts::plan_rows(job, &sources, *counters, control),
        Sizing::Keys(..) => {
            Err(Error::told("the keys of a table are counted: leave out --keys, or the table".into()))
        }
        Sizing::Params(params) => Ok(params.clone()),
    }
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
    seeds: Vec<u64>,
    skipped: u64,
}

impl Builder {
    /// Sketches that are still empty. The job has parameters.
    pub fn new(job: Job) -> Result<Builder> {
        build::refuse_early(&job)?;
        let Sizing::Params(params) = &job.sizing else {
            return Err(Error::told("tables that come one by one are not counted first: give params".into()));
        };
        if job.common.kind == Kind::Fuse {
            return Err(Error::told(
                "a fuse filter is built from all keys at once; use --kind blocked, or build from one table"
                    .into(),
            ));
        }
        if job.heavy.is_some() {
            return Err(Error::told("heavy keys are found in a second pass: build from one table".into()));
        }
        let (params, groups) = (params.clone(), params.groups.len());
        let arena = Some(Placing::new(&params).empty()?);
        Ok(Builder { job, params, arena, rows: vec![0; groups], seeds: vec![0; groups], skipped: 0 })
    }

    /// Adds the rows of a table. After an error only part of them may be there, so that nothing more
    /// can be done with the sketches.
    pub fn add(&mut self, table: Arc<dyn Table>, control: &Control) -> Result<()> {
        let sources = Sources::of_table(table, &self.job.common.recipe.columns())?;
        let arena = Some(self.arena.take().ok_or_else(Builder::broken)?);
        let (making, params) = (build::making(&self.job), self.params.clone());
        let built = build::insert(&sources, making, params, arena, self.job.threads, control)?;
        let sum = |all: &mut [u64], more: &[u64]| {
            all.iter_mut().zip(more).for_each(|(all, more)| *all = all.saturating_add(*more));
        };
        sum(&mut self.rows, &built.rows);
        sum(&mut self.seeds, &built.seeds);
        self.skipped += built.skipped;
        self.arena = Some(built.arena);
        Ok(())
    }

    /// The sketches, with all rows so far.
    pub fn finish(self) -> Result<Report> {
        let arena = self.arena.ok_or_else(Builder::broken)?;
        let file =
            output::in_memory(&self.params, (&self.rows, &self.seeds), &arena, None, self.job.threads)?;
        Ok(Report { file, skipped: self.skipped, estimated: false, heavy: None })
    }

    fn broken() -> Error {
        Error::told("a table before this one could not be added whole: begin anew".into())
    }
}

#[cfg(test)]
mod tests;
