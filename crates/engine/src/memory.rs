//! Sketches of tables in memory, which stay in memory: what programs do that bring their own rows.
//!
//! The phases are those of [`build`](crate::build), so that the bytes are those of a file that is
//! built of the same rows. Rows of one table may be spread over many machines: each builds with the
//! same parameters, and the parts are [merged](crate::merge::merge_in_memory).

use std::sync::Arc;

use tamis::countmin::Heavy;
use tamis::params::Params;

use crate::build::{self, Job, Sizing};
use crate::error::{Error, Result};
use crate::output::{self, Mapped};
use crate::source::{Sources, Table};
use crate::{Control, counts};

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
            Err(Error::Refused("the keys of a table are counted: leave out --keys, or the table".into()))
        }
        Sizing::Params(params) => Ok(params.clone()),
    }
}

#[cfg(test)]
mod tests;
