//! Text cut at line ends.

use std::mem::replace;
use std::ops::Range;
use std::slice;

use crate::arch::text::Places;
use crate::refusal::Refusal;
use crate::sink::RowResult;

/// How much is looked through at a time: the list of its newlines stays in the nearest cache.
const WINDOW: usize = 4 << 10;

/// A row that cannot be used.
#[derive(Debug)]
pub struct Fault {
    /// Where it is: where it starts in a text, or its number among rows that are in memory.
    pub at: usize,
    /// Why.
    pub why: Box<dyn Refusal>,
}

/// Lines of a text that end in one window of it; those that are empty are passed over.
#[derive(Debug)]
pub struct Lines<'t, 'w> {
    text: &'t [u8],
    /// Where the next line begins.
    start: &'w mut usize,
    /// Where the window begins, and where in it lines end.
    window: usize,
    ends: slice::Iter<'w, u32>,
}

impl<'t> Iterator for Lines<'t, '_> {
    /// A line without its end (LF or CRLF), and its place with it.
    type Item = (&'t [u8], Range<usize>);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let end = self.window + *self.ends.next()? as usize;
            let start = replace(self.start, end + 1);
            let line = &self.text[start..end];
            if end == self.text.len() {
                return Some((line, start..end));
            }
            match without_return(line) {
                [] => {}
                line => return Some((line, start..end + 1)),
            }
        }
    }
}

/// Gives every line that is not empty, those of a window at a time; the last need not have an end.
#[inline(always)]
pub fn windows<'t, E>(
    text: &'t [u8],
    mut lines: impl FnMut(Lines<'t, '_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut start = 0;
    let mut newlines = Places::default();
    for (i, window) in text.chunks(WINDOW).enumerate() {
        let ends = newlines.find(window, b'\n').iter();
        lines(Lines { text, start: &mut start, window: i * WINDOW, ends })?;
    }
    if start < text.len() {
        lines(Lines { text, start: &mut start, window: text.len(), ends: [0].iter() })?;
    }
    Ok(())
}

/// Gives every line that is not empty, and its place.
#[inline(always)]
pub(super) fn each<'t>(
    text: &'t [u8],
    mut line: impl FnMut(&'t [u8], Range<usize>) -> RowResult,
) -> Result<(), Fault> {
    windows(text, |mut lines| {
        lines.try_for_each(|(text, place)| {
            let at = place.start;
            line(text, place).map_err(|why| Fault { at, why })
        })
    })
}

/// A line without the CR that stood before its LF.
#[inline(always)]
pub(super) fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The first line that is not empty (of what there is, where its end is not there).
pub(super) fn first(data: &[u8]) -> &[u8] {
    first_but(data, None)
}

/// The same, of lines that do not begin with this sign of comments.
pub(super) fn first_but(data: &[u8], comment: Option<u8>) -> &[u8] {
    // The error is only a way to stop.
    let is_row = |line: &[u8]| comment.is_none() || line.first() != comment.as_ref();
    let found = windows(data, |mut lines| match lines.find(|(line, _)| is_row(line)) {
        Some((line, _)) => Err(line),
        None => Ok(()),
    });
    found.err().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BadRow;
    use proptest::prelude::*;

    fn split(data: &[u8]) -> Vec<&[u8]> {
        let mut lines = Vec::new();
        each(data, |line, place| {
            assert!(data[place.clone()].starts_with(line));
            assert!(matches!(&data[place][line.len()..], b"" | b"\n" | b"\r\n"));
            lines.push(line);
            Ok(())
        })
        .unwrap();
        lines
    }

    #[test]
    fn line_ends_and_blank_lines_are_dropped() {
        assert_eq!(split(b"a\n\nb\r\n\r\n c\rd\n\r\r\nlast"), [&b"a"[..], b"b", b" c\rd", b"\r", b"last"]);
        assert!(split(b"").is_empty());
        assert!(split(b"\n\r\n\n").is_empty());
    }

    #[test]
    fn a_fault_says_where_its_line_starts() {
        let refused_at = |text: &[u8], bad: &[u8]| {
            let take = |line: &[u8], _| if line == bad { Err(BadRow::NotAnObject.into()) } else { Ok(()) };
            each(text, take).unwrap_err().at
        };
        assert_eq!(refused_at(b"ab\n\ncd\nef", b"cd"), 4);
        assert_eq!(refused_at(b"ab\nef", b"ef"), 3);
    }

    #[test]
    fn the_first_line_may_lack_its_end() {
        assert_eq!(first(b"\r\n\nab\r\ncd"), b"ab");
        assert_eq!(first(b"abc"), b"abc");
        assert_eq!(first(b"\n"), b"");
    }

    proptest! {
        #[test]
        fn lines_are_what_stands_between_newlines(
            bytes in prop::collection::vec(prop::sample::select(&b"ab\r\n\n"[..]), 0..400)
        ) {
            let ended = bytes.iter().filter(|&&b| b == b'\n').count();
            let model: Vec<&[u8]> = bytes
                .split(|&b| b == b'\n')
                .enumerate()
                .map(|(i, line)| if i < ended { line.strip_suffix(b"\r").unwrap_or(line) } else { line })
                .filter(|line| !line.is_empty())
                .collect();
            prop_assert_eq!(split(&bytes), model);
        }
    }
}
