//! `--explain`: how the input is understood, and what would be made of its first rows.

use std::process::ExitCode;

use anyhow::Result;
use tamis_jobs::request::Reading;
use tamis_make::build::Job;
use tamis_report::explain;

use crate::show::{self, Output};
use crate::words::Flags;
use crate::{notes, progress};

/// Rows that are shown.
const ROWS: usize = 5;

/// Explains a job. What would stop it is shown after all that was understood before: exit code 1.
pub fn show(output: &Output, given: &Reading, job: &Job) -> Result<ExitCode> {
    let found = progress::run(output, "reading", |control| tamis_jobs::explain::explain(job, ROWS, control))?;
    let mut text = explain::inputs_table(&found.inputs).text();
    if !found.rows.is_empty() {
        text += &format!("\n{}\n\n{}", job.recipe, explain::rows_table(job, &found.rows).text());
    }
    if !found.around.is_empty() {
        text += &format!("\n{}", explain::around_table(&found).text());
    }
    output.result(text, explain::json(job, &found, &Flags))?;
    notes::inputs(output, given, &found.inputs);
    Ok(match found.fault {
        Some(fault) => show::failure(&fault.into()),
        None => ExitCode::SUCCESS,
    })
}
