//! Filters of the same parameters brought together, or compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tamis::format::Tally;
use tamis::params::{GroupParams, Name, Params};
use tamis::sizing::Kind;
use tamis::sketch::estimated_keys;

use crate::arena::{self, Placing};
use crate::error::{Error, Result};
use crate::output::{self, Mapped};
use crate::{Control, parallel};

/// Merges files group by group; groups that only some have are kept. What goes in is verified:
/// damage would come out under a checksum that matches.
pub fn merge(
    inputs: &[PathBuf],
    to: &Path,
    threads: usize,
    control: &Control,
) -> Result<(Params, Vec<Tally>)> {
    output::check(to)?;
    let files = output::open_all(inputs)?;
    // Before all differences: those of static filters cannot be mended.
    if let Some((_, path)) =
        files.iter().zip(inputs).find(|(file, _)| file.params().common.kind == Kind::Fuse)
    {
        return Err(Error::Refused(format!(
            "{}: a fuse filter is static and cannot be merged; build one from all of the data, or build --kind blocked",
            path.display()
        )));
    }
    for (file, path) in files.iter().zip(inputs) {
        mergeable(&files[0], &inputs[0], file, path)?;
    }
    // Each group with the file it was first seen in: a later file may differ from that one, not
    // from the first of all.
    let mut groups: BTreeMap<&Name, (&GroupParams, usize)> = BTreeMap::new();
    for (i, file) in files.iter().enumerate() {
        for group in &file.params().groups {
            let (known, first) = *groups.entry(&group.group).or_insert((group, i));
            if known != group {
                mergeable(&files[first], &inputs[first], file, &inputs[i])?;
            }
        }
    }
    let groups = groups.into_values().map(|(group, _)| group.clone()).collect();
    let params = Params::new(files[0].params().common.clone(), groups)?;
    let mut data = Placing::new(&params).empty()?;
    let sections = arena::sections(&params, &mut data);
    control.begin(params.groups.len() as u64);
    let rows = parallel::each(threads, sections.len(), |group| {
        control.check()?;
        let mut section = sections[group].lock().expect("no holder panics");
        let mut rows = 0u64;
        for (file, path) in files.iter().zip(inputs) {
            if let Some(at) = file.params().find(&params.groups[group].group.0) {
                file.verify(at).map_err(Error::file(path))?;
                arena::or_into(&mut section, file.section(at));
                rows = rows.saturating_add(file.tallies()[at].rows);
            }
        }
        control.advance(1);
        Ok(rows)
    })?;
    drop(sections);
    drop(files);
    let seeds = vec![0; rows.len()];
    let tallies = output::write_container(to, &params, &rows, &seeds, &data, threads)?;
    Ok((params, tallies))
}

fn mergeable(a: &Mapped, a_path: &Path, b: &Mapped, b_path: &Path) -> Result<()> {
    match a.params().difference(b.params()) {
        None => Ok(()),
        Some(difference) => Err(Error::Refused(format!(
            "{} and {} have different parameters: {difference}; build both with the same ones \
             (tamis plan DATA … -o params.json, then tamis build --params params.json; or build --like one of them)",
            a_path.display(),
            b_path.display()
        ))),
    }
}

/// What two filters of one group tell about their sets. All numbers are estimates.
#[derive(Debug, Clone, PartialEq)]
pub struct Overlap {
    /// The group.
    pub group: Name,
    /// Keys in the first set.
    pub first: f64,
    /// Keys in the second set.
    pub second: f64,
    /// Keys in either.
    pub union: f64,
    /// Keys in both.
    pub both: f64,
}

impl Overlap {
    /// Keys in both / keys in either.
    pub fn jaccard(&self) -> f64 {
        if self.union > 0.0 { self.both / self.union } else { 0.0 }
    }
}

/// Compares two files, group by group; a group that only one has is compared with none.
pub fn compare(a_path: &Path, b_path: &Path, threads: usize) -> Result<Vec<Overlap>> {
    let (a, b) = (output::open(a_path)?, output::open(b_path)?);
    if [&a, &b].iter().any(|file| file.params().common.kind == Kind::Fuse) {
        return Err(Error::Refused(
            "the bits of fuse filters tell nothing about overlap; build --kind blocked or bloom".into(),
        ));
    }
    mergeable(&a, a_path, &b, b_path)?;
    let mut names: Vec<&Name> =
        a.params().groups.iter().chain(&b.params().groups).map(|group| &group.group).collect();
    names.sort_by(|a, b| a.compare_naturally(b));
    names.dedup();
    parallel::each(threads, names.len(), |i| {
        let name = names[i];
        let (in_a, in_b) = (a.params().find(&name.0), b.params().find(&name.0));
        let shape = in_a.map(|at| a.params().groups[at].shape).or(in_b.map(|at| b.params().groups[at].shape));
        let shape = shape.expect("a name comes from one of the two");
        // Records are counted by the XOR layer, which is the last; its bits are read.
        let layered = a.params().common.kind == Kind::Layered;
        let bits = if layered { shape.slots } else { shape.bits() };
        let keys = |ones: u64| estimated_keys(ones, bits, shape.hashes);
        let counted = |file: &Mapped, at: usize| match layered {
            true => xor_layer(file, at, bits).iter().map(|word| u64::from(word.count_ones())).sum(),
            false => file.tallies()[at].ones,
        };
        let first = in_a.map_or(0.0, |at| keys(counted(&a, at)));
        let second = in_b.map_or(0.0, |at| keys(counted(&b, at)));
        let union = match (in_a, in_b) {
            (Some(x), Some(y)) => {
                a.verify(x).map_err(Error::file(a_path))?;
                b.verify(y).map_err(Error::file(b_path))?;
                let pairs = match layered {
                    true => xor_layer(&a, x, bits).iter().zip(xor_layer(&b, y, bits)),
                    false => a.section(x).iter().zip(b.section(y)),
                };
                keys(pairs.map(|(x, y)| u64::from((x | y).count_ones())).sum())
            }
            _ => first + second,
        };
        // Noise may push the estimate of the overlap of strangers a little below zero.
        let both = (first + second - union).min(first.min(second)).max(0.0);
        Ok(Overlap { group: name.clone(), first, second, union, both })
    })
}

/// The last layer of a `layered`.
fn xor_layer(file: &Mapped, group: usize, bits: u64) -> &[u64] {
    let section = file.section(group);
    &section[section.len() - (bits / 64) as usize..]
}

/// Checks every checksum of a file.
pub fn verify(path: &Path, threads: usize, control: &Control) -> Result<(usize, u64)> {
    let file = output::open(path)?;
    let groups = file.params().groups.len();
    control.begin(groups as u64);
    parallel::each(threads, groups, |group| {
        control.check()?;
        control.advance(1);
        file.verify(group).map_err(Error::file(path))
    })?;
    Ok((groups, 8 * file.data().len() as u64))
}
