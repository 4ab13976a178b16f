//! The hashes of all rows, by group and in order.
//!
//! What depends on the order of keys, and must not depend on that of the rows or on the threads, is done
//! with them in the order of their hashes. That is also the order in which they stand in a filter, so
//! that memory is walked through once. It costs 8 bytes of memory for each.

use std::sync::Mutex;

use tamis::params::Params;
use tamis_read::error::Result;
use tamis_read::{Control, Sources};

use crate::count::KeyRules;
use crate::distinct::HashLog;
use crate::parallel;
use crate::rows::{Groups, Key, Take};

/// What was collected.
#[derive(Debug)]
pub(crate) struct Hashes {
    /// Of each group of the parameters, ascending.
    pub groups: Vec<Vec<u64>>,
    /// Rows of groups that the parameters do not have.
    pub strangers: u64,
    /// Rows left out.
    pub skipped: u64,
}

/// Which rows are collected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// Of equal keys of a group one only.
    pub distinct: bool,
    /// Whether a group that the parameters do not have makes a bad row, or is but counted.
    pub known_groups: bool,
}

enum Of {
    All(Vec<u64>),
    Distinct(HashLog),
}

impl Of {
    #[inline]
    fn push(&mut self, hash: u64) {
        match self {
            Of::All(hashes) => hashes.push(hash),
            Of::Distinct(log) => {
                let full = log.push(hash);
                if full {
                    log.settle();
                }
            }
        }
    }

    fn hashes(self) -> Vec<u64> {
        match self {
            Of::All(hashes) => hashes,
            Of::Distinct(mut log) => {
                log.settle();
                log.hashes().to_vec()
            }
        }
    }
}

struct Collect(Vec<Of>);

impl Take for Collect {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        // A stranger is not kept: the rows of each group are counted.
        if let Some(of) = self.0.get_mut(key.group as usize) {
            of.push(key.hash);
        }
    }
}

/// Collects the hashes of all rows.
pub(crate) fn by_group(
    sources: &Sources,
    rules: KeyRules<'_>,
    params: &Params,
    wanted: Wanted,
    threads: usize,
    control: &Control,
) -> Result<Hashes> {
    let groups = params.groups.len();
    let sink = |_| {
        let of = || if wanted.distinct { Of::Distinct(HashLog::default()) } else { Of::All(Vec::new()) };
        let names = match wanted.known_groups {
            true => Groups::Known(params),
            false => Groups::KnownOr(params, groups as u32),
        };
        rules.rows(names, Collect((0..groups).map(|_| of()).collect()))
    };
    let sinks = sources.scan_dyn((0..threads).map(sink).collect(), control)?;
    let (mut parts, mut strangers, mut skipped) = (Vec::new(), 0, 0);
    for sink in sinks {
        strangers += sink.rows.get(groups).copied().unwrap_or(0);
        skipped += sink.skipped;
        parts.push(sink.take.0.into_iter().map(|of| Mutex::new(Some(of))).collect::<Vec<_>>());
    }
    let groups = parallel::each(threads, groups, |group| {
        control.check()?;
        let mut all = Vec::new();
        for part in &parts {
            let of = part[group].lock().expect("no holder panics").take();
            all.append(&mut of.map(Of::hashes).unwrap_or_default());
        }
        all.sort_unstable();
        if wanted.distinct {
            all.dedup();
        }
        Ok(all)
    })?;
    Ok(Hashes { groups, strangers, skipped })
}
