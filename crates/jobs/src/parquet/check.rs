//! Whether the filters of a column hold: every value of it is found, and of values that are not there, as few as the
//! bits promise.

use std::path::PathBuf;

use tamis_formats::parquet::{SplitBlock, hash};
use tamis_make::parallel;
use tamis_make::text::printable;
use tamis_read::error::Result;
use tamis_read::parquet::{Anatomy, Chunk};
use tamis_read::{Control, Sources};

use super::{Distinct, filter_of};

/// Files to be checked.
#[derive(Debug, Clone)]
pub struct Job {
    /// Files, globs, folders.
    pub inputs: Vec<String>,
    /// The path of the column.
    pub column: String,
    /// How many absent values are asked of each filter.
    pub probes: u64,
    /// From which absent values are drawn.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
}

/// What was found in a file.
#[derive(Debug, Clone)]
pub struct File {
    /// The file.
    pub path: PathBuf,
    /// Its row groups.
    pub groups: Vec<Group>,
}

/// What was found in a row group.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its number, from 0.
    pub group: usize,
    /// Its rows.
    pub rows: u64,
    /// What its filter says; none where it has none.
    pub filter: Option<Asked>,
}

/// What a filter says.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Bytes of its blocks.
    pub bytes: u64,
    /// Values that were asked, each as often as it is there.
    pub values: u64,
    /// How many of them are distinct.
    pub distinct: u64,
    /// Values that are there and not found, each as often as it is there.
    pub missing: u64,
    /// The first of them.
    pub first_missing: Option<String>,
    /// Values that are not there and were asked.
    pub probes: u64,
    /// How many of them are found.
    pub hits: u64,
    /// The rate to expect, by the bits.
    pub expected: f64,
}

/// Files that are open at once: their footers are held.
const OPEN: usize = 64;

/// Checks the filters of a column in all files.
pub fn check(job: &Job, control: &Control) -> Result<Vec<File>> {
    let paths = Sources::find(&job.inputs)?;
    let mut files = Vec::with_capacity(paths.len());
    for paths in paths.chunks(OPEN) {
        let open = |at: usize| {
            let file = Anatomy::open(&paths[at])?;
            let column = file.find(&job.column)?;
            Ok((file, column))
        };
        let opened = parallel::each(job.threads, paths.len(), open)?;
        let pieces: Vec<(usize, usize)> = opened
            .iter()
            .enumerate()
            .flat_map(|(at, (file, _))| (0..file.row_groups()).map(move |group| (at, group)))
            .collect();
        let groups = parallel::each(job.threads, pieces.len(), |at| {
            let (number, group) = pieces[at];
            let (file, column) = &opened[number];
            of_group(&file.chunk(group, *column), (files.len() + number) as u64, job, control)
        })?;
        let mut groups = pieces.iter().zip(groups).peekable();
        for (at, path) in paths.iter().enumerate() {
            let mut own = Vec::new();
            while let Some((_, group)) = groups.next_if(|((number, _), _)| *number == at) {
                own.push(group);
            }
            files.push(File { path: path.clone(), groups: own });
        }
    }
    Ok(files)
}

fn of_group(chunk: &Chunk<'_>, file: u64, job: &Job, control: &Control) -> Result<Group> {
    let (group, rows) = (chunk.group(), chunk.rows());
    let Some(filter) = filter_of(chunk)? else { return Ok(Group { group, rows, filter: None }) };
    let (mut distinct, mut values, mut missing, mut first_missing) = (Distinct::default(), 0, 0, None);
    chunk.values(control, |value| {
        let hash = hash(value);
        distinct.push(hash);
        values += 1;
        if !filter.contains_hash(hash) {
            missing += 1;
            first_missing.get_or_insert_with(|| show(chunk, value));
        }
    })?;
    let mut known = distinct.finish();
    known.sort_unstable();
    let seed = job.seed ^ (file << 32) ^ group as u64;
    let (probes, hits) = probe(&filter, &known, chunk.width(), job.probes, seed);
    let asked = Asked {
        bytes: filter.len() as u64,
        values,
        distinct: known.len() as u64,
        missing,
        first_missing,
        probes,
        hits,
        expected: filter.rate(),
    };
    Ok(Group { group, rows, filter: Some(asked) })
}

/// Asks random values that are not among those known, which are sorted; says how many were asked, and how many found. Of a type with few
/// values, fewer may be absent than wanted, or none.
fn probe(filter: &SplitBlock, known: &[u64], width: Option<usize>, wanted: u64, seed: u64) -> (u64, u64) {
    /// Texts that are asked have this length, and bytes of a fixed length no more than this.
    const TEXT: usize = 16;
    const LONGEST: usize = 256;
    let (mut probes, mut hits, mut state) = (0, 0, seed);
    let mut value = vec![0u8; width.unwrap_or(TEXT).min(LONGEST)];
    for _ in 0..wanted.saturating_mul(2) {
        if probes == wanted {
            break;
        }
        for bytes in value.chunks_mut(8) {
            bytes.copy_from_slice(&random(&mut state).to_le_bytes()[..bytes.len()]);
        }
        let hash = hash(&value);
        if known.binary_search(&hash).is_err() {
            probes += 1;
            hits += u64::from(filter.contains_hash(hash));
        }
    }
    (probes, hits)
}

/// The next of random numbers (splitmix64, by Sebastiano Vigna).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A value for people.
fn show(chunk: &Chunk<'_>, value: &[u8]) -> String {
    match (chunk.type_name(), value.first_chunk(), value.first_chunk()) {
        ("INT32", Some(bytes), _) => i32::from_le_bytes(*bytes).to_string(),
        ("FLOAT", Some(bytes), _) => f32::from_le_bytes(*bytes).to_string(),
        ("INT64", _, Some(bytes)) => i64::from_le_bytes(*bytes).to_string(),
        ("DOUBLE", _, Some(bytes)) => f64::from_le_bytes(*bytes).to_string(),
        _ => printable(&value[..value.len().min(100)]),
    }
}
