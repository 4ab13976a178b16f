//! Which file is which when a log is rotated: the file that was read, by whatever name it goes now, and the file
//! that comes after another.
//!
//! A file is known by the numbers that the system has for it, and by the bytes that were read of it. Files that
//! came between two are known by their names: `x.log.2` is older than `x.log.1`, and `x.log-20261116` than
//! `x.log-20261117`.

use std::cmp::Ordering;
use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};

use tamis_make::place::{folder_of, number};
use tamis_make::resume::{Mark, Numbered};

use super::refusal::Loss;

/// How names of compressed files end.
const PACKED: [&str; 6] = ["gz", "bz2", "xz", "zst", "lz4", "Z"];

/// Files that share this many bytes are the same file, though the system gave it another number.
const CONVINCING: u64 = 1 << 10;

/// The regular files in the folder of a name, and in that of the file that a link of this name leads to.
fn beside(name: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder_of(name).to_owned()];
    if fs::symlink_metadata(name).is_ok_and(|link| link.is_symlink()) {
        folders.extend(fs::canonicalize(name).ok().map(|path| folder_of(&path).to_owned()));
    }
    let entries = folders.into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    // As people write it.
    let paths = paths.map(|path| path.strip_prefix(".").map(Path::to_owned).unwrap_or(path));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| fs::metadata(path).is_ok_and(|file| file.is_file())).collect();
    paths.sort();
    paths
}

/// The last part of a path, as text.
fn last(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The name of a file, without the ending of what is compressed.
fn unpacked(name: &str) -> Option<&str> {
    let (stem, end) = name.rsplit_once('.')?;
    PACKED.contains(&end).then_some(stem)
}

/// The name beside this one by which a file goes now.
pub(super) fn name_of(file: &Metadata, name: &Path) -> Option<PathBuf> {
    let numbers = number(file)?;
    let is = |path: &PathBuf| fs::metadata(path).ok().and_then(|there| number(&there)) == Some(numbers);
    beside(name).into_iter().find(is)
}

/// Where the file is that had this name and was read so far.
pub(super) fn find(mark: &Mark, name: &Path) -> Result<PathBuf, Loss> {
    let files = beside(name);
    let holds = |path: &Path| File::open(path).is_ok_and(|file| mark.is_in(&file));
    let is_it = |path: &Path| mark.is_traced_to(path) == Some(true) && holds(path);
    if is_it(name) {
        return Ok(name.into());
    }
    if let Some(path) = files.iter().find(|path| is_it(path)) {
        return Ok(path.clone());
    }
    let read = mark.offset;
    let there = fs::metadata(name).ok();
    let numbered = there.as_ref().map_or(Numbered::Other, |file| mark.is_numbered(file));
    let convinced = read >= CONVINCING || numbered == Numbered::Unknown;
    let copy = copy_of(name, read, |file| mark.is_in(file));
    match (numbered, copy) {
        (Numbered::Same, copy) => {
            let length = there.map_or(0, |file| file.len());
            Err(Loss::Cut { read, length, copy })
        }
        // As when a disk was restored.
        _ if there.is_some() && convinced && holds(name) => Ok(name.into()),
        // As when it was compressed, and is no longer.
        (_, Some((copy, _))) => Ok(copy),
        _ => {
            let is_packed = |path: &&PathBuf| {
                let file = last(path);
                unpacked(&file).is_some() && file.starts_with(&last(name))
            };
            let packed = files.iter().filter(is_packed).max_by_key(|path| modified(path));
            Err(match packed {
                Some(now) => Loss::Packed { read, now: now.clone() },
                None => Loss::Gone { read },
            })
        }
    }
}

/// The one file that begins with what was read of this one, and has its name with an ending; and how many bytes
/// it has beyond that.
pub(super) fn copy_of(name: &Path, read: u64, holds: impl Fn(&File) -> bool) -> Option<(PathBuf, u64)> {
    if read < CONVINCING {
        return None;
    }
    let is_copy = |path: &PathBuf| {
        path != name && last(path).starts_with(&last(name)) && File::open(path).is_ok_and(|file| holds(&file))
    };
    let mut copies = beside(name).into_iter().filter(is_copy);
    let (copy, None) = (copies.next()?, copies.next()) else { return None };
    let length = fs::metadata(&copy).ok()?.len();
    Some((copy, length.saturating_sub(read)))
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}

/// What stands between a file that had a name, and the one that has it now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Between {
    Nothing,
    /// The next file that has text.
    File(PathBuf),
    /// A file that must have been there, and is gone or compressed.
    Gone(PathBuf, Option<PathBuf>),
}

