//! Where records go: standard output, or a file that appears whole, compressed by its name or as Parquet.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tamis_read::Compression;
use tamis_read::error::{Error, Result};
use tamis_read::parquet::{Schema, Writer};

use crate::changing::refuse_busy;
use crate::files::{self, Draft};
use crate::place;

/// Where records go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Nowhere: they are only counted.
    Nowhere,
    /// To standard output, immediately.
    Stdout,
    /// To a file, which appears when all is written. What is no regular file (a named pipe,
    /// `/dev/null`) is written to straight away.
    File(PathBuf),
}

impl Destination {
    /// To what has this name, which may be the system's for standard output.
    pub fn at(path: &Path) -> Destination {
        match place::descriptor(path) {
            Some(1) => Destination::Stdout,
            _ => Destination::File(path.into()),
        }
    }

    /// This file, or nowhere.
    pub fn of_file(path: Option<&Path>) -> Destination {
        path.map_or(Destination::Nowhere, Destination::at)
    }

    /// The name by which it can be compared with other files. Standard output may lead to one.
    pub fn named(&self) -> Option<&Path> {
        match self {
            Destination::Nowhere => None,
            Destination::Stdout => Some(Path::new(place::STDOUT)),
            Destination::File(path) => Some(path),
        }
    }

    /// The file, where it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Destination::File(path) => Some(path),
            _ => None,
        }
    }
}

/// Takes records. Whole ones follow each other on lines of their own, even where the last line of
/// an input lacks its end.
pub struct Outlet {
    to: To,
    name: PathBuf,
    /// Whether what was written last lacks a line end.
    open: bool,
}

enum To {
    Nothing,
    /// Written to at once. That nobody reads any more is no error.
    Live(Box<dyn Write + Send>),
    Whole(Box<dyn Packed>),
    Closed,
}

impl Outlet {
    /// Opens a destination of text.
    pub fn open(destination: &Destination) -> Result<Outlet> {
        Outlet::open_for(destination, None)
    }

    /// Opens a destination of text or, where the columns are given, of rows of Parquet.
    pub fn open_for(destination: &Destination, schema: Option<&Schema>) -> Result<Outlet> {
        let (to, name) = match destination {
            Destination::Nowhere => (To::Nothing, PathBuf::new()),
            Destination::Stdout => (To::Live(stdout()), PathBuf::from("standard output")),
            Destination::File(path) => {
                let special = fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir());
                let to = if place::descriptor(path) == Some(2) {
                    To::Live(Box::new(io::stderr()))
                } else if special {
                    let file = OpenOptions::new().write(true).open(path).map_err(Error::io(path))?;
                    To::Live(Box::new(file))
                } else {
                    refuse_busy(path)?;
                    To::Whole(pack(path, schema, Draft::new(path)?).map_err(Error::io(path))?)
                };
                (to, path.clone())
            }
        };
        Ok(Outlet { to, name, open: false })
    }

    /// Whether records can go there.
    pub fn takes(&self) -> bool {
        matches!(self.to, To::Live(_) | To::Whole(_))
    }

    /// Whether its reader has gone away.
    pub fn is_closed(&self) -> bool {
        matches!(self.to, To::Closed)
    }

    /// Writes whole records.
    pub fn write(&mut self, records: &[u8]) -> Result<()> {
        let Some(&last) = records.last() else { return Ok(()) };
        if self.open {
            self.write_bytes(b"\n")?;
        }
        self.open = last != b'\n';
        self.write_bytes(records)
    }

    /// Writes what need not end with a record.
    pub(crate) fn write_part(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_bytes(bytes)
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match &mut self.to {
            To::Nothing | To::Closed => return Ok(()),
            To::Live(out) => out.write_all(bytes),
            To::Whole(out) => out.write_all(bytes),
        };
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.to = To::Closed;
                Ok(())
            }
            written => written.map_err(Error::io(&self.name)),
        }
    }

    /// Ends it. Where it is a file, that is not yet in its place.
    pub fn end(self) -> Result<Option<Draft>> {
        match self.to {
            To::Whole(out) => out.unpack().map(Some).map_err(Error::io(&self.name)),
            _ => Ok(None),
        }
    }

    /// Puts a file in its place.
    pub fn finish(self) -> Result<()> {
        finish_all([self])
    }
}

/// Puts the files of one job in their places: all, or none.
pub fn finish_all(outlets: impl IntoIterator<Item = Outlet>) -> Result<()> {
    let drafts = outlets.into_iter().map(Outlet::end).collect::<Result<Vec<_>>>()?;
    files::finish_all(drafts.into_iter().flatten())
}

