//! What a commit remembers of inputs, and whether they are still what they were.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tamis::params::Name;
use tamis_make::resume::{Mark, named};
use tamis_read::error::{Error, Result};
use tamis_read::{Delimiter, Explained, Format, Options};

use super::refusal::CannotResume;

/// What the commit remembers beside the place.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Bookmark {
    /// The files that were read, the last perhaps not to its end.
    pub(super) files: Vec<Mark>,
    /// How the text that comes live is understood.
    pub(super) live: Option<Understood>,
    /// Where the marks of a file begin that was followed, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) followed: Option<Numbers>,
    /// That the file was found cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cut: Option<Cut>,
}

/// How the files are numbered that had the name that is followed, one after the other.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Numbers {
    /// The number of the name among the inputs, and of the first file that had it.
    pub(super) name: u64,
    /// The number of the file that the first of their marks is of.
    pub(super) first: u64,
}

/// A file that was cut while it was followed, so that no mark of it can be made.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Cut {
    /// Bytes that were read of it.
    pub(super) read: u64,
    /// As long as it was then.
    pub(super) length: u64,
}

/// Seen once, at the beginning of a text that later runs do not see.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Understood {
    /// Byte order mark and header.
    pub(super) prelude: Name,
    format: String,
    /// The number of a byte, or `whitespace`.
    delimiter: Option<Value>,
    header: bool,
    /// Only lines that are one value however they are cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    undeclared: bool,
}

/// Those that text which comes live can have.
const LIVE: [Format; 5] = [Format::Lines, Format::Csv, Format::Tsv, Format::Ndjson, Format::Log];

impl Understood {
    /// How an input was understood.
    pub(super) fn of(explained: &Explained, prelude: &[u8]) -> Understood {
        Understood {
            prelude: Name(prelude.to_vec()),
            format: explained.format.name().into(),
            delimiter: explained.delimiter.map(|delimiter| match delimiter {
                Delimiter::Byte(byte) => byte.into(),
                Delimiter::Whitespace => "whitespace".into(),
            }),
            header: explained.header,
            undeclared: explained.undeclared,
        }
    }

    /// Whether a state can have it: nothing else is made of a value that is not known.
    pub(super) fn is_known(&self) -> bool {
        let delimiter = match &self.delimiter {
            None => true,
            Some(Value::String(text)) => text == "whitespace",
            Some(value) => value.as_u64().is_some_and(|byte| u8::try_from(byte).is_ok()),
        };
        delimiter && LIVE.into_iter().any(|format| format.name() == self.format)
    }

    /// Whether another text begins as this one did, apart from a byte order mark.
    pub(super) fn begins_like(&self, other: &Understood) -> bool {
        let bare = |text: &Understood| {
            let bytes = text.prelude.0.as_slice();
            bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_end().to_vec()
        };
        self.header == other.header && bare(self) == bare(other)
    }

    /// The options by which it is understood so again.
    pub(super) fn options(&self, given: &Options) -> Options {
        let format = LIVE.into_iter().find(|format| format.name() == self.format);
        let delimiter = self.delimiter.as_ref().map(|value| match value.as_u64().map(u8::try_from) {
            Some(Ok(byte)) => Delimiter::Byte(byte),
            _ => Delimiter::Whitespace,
        });
        // Logs never have a header, and nobody says so.
        let no_header = !self.header && format != Some(Format::Log);
        let undeclared = self.undeclared;
        // What it was taken for is no longer in question.
        let recorded = false;
        Options {
            format,
            delimiter,
            no_header,
            with_header: self.header,
            undeclared,
            recorded,
            ..given.clone()
        }
    }
}

/// Refuses files that are no longer what was read of them.
pub(super) fn check_marks(marks: &[Mark], paths: &[PathBuf]) -> Result<()> {
    for (i, mark) in marks.iter().enumerate() {
        let refused = |why: CannotResume| Err(Error::input(mark.path.clone(), why));
        let Some(path) = paths.get(i).filter(|path| named(path) == mark.path) else {
            return refused(CannotResume::Moved(i + 1));
        };
        let length = fs::metadata(path).map_err(Error::io(path))?.len();
        if length >= mark.offset && mark.holds(path).map_err(Error::io(path))? {
            continue;
        }
        match mark.renamed() {
            Some(now) => return refused(CannotResume::Renamed(now)),
            None if length < mark.offset => return Err(too_short(path, length, mark.offset)),
            None => return refused(CannotResume::Replaced),
        }
    }
    Ok(())
}

/// That a file has fewer bytes than were read of it.
pub(super) fn too_short(path: &Path, length: u64, read: u64) -> Error {
    Error::input(path, CannotResume::Shortened { length, read })
}

/// Refuses to go on in the middle of a line that had no end when it was read.
pub(super) fn refuse_half_line(path: &Path, offset: u64) -> Result<()> {
    let mut bytes = [b'\n'; 2];
    let mut file = File::open(path).map_err(Error::io(path))?;
    let read = file.seek(SeekFrom::Start(offset - 1)).and_then(|_| file.read(&mut bytes));
    match (read.map_err(Error::io(path))?, bytes) {
        (2, [last, next]) if last != b'\n' && !matches!(next, b'\n' | b'\r') => {
            Err(Error::input(path, CannotResume::HalfLine))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state that was written stays readable.
    #[test]
    fn the_names_of_formats_lie_on_disk() {
        let formats = [Format::Lines, Format::Csv, Format::Tsv, Format::Ndjson, Format::Log, Format::Parquet];
        assert_eq!(formats.map(Format::name), ["lines", "csv", "tsv", "ndjson", "log", "parquet"]);
    }
}
