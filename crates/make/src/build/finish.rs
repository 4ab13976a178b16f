//! Sketches and, where they are kept, the keys themselves, on their way to files.

use std::path::Path;

use tamis::format::{Extras, Tally};
use tamis::params::Params;
use tamis_read::error::Result;
use tamis_read::{Control, Sources};

use super::{Built, Refusal};
use crate::count::KeyRules;
use crate::exact::{self, Gathered, Store};
use crate::files;

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

/// Writes the filters and, where keys are kept, the keys: both are whole before one is put in
/// its place. Should all end between the two, the digest tells that they do not belong together.
pub(super) fn finish(
    built: Built,
    gathered: Option<Gathered>,
    before: Option<&(Store, Params)>,
    output: &Path,
    threads: usize,
    control: &Control,
) -> Result<(Params, Vec<Tally>, Option<u64>)> {
    let Built { params, rows, beside, arena, heavy, about, .. } = built;
    let extras = Extras { heavy: heavy.as_ref(), about: Some(&about), journal: b"" };
    let tallies = files::seal(&params, (&rows, &beside), &arena, threads)?;
    drop((rows, beside)); // they are in the tallies now, and there may be millions
    let mut draft = files::draft_sealed(output, &params, &tallies, &arena, extras)?;
    drop(arena);
    let mut pairs = None;
    if let Some(gathered) = gathered {
        let before: Vec<_> = before.iter().map(|(store, params)| (store, params)).collect();
        let (keys, count) = exact::write(output, draft.digest()?, &params, gathered, &before, control)?;
        keys.finish()?;
        pairs = Some(count);
    }
    draft.finish()?;
    Ok((params, tallies, pairs))
}
