//! Queries on many machines: each machine answers those of its rows, from a file that it has whole.

use tamis::key::Recipe;
use tamis_jobs::ask::Filters;
use tamis_make::batch::{Keeps, KeyBatch, Needs};
use tamis_make::files::Mapped;
use tamis_make::rows::{Groups, KeyRows, OnBad};
use tamis_make::spread::Rows;
use tamis_read::Control;
use tamis_read::error::Result;

use super::answers::{Asking, Distinct, Writing};

/// The answers to some queries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answered {
    /// A line for each distinct key that has an answer, as a stream on one machine writes it.
    pub lines: Vec<u8>,
    /// The queries.
    pub queries: u64,
    /// Rows without a key, which were left out.
    pub skipped: u64,
}

/// Answers the queries in rows, whose columns this recipe has. The same key has the same lines on every
/// machine: whoever has all lines drops those that are there twice.
pub fn answers(
    file: &Mapped,
    recipe: &Recipe,
    on_bad: OnBad,
    rows: Rows,
    control: &Control,
) -> Result<Answered> {
    let params = file.params();
    let recipe = Recipe { group: None, weight: None, ..recipe.clone() };
    let sources = rows.sources(&recipe.columns())?;
    let take = KeyBatch::new(Keeps { bytes: true, ..Keeps::default() });
    let sink = KeyRows::new(&recipe, params.common.hash, on_bad, Groups::One(0), take);
    let sink = sources.scan_dyn(vec![sink], control)?.pop().expect("as many sinks come back");
    let (queries, mut firsts) = (sink.take, Vec::new());
    Distinct::default().firsts(&queries, &mut firsts);

    // In the order in which a stream on one machine names groups.
    let order = params.natural_order();
    let names = order.iter().map(|&at| &params.groups[at].group).collect();
    let sketches = order.iter().map(|&at| file.sketch(at)).collect::<tamis::Result<_>>()?;
    let asked = (names, Filters::of_sketches(Needs::of(params), sketches));
    let writing = Writing::new(&params.common.recipe, params.common.recipe.group.is_some());
    let mut lines = Vec::new();
    match params.common.kind.counts() {
        true => Asking::default().count(&queries, &firsts, &asked, writing, &mut lines),
        false => Asking::default().ask(&queries, &firsts, &asked, writing, &mut lines),
    };
    Ok(Answered { lines, queries: queries.len() as u64, skipped: sink.skipped })
}