/// What comes after a file, which is called `old` now.
pub(super) fn after(old: &Path, name: &Path) -> Between {
    let (was, is) = (last(old), last(name));
    let counted = was.strip_prefix(&is).and_then(|rest| rest.strip_prefix('.'));
    let counted = counted.filter(|digits| digits.len() <= 3).and_then(|digits| digits.parse::<u32>().ok());
    match counted {
        Some(number) => after_number(number, old, &is),
        None => after_date(&was, old, name),
    }
}

fn has_text(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() > 0)
}

/// `x.log.3` is followed by `x.log.2`. Some begin to count at 0.
fn after_number(number: u32, old: &Path, name: &str) -> Between {
    let at = |number: u32| old.with_file_name(format!("{name}.{number}"));
    for number in (0..number).rev() {
        let path = at(number);
        if path.is_file() {
            if has_text(&path) {
                return Between::File(path);
            }
            continue;
        }
        let mut packed = PACKED.iter().map(|end| old.with_file_name(format!("{name}.{number}.{end}")));
        let packed = packed.find(|path| path.is_file());
        if number > 0 || packed.is_some() {
            return Between::Gone(path, packed);
        }
    }
    Between::Nothing
}

/// `x.log-20261116` is followed by `x.log-20261117`: names that differ in their numbers alone, in their order.
fn after_date(was: &str, old: &Path, name: &Path) -> Between {
    let is_later = |path: &Path, stem: &str| {
        // A name that counts down would be older, and not written to since. Dates count up, and a slow writer may
        // still write to an old file when there is a newer one.
        let is_larger = order(stem, was) == Some(Ordering::Greater);
        path != name && is_larger && (is_dated(stem) || modified(path) >= modified(old))
    };
    let folder = beside(old).into_iter().filter_map(|path| {
        let file = last(&path);
        let packed = unpacked(&file);
        let stem = packed.unwrap_or(&file).to_owned();
        is_later(&path, &stem).then_some((stem, packed.is_some(), path))
    });
    let mut files: Vec<(String, bool, PathBuf)> = folder.collect();
    // A file that is there counts, and not what was made of it.
    files.sort_by(|(one, one_packed, _), (other, other_packed, _)| {
        let order = order(one, other).unwrap_or(Ordering::Equal);
        order.then_with(|| one.cmp(other)).then(one_packed.cmp(other_packed))
    });
    files.dedup_by(|(later, ..), (stem, ..)| later == stem);
    match files.into_iter().find(|(.., path)| has_text(path)) {
        None => Between::Nothing,
        Some((stem, true, path)) => Between::Gone(path.with_file_name(stem), Some(path)),
        Some((_, false, path)) => Between::File(path),
    }
}

/// Whether a name has a date, or a year: a number that nobody counts files to.
fn is_dated(name: &str) -> bool {
    name.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() >= 4)
}

