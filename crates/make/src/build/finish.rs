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
use crate::pipe::{self, Target};

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
    pub(super) to: Target<'o>,
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
    let Output { to, changing, aside } = output;
    let Built { params, rows, beside, arena, heavy, about, .. } = built;
    let extras = Extras { heavy: heavy.as_ref(), about: Some(&about), journal: b"" };
    let tallies = files::seal(&params, (&rows, &beside), &arena, threads)?;
    drop((rows, beside)); // they are in the tallies now, and there may be millions
    let output = match to {
        Target::File(path) => path,
        Target::Stdout(form) => {
            pipe::write(form, &params, &tallies, &arena, extras)?;
            files::finish_all(aside)?;
            return Ok((params, tallies, None));
        }
    };
    let mut draft = files::draft_sealed(output, &params, &tallies, &arena, extras)?;
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
