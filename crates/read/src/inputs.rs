//! What the user named: files, globs, folders and standard input.

use std::fs;
use std::path::{Path, PathBuf, absolute};

use glob::{MatchOptions, Pattern, PatternError};

use crate::refusal::Refusal;
use crate::remote::{self, Failure};
use crate::{Error, Result};

/// Standard input, among paths.
pub(super) const STDIN: &str = "-";

/// What Spark and Parquet writers leave beside the data.
const MARKERS: [&str; 3] = ["_SUCCESS", "_metadata", "_common_metadata"];

/// What tamis itself makes: a folder may hold what an earlier run made of it.
const OWN: [&[u8]; 2] = [b".tamis", b".tamis.keys"];

/// Why no inputs were found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoInput {
    /// Nothing was named.
    #[error("no input: name files, folders or globs, or - for standard input")]
    Unnamed,
    /// Standard input was named more than once.
    #[error("- (standard input) can be given only once")]
    StdinTwice,
    /// No such file.
    #[error("no such file or folder")]
    Absent,
    /// A folder without files to read.
    #[error("this folder contains no files (hidden files and files of filters do not count)")]
    EmptyFolder,
    /// Something else than a file, in a folder.
    #[error(
        "this is neither a file nor a folder (a pipe, or a broken link): name the files themselves, or remove it"
    )]
    NoFile,
    /// A pattern that cannot be read.
    #[error("no such file, and not a glob that can be read: {0}")]
    BadGlob(#[source] PatternError),
    /// A pattern of no file.
    #[error("no file matches")]
    NoMatch,
}

impl Refusal for NoInput {}

/// All files meant, in the given order; those of a glob or a folder by path.
pub(super) fn expand(inputs: &[String]) -> Result<Vec<PathBuf>> {
    if inputs.is_empty() {
        return Err(NoInput::Unnamed.into());
    }
    if inputs.iter().filter(|input| *input == STDIN).count() > 1 {
        return Err(NoInput::StdinTwice.into());
    }
    let mut paths = Vec::new();
    for input in inputs {
        let path = Path::new(input);
        // A name that exists is that file, whatever characters it has.
        if remote::is_remote(path) {
            elsewhere(path, &mut paths)?;
        } else if input == STDIN || path.exists() {
            add(path, &mut paths)?;
        } else if input.contains(['*', '?', '[']) {
            matches(input, &mut paths)?;
        } else {
            return Err(Error::input(path, NoInput::Absent));
        }
    }
    Ok(paths)
}

/// Files that lie elsewhere.
fn elsewhere(path: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let found = remote::find(path).map_err(|error| match Failure::of(&error) {
        Some(Failure::Absent) => Error::input(path, NoInput::Absent),
        _ => Error::io(path)(error),
    })?;
    if found.is_empty() {
        let folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        return Err(Error::input(path, if folder { NoInput::EmptyFolder } else { NoInput::NoMatch }));
    }
    paths.extend(found);
    Ok(())
}

/// Whether a name is passed over, as that of a file or a folder.
pub(super) fn is_hidden(name: &[u8]) -> bool {
    name.starts_with(b".") || MARKERS.iter().any(|marker| name == marker.as_bytes())
}

/// Whether a name is that of a file which tamis makes.
pub(super) fn is_own(name: &[u8]) -> bool {
    OWN.iter().any(|own| name.ends_with(own))
}

fn add(path: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    if path.as_os_str() == STDIN || !path.is_dir() {
        paths.push(path.to_owned());
        return Ok(());
    }
    let before = paths.len();
    below(path, paths)?;
    if paths.len() == before {
        return Err(Error::input(path, NoInput::EmptyFolder));
    }
    paths[before..].sort();
    Ok(())
}

/// Regular files below a folder. Links to files are followed, links to folders are not: they may
/// lead back.
fn below(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let entry = entry.map_err(Error::io(folder))?;
        let name = entry.file_name();
        let bytes = name.as_encoded_bytes();
        if is_hidden(bytes) {
            continue;
        }
        let path = entry.path();
        if entry.file_type().map_err(Error::io(&path))?.is_dir() {
            below(&path, paths)?;
        } else if is_own(bytes) {
            continue;
        } else if path.is_file() {
            paths.push(path);
        } else if !path.is_dir() {
            // Not passed over without a word: what it should bring would be missing.
            return Err(Error::input(path, NoInput::NoFile));
        }
    }
    Ok(())
}

