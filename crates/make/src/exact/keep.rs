//! Keys collected from a table or from other files of keys, and written beside their filters.

use std::io::Read;
use std::path::Path;

use tamis::params::Params;
use tamis_read::error::{Error, Result};
use tamis_read::remote;
use tamis_read::{Control, Sources};

use super::layout::MAGIC;
use super::merge::{Source, merge, readers};
use super::runs::{Record, Run, Sorter};
use super::store::{Store, StoreRecords, Writer};
use super::{Refusal, path_beside};
use crate::count::KeyRules;
use crate::files::{self, Draft, Mapped};
use crate::place::working_folder;
use crate::rows::{Groups, Key, Take};
use crate::{pipe, place};

/// Keys on their way to a file.
#[derive(Debug)]
pub struct Gathered {
    runs: Vec<Run>,
    /// The rows they come from.
    pub rows: u64,
    memory: u64,
}

struct Collect {
    sorter: Sorter,
    /// The first failure: it cannot be returned from inside a row.
    failed: Option<Error>,
}

impl Take for Collect {
    fn take(&mut self, key: Key<'_>) {
        if self.failed.is_none() {
            let record = Record { hash: key.hash, group: key.group, number: 0, key: key.bytes };
            self.failed = self.sorter.push(record).err();
        }
    }
}

/// Collects the keys of all rows, in this much memory; what does not fit waits in the folder of
/// the file that it is for.
pub fn gather(
    sources: &Sources,
    rules: KeyRules<'_>,
    params: &Params,
    memory: u64,
    threads: usize,
    filters: &Path,
    control: &Control,
) -> Result<Gathered> {
    let folder = working_folder(filters);
    let sink = || {
        let sorter = Sorter::new(memory / threads as u64, true, &folder);
        let collect = Collect { sorter, failed: None };
        rules.rows(Groups::Known(params), collect)
    };
    let sinks = sources.scan_dyn((0..threads).map(|_| sink()).collect(), control)?;
    let mut gathered = Gathered { runs: Vec::new(), rows: 0, memory };
    for sink in sinks {
        gathered.rows += sink.rows.iter().sum::<u64>();
        let Collect { sorter, failed } = sink.take;
        failed.map_or(Ok(()), Err)?;
        gathered.runs.extend(sorter.into_runs()?);
    }
    Ok(gathered)
}

/// The keys beside these filters, if there are any; those of others are refused. Nothing lies beside a pipe.
pub fn beside(filters: &Path, container: &Mapped) -> Result<Option<Store>> {
    if pipe::is_stdin(filters) {
        return Ok(None);
    }
    let path = path_beside(filters);
    match place::is_there(&path).map_err(Error::io(&path))? {
        true => Store::open(filters, container).map(Some),
        false => Ok(None),
    }
}

/// Refuses to keep keys beside these filters where that place cannot be written, or something else is there:
/// nobody named it, so nobody meant it to be replaced.
pub fn check_place(filters: &Path) -> Result<()> {
    let path = path_beside(filters);
    files::check(&path)?;
    match found(&path)? {
        Some(Found::Other) => Err(Error::input(path, Refusal::Foreign { filters: filters.into() })),
        Some(Found::Keys) | None => Ok(()),
    }
}

/// What is in the place of exact keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Exact keys, by their first bytes.
    Keys,
    /// Something else.
    Other,
}

/// What is there; nothing where nothing is.
pub fn found(path: &Path) -> Result<Option<Found>> {
    if !place::is_there(path).map_err(Error::io(path))? {
        return Ok(None);
    }
    let mut first = Vec::new();
    let file = remote::open(path).map_err(Error::io(path))?;
    file.take(MAGIC.len() as u64).read_to_end(&mut first).map_err(Error::io(path))?;
    Ok(Some(if first == MAGIC { Found::Keys } else { Found::Other }))
}

/// Writes the keys for filters of this digest and these parameters: those gathered, and those of
/// other stores, whose groups may be numbered otherwise; those of groups that are not there are left out. Gives the file, which is not yet in its
/// place, and the number of pairs.
pub fn write(
    filters: &Path,
    digest: u128,
    params: &Params,
    gathered: Gathered,
    others: &[(&Store, &Params)],
    control: &Control,
) -> Result<(Draft, u64)> {
    let folder = &*working_folder(filters);
    let mut sources = readers(gathered.runs, gathered.memory / 2, true, folder, control)?;
    for (store, of) in others {
        let place = |group: &tamis::params::GroupParams| params.find(&group.group.0).map(|at| at as u32);
        let groups = of.groups.iter().map(place).collect();
        sources.push(Source::Store(StoreRecords::new(store, Some(groups))));
    }
    let mut writer = Writer::new(filters)?;
    merge(sources, true, folder, control, |record| writer.push(record))?;
    writer.finish(digest)
}

/// Gives every (key, group) pair of a store once, in the order of hashes.
pub fn each(store: &Store, control: &Control, mut take: impl FnMut(Key<'_>)) -> Result<()> {
    let mut records = StoreRecords::new(store, None);
    let mut steps = 0u32;
    while records.advance()? {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(1 << 16) {
            control.check()?;
        }
        let Record { hash, group, key, .. } = records.record();
        take(Key { group, hash, bytes: key, weight: 1 });
    }
    Ok(())
}

impl Gathered {
    /// No keys: where all come from other stores.
    pub fn none(memory: u64) -> Self {
        Gathered { runs: Vec::new(), rows: 0, memory }
    }
}
