//! How the pages of a Parquet file are compressed.

use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};

/// How the pages of a Parquet file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Codec {
    /// Not at all.
    None,
    /// Snappy: fast, and read by everything that reads Parquet.
    #[default]
    Snappy,
    /// gzip.
    Gzip,
    /// Zstandard: smaller, and nearly as fast.
    Zstd,
    /// LZ4, the raw kind of it.
    Lz4,
    /// Brotli.
    Brotli,
}

impl Codec {
    /// All of them.
    pub const ALL: [Codec; 6] =
        [Codec::None, Codec::Snappy, Codec::Gzip, Codec::Zstd, Codec::Lz4, Codec::Brotli];

    /// Its name in requests.
    pub fn name(self) -> &'static str {
        match self {
            Codec::None => "none",
            Codec::Snappy => "snappy",
            Codec::Gzip => "gzip",
            Codec::Zstd => "zstd",
            Codec::Lz4 => "lz4",
            Codec::Brotli => "brotli",
        }
    }

    pub(super) fn compression(self) -> Compression {
        match self {
            Codec::None => Compression::UNCOMPRESSED,
            Codec::Snappy => Compression::SNAPPY,
            Codec::Gzip => Compression::GZIP(GzipLevel::default()),
            Codec::Zstd => Compression::ZSTD(ZstdLevel::default()),
            Codec::Lz4 => Compression::LZ4_RAW,
            Codec::Brotli => Compression::BROTLI(BrotliLevel::default()),
        }
    }
}
