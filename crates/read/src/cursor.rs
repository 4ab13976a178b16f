//! Where fields end and quotes stand, one after the other, found 64 bytes at a time.

use crate::arch::text::{BLOCK, mask};

/// Finds the ends of fields, 64 bytes at a time.
pub(super) struct Cursor<'a> {
    pub(super) data: &'a [u8],
    delimiter: u8,
    /// Where the block begins whose masks these are; bits that were used are cleared.
    base: usize,
    newlines: u64,
    delimiters: u64,
    /// Where the next block begins.
    next: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(data: &'a [u8], delimiter: u8) -> Self {
        Cursor { data, delimiter, base: 0, newlines: 0, delimiters: 0, next: 0 }
    }

    /// Takes up the next block; false at the end of the data.
    #[inline(always)]
    fn load(&mut self) -> bool {
        self.base = self.next;
        self.next += BLOCK;
        if let Some(block) = self.data.get(self.base..self.next).and_then(|b| b.first_chunk()) {
            self.newlines = mask(block, b'\n');
            self.delimiters = mask(block, self.delimiter);
            true
        } else {
            self.load_last()
        }
    }

    #[cold]
    fn load_last(&mut self) -> bool {
        let tail = self.data.get(self.base..).unwrap_or(&[]);
        let mut block = [0; BLOCK];
        block[..tail.len()].copy_from_slice(tail);
        let present = (1 << tail.len()) - 1;
        self.newlines = mask(&block, b'\n') & present;
        self.delimiters = mask(&block, self.delimiter) & present;
        self.next = self.data.len();
        !tail.is_empty()
    }

    /// The end of the field that begins after the last end, and whether it also ends the row.
    #[inline(always)]
    pub(super) fn of_field(&mut self) -> (usize, bool) {
        loop {
            let both = self.newlines | self.delimiters;
            if both != 0 {
                let rest = both & (both - 1);
                let last = self.newlines & (both ^ rest) != 0;
                self.newlines &= rest;
                self.delimiters &= rest;
                return (self.base + both.trailing_zeros() as usize, last);
            }
            if !self.load() {
                return (self.data.len(), true);
            }
        }
    }

    /// Goes on from here, at or after the last end.
    #[inline(always)]
    pub(super) fn go_to(&mut self, at: usize) {
        if at < self.next.min(self.base + BLOCK) {
            let rest = u64::MAX << (at - self.base);
            self.newlines &= rest;
            self.delimiters &= rest;
        } else {
            (self.newlines, self.delimiters) = (0, 0);
            self.next = at;
        }
    }
}

/// The places of quotes from some place on. In text with many of them, this is faster than one
/// search after another.
pub(super) struct Quotes<'a> {
    data: &'a [u8],
    base: usize,
    mask: u64,
}

impl<'a> Quotes<'a> {
    #[inline(always)]
    pub(super) fn new(data: &'a [u8], from: usize) -> Self {
        Quotes { data, base: from, mask: quotes_in_block(data, from) }
    }
}

#[inline(always)]
fn quotes_in_block(data: &[u8], at: usize) -> u64 {
    match data.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(block) => mask(block, b'"'),
        None => {
            let tail = data.get(at..).unwrap_or(&[]);
            tail.iter().rev().fold(0, |mask, &byte| mask << 1 | u64::from(byte == b'"'))
        }
    }
}

impl Iterator for Quotes<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            self.base += BLOCK;
            if self.base >= self.data.len() {
                return None;
            }
            self.mask = quotes_in_block(self.data, self.base);
        }
        let at = self.base + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(at)
    }
}

/// Goes from an opening quote to the one that closes; also says whether any between is doubled.
#[inline(always)]
pub(super) fn closing_quote(data: &[u8], after_open: &mut Quotes) -> Option<(usize, bool)> {
    let mut doubled = false;
    loop {
        let at = after_open.next()?;
        if data.get(at + 1) != Some(&b'"') {
            return Some((at, doubled));
        }
        doubled = true;
        after_open.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quotes_are_found_from_any_place_on(
            text in prop::collection::vec(prop::sample::select(&b"ab\""[..]), 0..300), from in 0usize..320,
        ) {
            let found: Vec<usize> = Quotes::new(&text, from).collect();
            let model: Vec<usize> = (from..text.len()).filter(|&at| text[at] == b'"').collect();
            prop_assert_eq!(found, model);
        }

        #[test]
        fn fields_end_at_delimiters_and_newlines_wherever_one_goes(
            text in prop::collection::vec(prop::sample::select(&b"abcdefghijk,\n"[..]), 0..400),
            steps in prop::collection::vec(prop_oneof![Just(0usize), 0usize..150], 1..40),
        ) {
            let mut cursor = Cursor::new(&text, b',');
            let mut at = 0;
            for step in steps {
                if step > 0 {
                    at = (at + step).min(text.len());
                    cursor.go_to(at);
                }
                let end = (at..text.len()).find(|&i| b",\n".contains(&text[i])).unwrap_or(text.len());
                prop_assert_eq!(cursor.of_field(), (end, text.get(end) != Some(&b',')));
                at = (end + 1).min(text.len());
            }
        }
    }
}
