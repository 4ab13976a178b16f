//! Records that are sieved on other machines: each sieves the rows it has; the numbers are summed up and
//! [concluded](super::conclude).

use std::ops::ControlFlow;

use tamis::key::Recipe;
use tamis_read::error::Result;
use tamis_read::{Control, Next};

use super::Sieved;
use super::sieve::{Asked, Sieve, Sieving};
use crate::ask::{Extent, Filters};
use tamis_make::files::Mapped;
use tamis_make::rows::{Groups, OnBad};
use tamis_make::spread::Rows;

/// What lines are asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// The number of a group; all are asked where none is given.
    pub group: Option<usize>,
    /// The recipe, with the columns of these lines.
    pub recipe: Recipe,
    /// How much of records is asked.
    pub extent: Extent,
    /// Whether the others pass.
    pub invert: bool,
    /// Records without a key; left out, they are among the others.
    pub on_bad: OnBad,
}

/// The lines that pass, as they are, and how many there were. What stands before the first record (a
/// header) is not among them.
pub fn sieve(file: &Mapped, question: &Question, rows: Rows, control: &Control) -> Result<(Vec<u8>, Sieved)> {
    let params = file.params();
    question.extent.check(params.common.kind)?;
    let filters = Filters::of_file(file)?.asked_for(question.extent);
    let recipe = Recipe { group: None, ..question.recipe.clone() };
    let sources = rows.sources(&recipe.columns())?;
    let sieving = Sieving {
        others: Vec::new(),
        asked: Asked::Any(question.group.map_or_else(|| (0..filters.len()).collect(), |group| vec![group])),
        filters,
        order: params.natural_order(),
        tag: None,
        invert: question.invert,
        wanted: [true, false],
        strict: false,
        skipping: None,
    };
    let sieve = Sieve::new(&sieving, &recipe, &params.common, Groups::One(0), question.on_bad);
    let mut passed = Vec::new();
    let take = |next: Next<'_, super::sieve::Sieved>| {
        if let Next::Batch(batch, _) = next {
            passed.extend_from_slice(batch.passed());
        }
        Ok(ControlFlow::Continue(()))
    };
    let sieve = sources.sift(vec![sieve], take, control)?.pop();
    let counts = sieve.expect("as many sieves come back").counts;
    let sieved = Sieved { records: counts.records, admitted: counts.admitted, keyless: counts.keyless };
    Ok((passed, sieved))
}
