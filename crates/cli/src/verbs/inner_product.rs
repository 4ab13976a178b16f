use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use tamis_make::count_min::{self, Product};
use tamis_make::text::group_name;
use tamis_make::{number, parallel};
use tamis_report::{Column, Table};

use crate::show::{Output, Sheet};
use tamis_report::inspect::total;

/// Estimate the inner product of two streams from their counts
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis inner-product monday.tamis tuesday.tamis
  tamis inner-product monday.tamis                     the size of its self-join

The inner product is the sum, over all keys, of the product of their weights: the number of rows of a join \
of the two streams on this key. The estimate is never below the true value and, except with probability \
delta, at most the bound above it: epsilon times both totals. Where counters are full it may be below the \
true value, and a warning says so. Both files must have the same parameters (build --params or --like), \
and be built without --conservative.")]
pub struct InnerProduct {
    /// The first file
    pub(super) first: PathBuf,
    /// The second file [default: the first again]
    pub(super) second: Option<PathBuf>,
}

impl InnerProduct {
    /// Estimates it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let second = self.second.as_ref().unwrap_or(&self.first);
        let products = count_min::inner_product(&self.first, second, parallel::default_threads())?;
        let mut columns = vec![Column::left("group")];
        columns.extend(["estimate", "bound", "first total", "second total"].map(Column::right));
        let row = |product: &Product| {
            vec![
                group_name(&product.group),
                number::product(product.estimate),
                product.bound.map_or("unknown".into(), |bound| number::product(bound as u128)),
                total(product.totals.0),
                total(product.totals.1),
            ]
        };
        let full: u64 = products.iter().map(|product| product.full).sum();
        let mut lines = Vec::new();
        if let Some(first) = products.first() {
            lines.push(format!(
                "{} ≤ truth + bound with probability {} (ε = {} of the product of both totals).",
                if full > 0 { "Estimate" } else { "truth ≤ estimate" },
                number::rate(1.0 - first.delta),
                number::rate(first.epsilon)
            ));
        }
        let table = Table { columns, rows: products.iter().map(row).collect(), ..Table::default() };
        let groups: Vec<_> = products
            .iter()
            .map(|product| {
                json!({
                    "group": product.group, "estimate": exact(product.estimate), "bound": product.bound,
                    "first_total": product.totals.0, "second_total": product.totals.1,
                    "epsilon": product.epsilon, "delta": product.delta, "counters_full": product.full,
                })
            })
            .collect();
        output.result(Sheet { table, lines }, json!({ "groups": groups }))?;
        if full > 0 {
            output.warn(format!(
                "{} ran full: the truth may be above the estimate",
                number::counted(full, "counter")
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A number for programs: as text where it is beyond 64 bits.
fn exact(estimate: u128) -> serde_json::Value {
    u64::try_from(estimate).map_or_else(|_| estimate.to_string().into(), serde_json::Value::from)
}
