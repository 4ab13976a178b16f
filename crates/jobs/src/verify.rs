//! Every checksum of a file, and of the keys beside it.

use std::path::{Path, PathBuf};

use tamis_read::Control;
use tamis_read::error::{Error, Result};

use tamis_make::files::Mapped;
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
    /// The keys beside it, where there are any.
    pub keys: Option<Keys>,
}

/// A file of keys that was checked.
#[derive(Debug)]
pub struct Keys {
    /// The file.
    pub path: PathBuf,
    /// How many (key, group) pairs it holds; or that it is damaged, or belongs to other filters.
    pub found: Result<u64>,
}

/// Reads every part of a file and checks it, and the keys beside it where they are kept. A file that cannot even be opened is an error;
/// filters that do not match their checksums are all named in the report, and so is what is wrong with the keys.
pub fn verify(path: &Path, threads: usize, control: &Control) -> Result<Verified> {
    let file = files::open_to_weigh(path)?;
    let groups = file.params().groups.len();
    control.begin(groups as u64);
    let found = parallel::each(threads, groups, |group| {
        control.check()?;
        control.advance(1);
        Ok(file.verify(group).and_then(|()| file.verify_heavy(group)).err())
    })?;
    let damage = found.into_iter().flatten().collect();
    let found = match keys(path, &file, control) {
        Err(stopped @ Error::Interrupted) => return Err(stopped),
        found => found.transpose(),
    };
    let keys = found.map(|found| Keys { path: exact::path_beside(path), found });
    Ok(Verified { groups, bytes: 8 * file.data().len() as u64, damage, keys })
}

/// How many pairs are kept beside a file.
fn keys(path: &Path, file: &Mapped, control: &Control) -> Result<Option<u64>> {
    let Some(store) = exact::beside(path, file)? else { return Ok(None) };
    store.verify(control)?;
    Ok(Some(store.pairs()))
}
