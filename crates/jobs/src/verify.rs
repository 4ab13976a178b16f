//! Every checksum of a file.

use std::path::Path;

use tamis_read::Control;
use tamis_read::error::Result;

use tamis_make::{exact, files, parallel};

/// What was checked.
#[derive(Debug)]
pub struct Verified {
    /// Groups in the file.
    pub groups: usize,
    /// Bytes of filters.
    pub bytes: u64,
    /// What is wrong with each filter that is damaged; none where the file is sound.
    pub damage: Vec<tamis::Error>,
}

/// Reads every part of a file and checks it, and the keys beside it where they are kept. A file that cannot even be opened is an error;
/// filters that do not match their checksums are all named in the report.
pub fn verify(path: &Path, threads: usize, control: &Control) -> Result<Verified> {
    let file = files::open_as_is(path)?;
    let groups = file.params().groups.len();
    control.begin(groups as u64);
    let found = parallel::each(threads, groups, |group| {
        control.check()?;
        control.advance(1);
        Ok(file.verify(group).and_then(|()| file.verify_heavy(group)).err())
    })?;
    let damage = found.into_iter().flatten().collect();
    if let Some(store) = exact::beside(path, &file)? {
        store.verify(control)?;
    }
    Ok(Verified { groups, bytes: 8 * file.data().len() as u64, damage })
}
