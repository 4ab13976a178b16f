//! Text cut at line ends.

use std::ops::Range;

use tamis::arch::text::Places;

/// How much is looked through at a time: the list of its newlines stays in the nearest cache.
const WINDOW: usize = 4 << 10;

/// A row that cannot be used: where it starts in the chunk, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) message: String,
}

/// Gives every line that is not empty, without its line end (LF or CRLF), and its place with it.
#[inline(always)]
pub(super) fn each<'a>(
    data: &'a [u8],
    mut line: impl FnMut(&'a [u8], Range<usize>) -> Result<(), String>,
) -> Result<(), Fault> {
    let mut start = 0;
    let mut take = |end: usize| {
        let at = start;
        start = end + 1;
        match without_return(&data[at..end]) {
            [] => Ok(()),
            text => line(text, at..end + 1).map_err(|message| Fault { at, message }),
        }
    };
    let mut newlines = Places::default();
    for (i, window) in data.chunks(WINDOW).enumerate() {
        for &at in newlines.find(window, b'\n') {
            take(i * WINDOW + at as usize)?;
        }
    }
    if start < data.len() {
        line(&data[start..], start..data.len()).map_err(|message| Fault { at: start, message })?;
    }
    Ok(())
}

/// A line without the CR that stood before its LF.
#[inline(always)]
pub(super) fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The first line that is not empty (of what there is, where its end is not there).
pub(super) fn first(data: &[u8]) -> &[u8] {
    let mut first: &[u8] = &[];
    // The error is only a way to stop.
    let _ = each(data, |line, _| {
        first = line;
        Err(String::new())
    });
    first
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let fault = each(b"ab\n\ncd\nef", |line, _| if line == b"cd" { Err("no".into()) } else { Ok(()) });
        assert_eq!(fault, Err(Fault { at: 4, message: "no".into() }));
        let fault = each(b"ab\nef", |line, _| if line == b"ef" { Err("no".into()) } else { Ok(()) });
        assert_eq!(fault, Err(Fault { at: 3, message: "no".into() }));
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
