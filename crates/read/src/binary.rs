//! What is no text, by its bytes.

use super::detect::BadFormat;
use super::options::Delimiter;
#[cfg(test)]
use super::options::Quotes;
use super::reader::Compression;

/// Bytes that tell whether an input is text at all.
pub(super) const LOOKED_THROUGH: usize = 64 << 10;

/// Refuses what is not text, by the first bytes of it; `whole` says that there are no more.
pub(super) fn refuse_binary(text: &[u8], whole: bool, delimiter: Option<Delimiter>) -> Result<(), BadFormat> {
    let looked = &text[..text.len().min(LOOKED_THROUGH)];
    if nul(looked, delimiter).is_some() {
        return refuse_nul(looked);
    }
    let whole = whole || text.len() >= LOOKED_THROUGH;
    let inner = looked.strip_suffix(b"\r").unwrap_or(looked);
    if whole && memchr::memchr(b'\n', looked).is_none() && memchr::memchr(b'\r', inner).is_some() {
        return Err(BadFormat::OnlyReturns);
    }
    Ok(())
}

/// Refuses what has a NUL in its first bytes.
pub(super) fn refuse_nul(text: &[u8]) -> Result<(), BadFormat> {
    let looked = &text[..text.len().min(LOOKED_THROUGH)];
    match nul(looked, None) {
        Some(at) => Err(wide(looked).map_or(BadFormat::Binary { at: at as u64 + 1 }, BadFormat::Wide)),
        None => Ok(()),
    }
}

/// Whether a text is read, as far as its bytes tell.
#[cfg(test)]
pub(super) fn is_text(text: &[u8], quotes: Quotes) -> bool {
    let mut ends = super::chunks::LineEnds::default();
    ends.count(text, quotes);
    refuse_binary(text, true, None).is_ok() && !ends.are_mostly_returns()
}

/// The encoding of text whose first characters, which are ASCII in most, have more bytes than one.
fn wide(text: &[u8]) -> Option<&'static str> {
    let is = |pattern: [bool; 4]| {
        let (first, _) = text[..text.len().min(64)].as_chunks::<4>();
        !first.is_empty()
            && first.iter().all(|four| [0, 1, 2, 3].iter().all(|&i| (four[i] == 0) == pattern[i]))
    };
    // Where the NULs of each four bytes stand.
    [
        ("UTF-16LE", [false, true, false, true]),
        ("UTF-16BE", [true, false, true, false]),
        ("UTF-32LE", [false, true, true, true]),
        ("UTF-32BE", [true, true, true, false]),
    ]
    .into_iter()
    .find_map(|(name, pattern)| is(pattern).then_some(name))
}

/// Where the first NUL is, unless that is the delimiter.
pub(super) fn nul(text: &[u8], delimiter: Option<Delimiter>) -> Option<usize> {
    if delimiter == Some(Delimiter::Byte(0)) { None } else { memchr::memchr(0, text) }
}

/// What begins like this cannot be read; what it is, and what to do.
pub(super) fn foreign(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let unpack = "unpack it first";
    let convert = "convert it to Parquet or CSV first";
    match head {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            Some(("UTF-32 text", "convert it to UTF-8 first: iconv -f UTF-32 -t UTF-8"))
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            Some(("UTF-16 text", "convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8"))
        }
        [0x7f, b'E', b'L', b'F', ..] => Some(("a program", "give a file of text")),
        [0x89, b'P', b'N', b'G', ..] | [0xff, 0xd8, 0xff, ..] => Some(("a picture", "give a file of text")),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some(("a PDF file", "take its text out first")),
        [0x89, b'T', b'A', b'M', b'I', b'S', ..] => {
            Some(("a file of filters, not of rows", "merge filters to bring them together"))
        }
        [b'P', b'K', 3, 4, ..] => Some(("a zip archive", unpack)),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Some(("a 7z archive", unpack)),
        [4, 0x22, 0x4d, 0x18, ..] => Some(("LZ4 data", unpack)),
        [b'O', b'b', b'j', 1, ..] => Some(("an Avro file", convert)),
        [b'A', b'R', b'R', b'O', b'W', b'1', 0, ..] => Some(("an Arrow file", convert)),
        _ if head.get(257..262) == Some(b"ustar") => Some(("a tar archive", unpack)),
        // The head was decompressed already.
        _ if Compression::of(head).is_some() => Some(("compressed twice", unpack)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::{Help, Refusal};

    #[test]
    fn what_is_not_text_is_refused() {
        let refused = |text: &[u8], whole| refuse_binary(text, whole, None).err();
        assert_eq!(refused(b"ab\0", false), Some(BadFormat::Binary { at: 3 }));
        for (text, encoding) in [
            (&b"a\0b\0\n\0"[..], "UTF-16LE"),
            (b"\0a\0b\0\n", "UTF-16BE"),
            (b"a\0\0\0\n\0\0\0", "UTF-32LE"),
            (b"\0\0\0a\0\0\0\n", "UTF-32BE"),
        ] {
            let why = refused(text, true).unwrap();
            assert_eq!(why, BadFormat::Wide(encoding));
            assert!(
                matches!(why.help()[..], [Help::Do(advice)] if advice.contains(&format!("-f {encoding} ")))
            );
        }
        for text in ["a\rb\r", "a\rb", "a\r\rb"] {
            assert_eq!(refused(text.as_bytes(), true), Some(BadFormat::OnlyReturns), "{text:?}");
        }
        for text in ["a\r", "a\r\n", "a\rb\nc", "a\rb\n", "", "\r"] {
            assert_eq!(refused(text.as_bytes(), true), None, "{text:?}");
        }
        assert_eq!(refused(b"a\rb", false), None, "its end has not come");
        assert_eq!(refuse_binary(b"a\0b", true, Some(Delimiter::Byte(0))), Ok(()));
    }
}
