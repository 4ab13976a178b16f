//! Compressed bytes in, plain bytes out.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

use liblzma::stream::{CONCATENATED, Stream};

/// Any stream of bytes.
pub(super) type Bytes = Box<dyn Read + Send>;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gz,
    /// Zstandard.
    Zst,
    /// bzip2.
    Bz2,
    /// xz.
    Xz,
}

/// What an xz file may ask for: `xz -9` needs 65 MiB; more is not taken on a file's word.
const XZ_MEMORY: u64 = 1 << 29;

impl Compression {
    /// What the name of a file asks for.
    pub fn of_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        let all = [Compression::Gz, Compression::Zst, Compression::Bz2, Compression::Xz];
        all.into_iter().find(|compression| extension.eq_ignore_ascii_case(compression.name()))
    }

    /// Recognises it by the first bytes, of which 10 are enough.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, 8, ..] => Some(Compression::Gz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zst),
            // A skippable frame, with which parallel compressors begin.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zst),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            // The magic alone is plain text: a block, or the end of an empty stream, must follow.
            [b'B', b'Z', b'h', b'1'..=b'9', block @ ..]
                if block.starts_with(b"1AY&SY") || block.starts_with(b"\x17rE8P\x90") =>
            {
                Some(Compression::Bz2)
            }
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Compression::Gz => "gz",
            Compression::Zst => "zst",
            Compression::Bz2 => "bz2",
            Compression::Xz => "xz",
        }
    }

    /// What the compressed bytes hold, over all members, frames or streams of the file.
    pub(super) fn decoder(self, bytes: Bytes) -> io::Result<Bytes> {
        Ok(match self {
            Compression::Gz => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
            Compression::Zst => Box::new(zstd::Decoder::new(bytes)?),
            Compression::Bz2 => Box::new(bzip2::read::MultiBzDecoder::new(bytes)),
            Compression::Xz => {
                let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)?;
                Box::new(liblzma::read::XzDecoder::new_stream(bytes, stream))
            }
        })
    }
}

/// Reads until the buffer is full or the stream ends, and says how much that was.
pub(super) fn fill(bytes: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(fill_until(bytes, buffer, |_| false)?.0)
}

/// Reads until the buffer is full, the stream ends, or what was read is enough. Says how much
/// that was, and whether the stream ended.
pub(super) fn fill_until(
    bytes: &mut impl Read,
    buffer: &mut [u8],
    enough: impl Fn(&[u8]) -> bool,
) -> io::Result<(usize, bool)> {
    let mut len = 0;
    while len < buffer.len() {
        match bytes.read(&mut buffer[len..]) {
            Ok(0) => return Ok((len, true)),
            Ok(n) => len += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if enough(&buffer[..len]) {
            break;
        }
    }
    Ok((len, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn compress(compression: Compression, data: &[u8]) -> Vec<u8> {
        match compression {
            Compression::Gz => {
                let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                to.write_all(data).unwrap();
                to.finish().unwrap()
            }
            Compression::Zst => zstd::encode_all(data, 1).unwrap(),
            Compression::Bz2 => {
                let mut to = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                to.write_all(data).unwrap();
                to.finish().unwrap()
            }
            Compression::Xz => {
                let mut to = liblzma::write::XzEncoder::new(Vec::new(), 1);
                to.write_all(data).unwrap();
                to.finish().unwrap()
            }
        }
    }

    const ALL: [Compression; 4] = [Compression::Gz, Compression::Zst, Compression::Bz2, Compression::Xz];

    #[test]
    fn files_of_several_members_are_read_to_their_end() {
        for compression in ALL {
            let mut bytes = compress(compression, b"one\n");
            bytes.extend(compress(compression, b""));
            bytes.extend(compress(compression, &b"two\n".repeat(50_000)));
            assert_eq!(Compression::of(&bytes), Some(compression));
            let mut text = Vec::new();
            let mut decoder = compression.decoder(Box::new(io::Cursor::new(bytes))).unwrap();
            decoder.read_to_end(&mut text).unwrap();
            assert_eq!(text.len(), 4 + 200_000, "{compression:?}");
        }
    }

    #[test]
    fn an_empty_compressed_file_is_recognised_and_empty() {
        for compression in ALL {
            let bytes = compress(compression, b"");
            assert_eq!(Compression::of(&bytes), Some(compression));
            let mut text = Vec::new();
            compression.decoder(Box::new(io::Cursor::new(bytes))).unwrap().read_to_end(&mut text).unwrap();
            assert!(text.is_empty());
        }
    }

    #[test]
    fn a_compressed_file_that_was_cut_off_is_an_error() {
        for compression in ALL {
            let mut bytes = compress(compression, &b"0123456789\n".repeat(1000));
            bytes.truncate(bytes.len() - 9);
            let mut decoder = compression.decoder(Box::new(io::Cursor::new(bytes))).unwrap();
            assert!(decoder.read_to_end(&mut Vec::new()).is_err(), "{compression:?}");
        }
    }

    #[test]
    fn plain_text_is_not_taken_for_compressed() {
        for text in [&b"BZh9 is how bzip2 begins"[..], b"", b"\x1f", b"(", b"PAR1"] {
            assert_eq!(Compression::of(text), None);
        }
    }
}
