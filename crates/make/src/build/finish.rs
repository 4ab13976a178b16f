//! Sketches and, where they are kept, the keys themselves, on their way to files.

use std::path::Path;

use tamis::format::{Extras, Tally};
use tamis::params::Params;
use tamis_read::error::Result;
use tamis_read::{Control, Sources};

use super::{Built, Refusal};
use crate::changing::Changing;
use crate::count::KeyRules;
use crate::exact::{self, Gathered, Store};
use crate::files::{self, Draft};

/// Collects the keys of rows that went into filters.
pub(super) fn gather(
    sources: &Sources,
    rules: KeyRules<'_>,
    built: &Built,
    memory: u64,
    threads: usize,
    output: &Path,
    control: &Control,
) -> Result<Gathered> {
    let gathered = exact::gather(sources, rules, &built.params, memory, threads, output, control)?;
    if gathered.rows != built.rows.iter().sum::<u64>() {
        return Err(Refusal::Changed.into());
    }
    Ok(gathered)
}

/// Where filters go.
pub(super) struct Output<'o> {
    pub(super) path: &'o Path,
    /// That they replace what they were made of, where they do.
    pub(super) changing: Option<&'o Changing>,
    /// The file of bad rows, not yet in its place.
    pub(super) aside: Option<Draft>,
}

/// Writes the filters and, where keys are kept, the keys: both, or none. Should the program be ended between
/// the two, the digest tells that they do not belong together.
pub(super) fn finish(
    built: Built,
    gathered: Option<Gathered>,
    before: Option<&(Store, Params)>,
    output: Output<'_>,
    threads: usize,
    control: &Control,
) -> Result<(Params, Vec<Tally>, Option<u64>)> {
    let Output { path: output, changing, aside } = output;
    let Built { params, rows, beside, arena, heavy, about, .. } = built;
    let extras = Extras { heavy: heavy.as_ref(), about: Some(&about), journal: b"" };
    let (mut draft, tallies) =
        files::draft_container(output, &params, (&rows, &beside), &arena, extras, threads)?;
    drop(arena);
    let mut kept = None;
    if let Some(gathered) = gathered {
        let before: Vec<_> = before.iter().map(|(store, params)| (store, params)).collect();
        kept = Some(exact::write(output, draft.digest()?, &params, gathered, &before, control)?);
    }
    let (keys, pairs) = kept.unzip();
    // Keys without filters are no file of filters; filters without keys would be one that had none.
    changing.map_or(Ok(()), Changing::still)?;
    files::finish_all(aside.into_iter().chain(keys).chain([draft]))?;
    Ok((params, tallies, pairs))
}
