//! Where the fields and rows of a text end: as masks of 64 bits, and as lists.
//!
//! A mask inlines into the loop around it, for which SSE2, a part of every x86-64, is enough.
//! Lists are made by one call for many bytes, so that it can use what the machine has.
#![allow(unsafe_code)]

/// Bytes in a block: as many as a mask has bits.
pub const BLOCK: usize = 64;

/// Bit `i` is set where `block[i]` is `byte`.
#[inline(always)]
pub fn mask(block: &[u8; BLOCK], byte: u8) -> u64 {
    #[cfg(target_arch = "x86_64")]
    return sse2(block, byte);
    #[cfg(not(target_arch = "x86_64"))]
    return scalar(block, byte);
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn sse2(block: &[u8; BLOCK], byte: u8) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let quarter = |i: usize| -> u64 {
        // SAFETY: SSE2 is part of x86-64. `i` is 0 to 3, so the 16 bytes read lie in the block,
        // and the load asks for no alignment.
        unsafe {
            let bytes = _mm_loadu_si128(block.as_ptr().add(16 * i).cast());
            let equal = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
            u64::from(_mm_movemask_epi8(equal) as u32) << (16 * i)
        }
    };
    quarter(0) | quarter(1) | quarter(2) | quarter(3)
}

/// The twin of `sse2` for other machines: eight bytes at a time in a word.
#[cfg_attr(all(target_arch = "x86_64", not(test)), allow(dead_code))]
#[inline(always)]
fn scalar(block: &[u8; BLOCK], byte: u8) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let (words, _) = block.as_chunks::<8>();
    words.iter().rev().fold(0, |mask, word| {
        let differing = u64::from_le_bytes(*word) ^ (u64::from(byte) * 0x0101_0101_0101_0101);
        // The top bit of each byte that is zero; exact, as no carry leaves a byte.
        let zero = !(((differing & LOW) + LOW) | differing | LOW);
        // Gathers the eight top bits into one byte.
        mask << 8 | (zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

/// The places of a byte in a text.
#[derive(Debug, Default, Clone)]
pub struct Places {
    /// What stands beyond those that were found means nothing.
    places: Vec<u32>,
}

impl Places {
    /// Lists where the byte stands.
    ///
    /// # Panics
    /// Where the text is longer than 2 GiB.
    pub fn find(&mut self, text: &[u8], byte: u8) -> &[u32] {
        assert!(text.len() < 1 << 31);
        // A block writes up to 64 places, whatever it has.
        let room = text.len().next_multiple_of(BLOCK) + BLOCK;
        if self.places.len() < room {
            self.places.resize(room, 0);
        }
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            // SAFETY: the machine has what the function needs, as was just seen.
            let found = unsafe { self.list_avx2(text, byte) };
            return &self.places[..found];
        }
        let found = self.list(text, |block| mask(block, byte));
        &self.places[..found]
    }

    /// # Safety
    /// The machine must have AVX2, BMI1 and POPCNT.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    unsafe fn list_avx2(&mut self, text: &[u8], byte: u8) -> usize {
        self.list(text, |block| {
            // SAFETY: AVX2 is there.
            unsafe { avx2(block, byte) }
        })
    }

    #[inline(always)]
    fn list(&mut self, text: &[u8], mask: impl Fn(&[u8; BLOCK]) -> u64) -> usize {
        let mut found = 0;
        let (blocks, tail) = text.as_chunks::<BLOCK>();
        for (i, block) in blocks.iter().enumerate() {
            let mask = mask(block);
            list_places(mask, i * BLOCK, &mut self.places[found..]);
            found += mask.count_ones() as usize;
        }
        if !tail.is_empty() {
            let (block, present) = padded(tail);
            let mask = mask(&block) & present;
            list_places(mask, blocks.len() * BLOCK, &mut self.places[found..]);
            found += mask.count_ones() as usize;
        }
        found
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("popcnt")
}

/// Another twin of `sse2`.
///
/// # Safety
/// The machine must have AVX2.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn avx2(block: &[u8; BLOCK], byte: u8) -> u64 {
    use std::arch::x86_64::{_mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8};
    let half = |i: usize| -> u64 {
        // SAFETY: AVX2 is there. `i` is 0 or 1, so the 32 bytes read lie in the block, and the
        // load asks for no alignment.
        unsafe {
            let bytes = _mm256_loadu_si256(block.as_ptr().add(32 * i).cast());
            let equal = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8));
            u64::from(_mm256_movemask_epi8(equal) as u32) << (32 * i)
        }
    };
    half(0) | half(1)
}