/// Whether a file or folder of this path would be found, though it need not be there yet.
pub(super) fn would_find(inputs: &[String], path: &Path) -> bool {
    let (named, real) = (absolute(path).unwrap_or_else(|_| path.to_owned()), real(path));
    inputs.iter().any(|input| {
        let given = Path::new(input);
        if input == STDIN || given.is_file() {
            return false;
        }
        if given.is_dir() {
            return is_shown_below(&real, &self::real(given));
        }
        let options = MatchOptions {
            require_literal_separator: true,
            require_literal_leading_dot: true,
            ..MatchOptions::new()
        };
        let pattern = absolute(given).unwrap_or_else(|_| given.to_owned());
        let Some(pattern) = pattern.to_str().and_then(|pattern| Pattern::new(pattern).ok()) else {
            return false; // as is said when inputs are looked for
        };
        let mut above = named.ancestors().filter(|path| pattern.matches_path_with(path, options));
        above.any(|folder| is_shown_below(&named, folder))
    })
}

/// Whether a path lies in a folder, or is it, with no hidden name between them.
fn is_shown_below(path: &Path, folder: &Path) -> bool {
    path.strip_prefix(folder)
        .is_ok_and(|rest| rest.iter().all(|name| !name.as_encoded_bytes().starts_with(b".")))
}

/// A path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let path = absolute(path).unwrap_or_else(|_| path.to_owned());
    for folder in path.ancestors() {
        if let (Ok(there), Ok(rest)) = (fs::canonicalize(folder), path.strip_prefix(folder)) {
            return if rest.as_os_str().is_empty() { there } else { there.join(rest) };
        }
    }
    path
}

fn matches(pattern: &str, paths: &mut Vec<PathBuf>) -> Result<()> {
    let refused = |why: NoInput| Error::input(pattern, why);
    let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::new() };
    let found = glob::glob_with(pattern, options).map_err(|error| refused(NoInput::BadGlob(error)))?;
    let before = paths.len();
    for path in found {
        let path = path.map_err(|error| Error::Io { path: error.path().to_owned(), source: error.into() })?;
        add(&path, paths)?;
    }
    if paths.len() == before {
        return Err(refused(NoInput::NoMatch));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x\n").unwrap();
        }
        folder
    }

    fn expanded(folder: &tempfile::TempDir, inputs: &[&str]) -> Result<Vec<String>> {
        let root = folder.path();
        let inputs: Vec<String> = inputs
            .iter()
            .map(|&input| if input == "-" { input.into() } else { root.join(input).display().to_string() })
            .collect();
        let paths = expand(&inputs)?;
        Ok(paths.iter().map(|path| path.strip_prefix(root).unwrap_or(path).display().to_string()).collect())
    }

    #[test]
    fn folders_give_their_files_by_path_without_hidden_ones() {
        let folder = folder(&["b/2", "b/10", "a", ".h", "b/.git/x", "_SUCCESS", "c/d/e"]);
        assert_eq!(expanded(&folder, &["."]).unwrap(), ["a", "b/10", "b/2", "c/d/e"]);
        assert_eq!(expanded(&folder, &["c", "a", "-"]).unwrap(), ["c/d/e", "a", "-"]);
    }

    #[test]
    fn globs_are_expanded_as_a_shell_would() {
        let folder = folder(&["x1.csv", "x2.csv", ".x3.csv", "y/x4.csv", "z[1].csv"]);
        assert_eq!(expanded(&folder, &["*.csv"]).unwrap(), ["x1.csv", "x2.csv", "z[1].csv"]);
        assert_eq!(expanded(&folder, &["**/x?.csv"]).unwrap(), ["x1.csv", "x2.csv", "y/x4.csv"]);
        assert_eq!(expanded(&folder, &["z[1].csv"]).unwrap(), ["z[1].csv"]);
    }

    #[test]
    fn what_would_be_found_is_what_is_found_when_it_is_there() {
        let names = ["a", "x1.csv", "b/x2.csv", "b/c/y", ".h/x3.csv", "b/.x4.csv", "d/b/z"];
        let (there, not_yet) = (folder(&names), folder(&["b/is", "d/is"]));
        for inputs in [&["."][..], &["b"], &["*"], &["*.csv"], &["b/*"], &["**/*.csv"], &["?/b", "a*"]] {
            let found = expanded(&there, inputs).unwrap();
            let given: Vec<String> =
                inputs.iter().map(|input| not_yet.path().join(input).display().to_string()).collect();
            for name in names {
                let would = would_find(&given, &not_yet.path().join(name));
                assert_eq!(would, found.iter().any(|found| found == name), "{inputs:?} {name}");
            }
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        let folder = folder(&["a", "empty/.hidden"]);
        let message = |inputs: &[&str]| expanded(&folder, inputs).unwrap_err().to_string();
        assert!(message(&["*.tsv"]).ends_with("*.tsv: no file matches"));
        assert!(message(&["b"]).ends_with("b: no such file or folder"));
        assert!(message(&["empty"]).contains("contains no files"));
        assert!(message(&["-", "a", "-"]).contains("only once"));
        assert!(message(&[]).contains("no input"));
        assert!(message(&["a***b["]).contains("not a glob"));
    }
}
