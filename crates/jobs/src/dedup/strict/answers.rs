//! What a filter answered.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

/// A bit for each record, on disk.
pub(super) struct Answers<F> {
    file: F,
    byte: u8,
    bits: u32,
}

impl Answers<BufWriter<File>> {
    pub(super) fn new(file: File) -> Self {
        Answers { file: BufWriter::new(file), byte: 0, bits: 0 }
    }

    pub(super) fn push(&mut self, answer: bool) -> io::Result<()> {
        self.byte |= u8::from(answer) << self.bits;
        self.bits += 1;
        if self.bits == 8 {
            self.file.write_all(&[self.byte])?;
            (self.byte, self.bits) = (0, 0);
        }
        Ok(())
    }

    pub(super) fn read(mut self) -> io::Result<Answers<BufReader<File>>> {
        self.file.write_all(&[self.byte])?;
        let mut file = self.file.into_inner()?;
        file.rewind()?;
        Ok(Answers { file: BufReader::new(file), byte: 0, bits: 0 })
    }
}

impl Answers<BufReader<File>> {
    pub(super) fn next(&mut self) -> io::Result<bool> {
        if self.bits == 0 {
            let mut byte = [0];
            self.file.read_exact(&mut byte)?;
            (self.byte, self.bits) = (byte[0], 8);
        }
        let answer = self.byte & 1 == 1;
        self.byte >>= 1;
        self.bits -= 1;
        Ok(answer)
    }
}
