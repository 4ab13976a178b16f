//! The copying of records that pass, out of the chunk that they stand in.

use tamis_make::batch::Span;

/// Text in a buffer that stays as long as it ever was: what is written over need not be zeroed.
#[derive(Debug, Default)]
pub(super) struct Text {
    bytes: Vec<u8>,
    len: usize,
}

impl Text {
    pub(super) fn get(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Drops the text, and keeps the buffer.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends what is written to the buffer.
    pub(super) fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.truncate(self.len);
        write(&mut self.bytes);
        self.len = self.bytes.len();
    }

    /// Room for this many more bytes.
    fn room(&mut self, more: usize) -> &mut [u8] {
        let end = self.len + more;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.len..end]
    }
}

/// A record of up to this many bytes is copied whether it is wanted or not.
const SHORT: usize = 32;

/// Copies the records for which `found` is this.
///
/// Whether a record is wanted cannot be foreseen, and a branch that goes either way costs more
/// than a short copy: so short records are all copied, each over the last one that was not
/// wanted.
pub(super) fn gather(data: &[u8], places: &[Span], found: &[bool], this: bool, text: &mut Text) {
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return };
    let all = first.start as usize..last.end as usize;
    let out = text.room(all.len() + SHORT);
    let contiguous = places.windows(2).all(|pair| pair[0].end == pair[1].start);
    let len = if contiguous && found.iter().all(|found| *found == this) {
        out[..all.len()].copy_from_slice(&data[all.clone()]);
        all.len()
    } else {
        let mut at = 0;
        for (place, &found) in places.iter().zip(found) {
            let (start, len) = (place.start as usize, (place.end - place.start) as usize);
            if len <= SHORT && start + SHORT <= data.len() {
                out[at..at + SHORT].copy_from_slice(&data[start..start + SHORT]);
            } else if found == this {
                out[at..at + len].copy_from_slice(&data[start..start + len]);
            }
            at += if found == this { len } else { 0 };
        }
        at
    };
    text.len += len;
}