/// How names follow each other that differ in their numbers alone.
fn order(name: &str, than: &str) -> Option<Ordering> {
    let (mut one, mut other) = (name, than);
    let mut order = Ordering::Equal;
    loop {
        let [digits, others] =
            [one, other].map(|text| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len());
        if digits > 0 && others > 0 {
            let [a, b] = [&one[..digits], &other[..others]].map(|digits| digits.trim_start_matches('0'));
            order = order.then(a.len().cmp(&b.len()).then(a.cmp(b)));
            (one, other) = (&one[digits..], &other[others..]);
            continue;
        }
        match (one.chars().next(), other.chars().next()) {
            (None, None) => return Some(order),
            (Some(a), Some(b)) if a == b => (one, other) = (&one[a.len_utf8()..], &other[b.len_utf8()..]),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(folder.path().join(name), if name.contains("empty") { "" } else { "x\n" }).unwrap();
        }
        folder
    }

    fn next(names: &[&str], old: &str) -> String {
        let folder = folder(names);
        let at = |name: &str| folder.path().join(name);
        match after(&at(old), &at("x.log")) {
            Between::Nothing => "x.log".into(),
            Between::File(path) => last(&path),
            Between::Gone(path, packed) => {
                format!("no {}, {}", last(&path), packed.as_deref().map_or("".into(), last))
            }
        }
    }

    #[test]
    fn files_that_are_counted_follow_from_the_highest_number_down() {
        let names = ["x.log", "x.log.1", "x.log.2", "x.log.3", "x.log.10", "y.log.1"];
        assert_eq!(
            ["x.log.3", "x.log.2", "x.log.1"].map(|old| next(&names, old)),
            ["x.log.2", "x.log.1", "x.log"]
        );
        assert_eq!(next(&names, "x.log.10"), "no x.log.9, ");
        assert_eq!(next(&["x.log", "x.log.0", "x.log.1"], "x.log.1"), "x.log.0");
        assert_eq!(next(&["x.log", "x.log.1.gz", "x.log.2"], "x.log.2"), "no x.log.1, x.log.1.gz");
    }

    #[test]
    fn files_that_are_dated_follow_in_the_order_of_their_dates() {
        let names =
            ["x.log-20261115", "x.log-20261116", "x.log-20261117", "x.log", "y.log-20261116", "x.log.2"];
        assert_eq!(next(&names, "x.log-20261115"), "x.log-20261116");
        assert_eq!(next(&names, "x.log-20261117"), "x.log");
        assert_eq!(next(&["x-9.log", "x-10.log", "x-11.log", "x.log"], "x-9.log"), "x-10.log");
        assert_eq!(
            next(&["x.log-1115", "x.log-1116.gz", "x.log"], "x.log-1115"),
            "no x.log-1116, x.log-1116.gz"
        );
        assert_eq!(next(&["old", "x.log"], "old"), "x.log");
    }

    /// As `gzip -k` leaves them, and every gzip while it is at work.
    #[test]
    fn a_file_that_is_there_is_read_though_a_compressed_one_is_beside_it() {
        let names = ["x.log-15", "x.log-16", "x.log-16.gz", "x.log-17.bz2", "x.log-17.gz", "x.log"];
        assert_eq!(next(&names, "x.log-15"), "x.log-16");
        assert_eq!(next(&names, "x.log-16"), "no x.log-17, x.log-17.bz2");
        let empty = ["empty-15", "empty-16", "empty-16.gz", "empty-17.gz", "empty-18"];
        let folder = folder(&empty);
        let at = |name: &str| folder.path().join(name);
        fs::write(at("empty-16.gz"), "what gzip makes of nothing").unwrap();
        fs::write(at("empty-18"), "x\n").unwrap();
        assert_eq!(after(&at("empty-15"), &at("x.log")), Between::File(at("empty-18")));
        assert_eq!(next(&["x.log.1", "x.log.1.gz", "x.log.2", "x.log"], "x.log.2"), "x.log.1");
    }

    /// The newer file was once passed over without a word.
    #[test]
    fn a_slow_writer_of_an_old_file_does_not_make_it_newer_than_the_next() {
        for [old, new] in [["x.log-20260101", "x.log-20260102"], ["x-2026-01-01.log", "x-2026-01-02.log"]] {
            let folder = folder(&[old, new, "x.log"]);
            let at = |name: &str| folder.path().join(name);
            let later = modified(&at(new)).unwrap() + std::time::Duration::from_secs(5);
            File::options().write(true).open(at(old)).unwrap().set_modified(later).unwrap();
            assert_eq!(after(&at(old), &at("x.log")), Between::File(at(new)));
            assert_eq!(after(&at(new), &at("x.log")), Between::Nothing);
        }
    }
}