/// The end of a text as a block, and which of its bytes are the text's.
fn padded(tail: &[u8]) -> ([u8; BLOCK], u64) {
    let mut block = [0; BLOCK];
    block[..tail.len()].copy_from_slice(tail);
    (block, (1 << tail.len()) - 1)
}

/// Writes where the bits of a mask stand, and a few places more: branches on their number cannot
/// be foreseen.
#[inline(always)]
fn list_places(mask: u64, base: usize, places: &mut [u32]) {
    let mut rest = mask;
    for eight in places[..BLOCK].as_chunks_mut::<8>().0 {
        for place in eight {
            *place = (base as u32).wrapping_add(rest.trailing_zeros());
            rest &= rest.wrapping_sub(1);
        }
        if rest == 0 {
            break;
        }
    }
}

/// The ends of fields and of rows in a text.
#[derive(Debug, Default, Clone)]
pub struct Ends {
    /// Where each field ends, after one place that is the caller's. What stands beyond
    /// `fields_len` means nothing.
    fields: Vec<u32>,
    fields_len: usize,
    /// Which of `fields` ends each row, in the same way.
    rows: Vec<u32>,
    rows_len: usize,
}

/// The end before the first: one more is where the text begins.
const BEFORE: u32 = u32::MAX;

impl Ends {
    /// Lists where fields and rows end: at any of the delimiters and at newlines, and at newlines.
    ///
    /// # Panics
    /// Where the text is longer than 2 GiB.
    pub fn find<const N: usize>(&mut self, text: &[u8], delimiters: [u8; N]) {
        assert!(text.len() < 1 << 31);
        // A block writes up to 64 ends, whatever it has; and one more may be pushed.
        let room = text.len().next_multiple_of(BLOCK) + 2;
        if self.fields.len() < room {
            self.fields.resize(room, BEFORE);
            self.rows.resize(room, 0);
        }
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            // SAFETY: the machine has what the function needs, as was just seen.
            unsafe { self.list_avx2(text, delimiters) };
            return;
        }
        self.list(text, |block| {
            let found = delimiters.into_iter().fold(0, |found, byte| found | mask(block, byte));
            (mask(block, b'\n'), found)
        });
    }

    /// Adds the end of the text as that of a last field and row.
    pub fn push_last(&mut self, text: &[u8]) {
        self.fields[1 + self.fields_len] = text.len() as u32;
        self.fields_len += 1;
        self.rows[self.rows_len] = self.fields_len as u32;
        self.rows_len += 1;
    }

    /// The rows that end. Each is the ends of its fields, after that of the row before; an end
    /// plus one (wrapping) is where the next field begins.
    #[inline(always)]
    pub fn rows(&self) -> impl Iterator<Item = &[u32]> {
        let mut before = 0;
        self.rows[..self.rows_len].iter().map(move |&end| {
            let row = &self.fields[before..=end as usize];
            before = end as usize;
            row
        })
    }

    /// Where the last row ends, if any does.
    pub fn last(&self) -> Option<usize> {
        let row = self.rows[..self.rows_len].last()?;
        Some(self.fields[*row as usize] as usize)
    }

    /// # Safety
    /// The machine must have AVX2, BMI1 and POPCNT.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    unsafe fn list_avx2<const N: usize>(&mut self, text: &[u8], delimiters: [u8; N]) {
        self.list(text, |block| {
            let mut found = 0;
            for byte in delimiters {
                // SAFETY: AVX2 is there.
                found |= unsafe { avx2(block, byte) };
            }
            // SAFETY: the same.
            (unsafe { avx2(block, b'\n') }, found)
        });
    }

    #[inline(always)]
    fn list(&mut self, text: &[u8], masks: impl Fn(&[u8; BLOCK]) -> (u64, u64)) {
        let (fields, rows) = (&mut self.fields[1..], &mut self.rows[..]);
        // Ends listed so far, of fields and of rows.
        let mut listed = (0, 0);
        let (blocks, tail) = text.as_chunks::<BLOCK>();
        for (i, block) in blocks.iter().enumerate() {
            list_block(masks(block), i * BLOCK, fields, rows, &mut listed);
        }
        if !tail.is_empty() {
            let (block, present) = padded(tail);
            let (newlines, delimiters) = masks(&block);
            let present = (newlines & present, delimiters & present);
            list_block(present, blocks.len() * BLOCK, fields, rows, &mut listed);
        }
        (self.fields_len, self.rows_len) = listed;
    }
}

