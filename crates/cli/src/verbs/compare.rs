use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use tamis_make::compare::{self, Overlap};
use tamis_make::text::group_name;
use tamis_make::{number, parallel};
use tamis_report::{Column, Table};

use crate::show::{Output, Sheet};

/// Estimate the overlap of two sets from their filters alone
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis compare monday.tamis tuesday.tamis

All numbers are estimates from the bits that are set. They need filters with the same parameters, and get \
worse the fuller a filter is and the smaller the overlap.")]
pub struct Compare {
    /// The first file
    pub(super) first: PathBuf,
    /// The second file
    pub(super) second: PathBuf,
}

impl Compare {
    /// Compares them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let overlaps = compare::compare(&self.first, &self.second, parallel::default_threads())?;
        let names = ["first", "second", "either", "both", "both/either"];
        let mut columns = vec![Column::left("group")];
        columns.extend(names.map(Column::right));
        let keys =
            |keys: f64| if keys.is_finite() { number::count(keys.round() as u64) } else { "full".into() };
        let row = |overlap: &Overlap| {
            let Overlap { group, first, second, union, both } = overlap;
            vec![
                group_name(group),
                keys(*first),
                keys(*second),
                keys(*union),
                keys(*both),
                number::percent(overlap.jaccard()),
            ]
        };
        let table = Table { columns, rows: overlaps.iter().map(row).collect(), ..Table::default() };
        let groups: Vec<_> = overlaps
            .iter()
            .map(|overlap| {
                json!({
                    "group": overlap.group, "first": overlap.first, "second": overlap.second,
                    "either": overlap.union, "both": overlap.both, "jaccard": overlap.jaccard(),
                })
            })
            .collect();
        output.result(Sheet { table, lines: Vec::new() }, json!({ "groups": groups }))?;
        Ok(ExitCode::SUCCESS)
    }
}