/// Standard output without the buffer of the standard library: the writer has its own.
pub fn stdout() -> Box<dyn Write + Send> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        if let Ok(descriptor) = io::stdout().as_fd().try_clone_to_owned() {
            let file = File::from(descriptor);
            tamis_read::pace::widen(&file);
            return Box::new(file);
        }
    }
    Box::new(io::stdout())
}

/// A file in the making, compressed or not.
trait Packed: Write + Send {
    /// Ends the compression.
    fn unpack(self: Box<Self>) -> io::Result<Draft>;
}

impl Packed for Draft {
    fn unpack(self: Box<Self>) -> io::Result<Draft> {
        Ok(*self)
    }
}

impl Packed for flate2::write::GzEncoder<Draft> {
    fn unpack(self: Box<Self>) -> io::Result<Draft> {
        self.finish()
    }
}

impl Packed for zstd::Encoder<'static, Draft> {
    fn unpack(self: Box<Self>) -> io::Result<Draft> {
        self.finish()
    }
}

impl Packed for bzip2::write::BzEncoder<Draft> {
    fn unpack(self: Box<Self>) -> io::Result<Draft> {
        self.finish()
    }
}

impl Packed for liblzma::write::XzEncoder<Draft> {
    fn unpack(self: Box<Self>) -> io::Result<Draft> {
        self.finish()
    }
}

impl Packed for Writer<Draft> {
    fn unpack(self: Box<Self>) -> io::Result<Draft> {
        self.finish()
    }
}

/// Rows become Parquet; text gets the compression that a name asks for, with the usual level of its tool.
fn pack(path: &Path, schema: Option<&Schema>, draft: Draft) -> io::Result<Box<dyn Packed>> {
    if let Some(schema) = schema {
        return Ok(Box::new(Writer::new(draft, schema)?));
    }
    Ok(match Compression::of_name(path) {
        Some(Compression::Gz) => {
            Box::new(flate2::write::GzEncoder::new(draft, flate2::Compression::default()))
        }
        Some(Compression::Zst) => {
            let mut encoder = zstd::Encoder::new(draft, 3)?;
            encoder.include_checksum(true)?;
            Box::new(encoder)
        }
        Some(Compression::Bz2) => Box::new(bzip2::write::BzEncoder::new(draft, bzip2::Compression::best())),
        Some(Compression::Xz) => Box::new(liblzma::write::XzEncoder::new(draft, 6)),
        None => Box::new(draft),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn records_of_an_input_without_a_last_line_end_stay_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut outlet = Outlet::open(&Destination::File(path.clone())).unwrap();
        for records in [&b"a\nb"[..], b"", b"c\r\n", b"d"] {
            outlet.write(records).unwrap();
        }
        assert!(!path.exists(), "it appears when all is written");
        outlet.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"a\nb\nc\r\nd");
    }

    #[test]
    fn a_file_that_goes_to_the_disk_while_it_is_written_is_whole_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let megabyte = b"0123456789abcde\n".repeat(1 << 16);
        let begin = || {
            let mut outlet = Outlet::open(&Destination::File(path.clone())).unwrap();
            (0..9).for_each(|_| outlet.write(&megabyte).unwrap());
            outlet
        };
        drop(begin());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "given up, it leaves nothing");
        begin().finish().unwrap();
        assert!(fs::read(&path).unwrap() == megabyte.repeat(9));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn names_ask_for_compression() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str| {
            let path = folder.path().join(name);
            let mut outlet = Outlet::open(&Destination::File(path.clone())).unwrap();
            (0..1000).for_each(|_| outlet.write(b"0123456789\n").unwrap());
            outlet.finish().unwrap();
            File::open(path).unwrap()
        };
        let text = b"0123456789\n".repeat(1000);
        let mut found = Vec::new();
        flate2::read::MultiGzDecoder::new(read("a.csv.GZ")).read_to_end(&mut found).unwrap();
        assert!(found == text);
        assert!(zstd::decode_all(read("a.zst")).unwrap() == text);
        let mut found = Vec::new();
        bzip2::read::BzDecoder::new(read("a.bz2")).read_to_end(&mut found).unwrap();
        assert!(found == text);
        let mut found = Vec::new();
        liblzma::read::XzDecoder::new(read("a.xz")).read_to_end(&mut found).unwrap();
        assert!(found == text);
    }
}