/// Writes a few more ends than there are, as [`list_places`] does.
#[inline(always)]
fn list_block(
    (newlines, delimiters): (u64, u64),
    base: usize,
    fields: &mut [u32],
    rows: &mut [u32],
    listed: &mut (usize, usize),
) {
    let both = newlines | delimiters;
    list_places(both, base, &mut fields[listed.0..]);
    let mut rest = newlines;
    for four in rows[listed.1..][..BLOCK].as_chunks_mut::<4>().0 {
        for place in four {
            // The ends up to and with this one.
            let upto = both & (rest ^ rest.wrapping_sub(1));
            *place = listed.0 as u32 + upto.count_ones();
            rest &= rest.wrapping_sub(1);
        }
        if rest == 0 {
            break;
        }
    }
    listed.0 += both.count_ones() as usize;
    listed.1 += newlines.count_ones() as usize;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(block: &[u8; BLOCK], byte: u8) -> u64 {
        (0..BLOCK).fold(0, |mask, i| mask | u64::from(block[i] == byte) << i)
    }

    proptest! {
        #[test]
        fn both_ways_find_the_same_bytes_as_looking_at_each(
            block in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(0x8a), Just(0)], BLOCK),
            byte in prop_oneof![any::<u8>(), Just(b'\n'), Just(0x80), Just(0)],
        ) {
            let block: [u8; BLOCK] = block.try_into().unwrap();
            prop_assert_eq!(mask(&block, byte), naive(&block, byte));
            prop_assert_eq!(scalar(&block, byte), naive(&block, byte));
        }
    }

    proptest! {
        #[test]
        fn places_are_those_where_the_byte_stands(
            text in prop::collection::vec(prop::sample::select(&b"ab\n\n\0"[..]), 0..500),
        ) {
            let model: Vec<u32> = (0..text.len() as u32).filter(|&at| text[at as usize] == b'\n').collect();
            let mut places = Places::default();
            // What a longer text left behind must not show.
            places.find(&[b'\n'; 600], b'\n');
            prop_assert_eq!(places.find(&text, b'\n'), &model);
            for mask in [mask, scalar] {
                let found = places.list(&text, |block| mask(block, b'\n'));
                prop_assert_eq!(&places.places[..found], &model);
            }
        }
    }

    fn rows(ends: &Ends) -> Vec<Vec<u32>> {
        ends.rows().map(<[u32]>::to_vec).collect()
    }

    /// The ends of each row, after that of the row before.
    fn model(text: &[u8], delimiters: [u8; 2]) -> Vec<Vec<u32>> {
        let mut rows = Vec::new();
        let mut row = vec![BEFORE];
        for (at, &byte) in text.iter().enumerate() {
            if byte == b'\n' || delimiters.contains(&byte) {
                row.push(at as u32);
            }
            if byte == b'\n' {
                rows.push(std::mem::replace(&mut row, vec![at as u32]));
            }
        }
        rows
    }

    proptest! {
        #[test]
        fn lists_hold_the_ends_of_all_fields_and_rows(
            text in prop::collection::vec(prop::sample::select(&b"abcdef\n\t,\0"[..]), 0..500),
            one in prop::sample::select(&b"\t,\0x\n"[..]),
            other in prop::sample::select(&b"\t,\0x\n"[..]),
        ) {
            let delimiters = [one, other];
            let mut ends = Ends::default();
            // What a longer text left behind must not show.
            ends.find(&[b'\n'; 600], delimiters);
            ends.find(&text, delimiters);
            prop_assert_eq!(rows(&ends), model(&text, delimiters));
            prop_assert_eq!(ends.last(), text.iter().rposition(|&byte| byte == b'\n'));
            ends.list(&text, |block| (scalar(block, b'\n'), scalar(block, one) | scalar(block, other)));
            prop_assert_eq!(rows(&ends), model(&text, delimiters));
            ends.list(&text, |block| (mask(block, b'\n'), mask(block, one) | mask(block, other)));
            prop_assert_eq!(rows(&ends), model(&text, delimiters));
            ends.push_last(&text);
            prop_assert_eq!(ends.rows().last().unwrap().last(), Some(&(text.len() as u32)));
        }
    }

    #[test]
    fn blocks_of_nothing_but_ends_are_listed() {
        for len in [1, 63, 64, 65, 128, 1000] {
            let mut ends = Ends::default();
            ends.find(&vec![b'\n'; len], [b',', b',']);
            assert_eq!(rows(&ends), model(&vec![b'\n'; len], [b',', b',']));
            ends.push_last(&vec![b'\n'; len]);
            assert_eq!(ends.rows().count(), len + 1);
        }
    }

    #[test]
    fn every_byte_is_found_at_every_place() {
        for byte in 0..=255 {
            for at in 0..BLOCK {
                let mut block = [byte ^ 0x81; BLOCK];
                block[at] = byte;
                assert_eq!(mask(&block, byte), 1 << at);
                assert_eq!(scalar(&block, byte), 1 << at);
            }
        }
    }
}
