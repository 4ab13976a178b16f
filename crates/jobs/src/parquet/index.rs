//! The same file with Bloom filters for some columns.
//!
//! All that lies before the footer is copied byte for byte; the filters follow, and a footer in which their places
//! stand. So every place in the old footer stays true: of pages, of page indexes, of filters of other columns.

use std::collections::HashMap;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use tamis_make::files::{self, Draft};
use tamis_make::names::Content;
use tamis_make::parallel;
use tamis_read::error::{Error, Result};
use tamis_read::parquet::{Anatomy, FilterPlace};
use tamis_read::{Control, Format};

use super::Refusal;
use super::sized::{self, Count};

/// A file to be indexed.
#[derive(Debug, Clone)]
pub struct Job {
    /// The file.
    pub input: PathBuf,
    /// The paths of the columns.
    pub columns: Vec<String>,
    /// The wanted rate of false positives.
    pub rate: f64,
    /// The file that is written.
    pub output: PathBuf,
    /// Threads.
    pub threads: usize,
}

/// What was done.
#[derive(Debug, Clone)]
pub struct Report {
    /// Bytes of the file before, and now.
    pub bytes: (u64, u64),
    /// The filters, by column and row group.
    pub filters: Vec<Made>,
    /// Bytes of filters that were replaced: they are still in the file, where nothing refers to them.
    pub unused: u64,
}

/// A filter that was made.
#[derive(Debug, Clone)]
pub struct Made {
    /// The path of its column.
    pub column: String,
    /// The number of its row group, from 0.
    pub group: usize,
    /// Distinct values.
    pub values: Count,
    /// Bytes in the file.
    pub bytes: u64,
    /// The rate of false positives, by its bits.
    pub rate: f64,
    /// Whether the dictionary was read in place of all values.
    pub by_dictionary: bool,
    /// Whether there was another filter.
    pub replaces: bool,
}

/// Bytes that are copied at once.
const BUFFER: usize = 1 << 20;

/// Makes the filters, and writes the file.
pub fn index(job: &Job, control: &Control) -> Result<Report> {
    files::check(&job.output)?;
    files::check_is_no_input(&job.output, [&job.input])?;
    Content::Plain(Format::Parquet).check(&job.output)?;
    let file = Anatomy::open(&job.input)?;
    let columns = find(&file, &job.columns)?;
    let pieces: Vec<(usize, usize)> =
        columns.iter().flat_map(|&column| (0..file.row_groups()).map(move |group| (group, column))).collect();
    let reading: u64 = pieces.iter().map(|&(group, column)| file.chunk(group, column).size()).sum();
    control.begin(file.size().saturating_add(reading));

    let mut draft = Draft::new(&job.output)?;
    let failed = |error| Error::io(&job.output)(error);
    let mut at = copy_body(&file, &mut draft, &job.output, control)?;
    let mut out = BufWriter::with_capacity(BUFFER, &mut draft);
    let (mut places, mut report) =
        (HashMap::new(), Report { bytes: (file.size(), 0), filters: Vec::new(), unused: 0 });
    // As many at once as threads have work for: the filters of all row groups need not fit into memory.
    for some in pieces.chunks(job.threads.max(1) * 2) {
        let made = parallel::each(job.threads, some.len(), |at| make(&file, some[at], job.rate, control))?;
        for (&(group, column), (made, bytes, replaced)) in some.iter().zip(made) {
            out.write_all(&bytes).map_err(failed)?;
            places.insert((group, column), FilterPlace { offset: at, length: bytes.len() as u32 });
            at += bytes.len() as u64;
            report.unused += replaced;
            report.filters.push(made);
        }
    }
    let end = file.end(&places)?;
    out.write_all(&end).and_then(|()| out.flush()).map_err(failed)?;
    drop(out);
    draft.finish()?;
    report.bytes.1 = at + end.len() as u64;
    Ok(report)
}

/// The numbers of the columns of these paths.
fn find(file: &Anatomy, columns: &[String]) -> Result<Vec<usize>> {
    let mut found = Vec::new();
    for column in columns {
        let number = file.find(column)?;
        if found.contains(&number) {
            return Err(Error::refused(Refusal::Twice { column: column.clone() }));
        }
        if file.row_groups() > 0 && file.chunk(0, number).is_boolean() {
            return Err(Error::input(file.path(), Refusal::Boolean { column: column.clone() }));
        }
        found.push(number);
    }
    Ok(found)
}

/// Copies all before the footer; gives its length.
fn copy_body(file: &Anatomy, out: &mut Draft, path: &Path, control: &Control) -> Result<u64> {
    let (length, mut body) = file.body()?;
    let mut buffer = vec![0; BUFFER];
    let mut copied = 0;
    loop {
        control.check()?;
        let read = match body.read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::io(file.path())(error)),
        };
        if read == 0 {
            break;
        }
        out.write_all(&buffer[..read]).map_err(Error::io(path))?;
        copied += read as u64;
        control.advance(read as u64);
    }
    match copied == length {
        true => Ok(length),
        false => Err(Error::io(file.path())(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// The filter of a column of a row group, its bytes, and how many of an older one it makes useless.
pub fn make(
    file: &Anatomy,
    (group, column): (usize, usize),
    rate: f64,
    control: &Control,
) -> Result<(Made, Vec<u8>, u64)> {
    let chunk = file.chunk(group, column);
    let replaced = chunk.filter_place()?;
    let members = chunk.members()?;
    let (filter, values) = sized::filter(&chunk, &members, rate, control)?;
    let bytes = filter.bytes();
    control.advance(chunk.size());
    let made = Made {
        column: chunk.name(),
        group,
        values,
        bytes: bytes.len() as u64,
        rate: filter.rate(),
        by_dictionary: members.are_a_dictionary(),
        replaces: replaced.is_some(),
    };
    Ok((made, bytes, replaced.and_then(|(_, length)| length).unwrap_or(0)))
}
