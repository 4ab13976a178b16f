//! The files that a name with wildcards means, or a folder.

use std::io;
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt;
use glob::{MatchOptions, Pattern};
use object_store::path::Path as Key;

use super::address::Address;
use super::client::{Place, failure, wait};
use super::{Failure, Object};
use crate::inputs;

/// What a name means: the file of this name, those in the folder of this name, or those that it matches; nothing
/// where it matches none.
pub(crate) fn find(path: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(address) = Address::of(path) else { return Ok(vec![path.to_owned()]) };
    if !address.has_lists() {
        return Ok(vec![path.to_owned()]);
    }
    let absent = match Object::look(path) {
        Ok(_) => return Ok(vec![path.to_owned()]),
        Err(error) if matches!(Failure::of(&error), Some(Failure::Absent | Failure::Name)) => error,
        Err(error) => return Err(error),
    };
    let key = address.key.trim_end_matches('/');
    let place = Place::of(&Address { key, ..address })?;
    let mut keys = match key.contains(['*', '?', '[']) {
        true => wait(matching(&place, key))?,
        false => wait(below(&place, &place.key))?,
    };
    if keys.is_empty() && !key.contains(['*', '?', '[']) && !address.text.ends_with('/') {
        return Err(absent);
    }
    keys.sort();
    Ok(keys.into_iter().map(|key| PathBuf::from(format!("{}/{key}", address.store))).collect())
}

/// All files below a folder that are shown.
async fn below(place: &Place, folder: &Key) -> Result<Vec<String>, Failure> {
    let found: Vec<_> = place.store.list(Some(folder)).try_collect().await.map_err(failure)?;
    let shown = |key: &Key| {
        let rest = key.as_ref().strip_prefix(folder.as_ref()).unwrap_or(key.as_ref());
        let names = rest.split('/').filter(|name| !name.is_empty());
        // What stands for a folder has no name below it.
        names.clone().next().is_some()
            && names.clone().all(|name| !inputs::is_hidden(name.as_bytes()))
            && !names.clone().next_back().is_some_and(|name| inputs::is_own(name.as_bytes()))
    };
    Ok(found.into_iter().map(|file| file.location).filter(shown).map(String::from).collect())
}

/// All files that a pattern matches, and those in the folders that it matches: name after name, so that only
/// folders are listed that may hold some.
async fn matching(place: &Place, pattern: &str) -> Result<Vec<String>, Failure> {
    const OPTIONS: MatchOptions = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: true,
    };
    let wrong = |error| Failure::Other(format!("no such file, and not a glob that can be read: {error}"));
    let whole = Pattern::new(pattern).map_err(wrong)?;
    let names: Vec<&str> = pattern.split('/').collect();
    let mut folders = vec![Key::default()];
    let mut files = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let is_last = at + 1 == names.len();
        if name.contains("**") {
            for folder in &folders {
                let all = below(place, folder).await?;
                files.extend(all.into_iter().filter(|key| whole.matches_with(key, OPTIONS)));
            }
            return Ok(files);
        }
        if !name.contains(['*', '?', '[']) && !is_last {
            folders.iter_mut().for_each(|folder| *folder = folder.clone().join(*name));
            continue;
        }
        let one = Pattern::new(name).map_err(wrong)?;
        let matches = |key: &Key| key.filename().is_some_and(|name| one.matches_with(name, OPTIONS));
        let mut next = Vec::new();
        for folder in &folders {
            let listed = place.store.list_with_delimiter(Some(folder)).await.map_err(failure)?;
            next.extend(listed.common_prefixes.into_iter().filter(matches));
            if is_last {
                let found = listed.objects.into_iter().map(|file| file.location).filter(matches);
                files.extend(found.map(String::from));
            }
        }
        folders = next;
    }
    for folder in &folders {
        files.extend(below(place, folder).await?);
    }
    Ok(files)
}
