//! Files to work on, in a folder that is removed at the end.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tamis_lab::generate;
use tempfile::TempDir;

use crate::contestants::key;

/// The folder.
pub struct Data {
    folder: TempDir,
}

impl Data {
    /// In this folder, or in that for temporary files.
    pub fn new(within: Option<&Path>) -> io::Result<Data> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("tamis-bench-");
        let folder = within.map_or_else(|| builder.tempdir(), |within| builder.tempdir_in(within))?;
        Ok(Data { folder })
    }

    /// A file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The table of film ratings.
    pub fn ratings(&self) -> io::Result<PathBuf> {
        let path = self.path("ratings.tsv");
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
        generate::ratings(&mut out, generate::TITLES, 1)?;
        out.flush()?;
        Ok(path)
    }

    /// This many distinct keys of 13 hexadecimal digits, one per line.
    pub fn lines(&self, keys: u64) -> io::Result<PathBuf> {
        let path = self.path(&format!("keys-{keys}.txt"));
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
        let mut line = *b".............\n";
        for number in 0..keys {
            // Odd multiples are distinct modulo any power of two.
            let mut rest = key(number) & ((1 << 52) - 1);
            for digit in line[..13].iter_mut().rev() {
                *digit = b"0123456789abcdef"[(rest % 16) as usize];
                rest /= 16;
            }
            out.write_all(&line)?;
        }
        out.flush()?;
        Ok(path)
    }

    /// This many lines of 9 hexadecimal digits: the key of the number that each line has.
    pub fn short_lines(&self, name: &str, lines: u64, number: impl Fn(u64) -> u64) -> io::Result<PathBuf> {
        let path = self.path(name);
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
        for line in 0..lines {
            // Distinct, as above.
            writeln!(out, "{:09x}", key(number(line)) & ((1 << 36) - 1))?;
        }
        out.flush()?;
        Ok(path)
    }
}
