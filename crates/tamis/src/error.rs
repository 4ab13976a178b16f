//! What can go wrong in the library, each with what to do about it.

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A recipe that cannot be read.
    #[error("{0}")]
    Recipe(String),
    /// A rate that is no probability between 0 and 1.
    #[error("the false-positive rate must lie between 0 and 1, both excluded: {0} does not")]
    Rate(f64),
    /// A filter for no keys.
    #[error("a filter needs at least one key to be sized for")]
    NoKeys,
    /// More bits than can be addressed.
    #[error("{bits} bits are more than a filter can have (2^56)")]
    TooLarge {
        /// The bits asked for.
        bits: u64,
    },
    /// Words and parameters that do not belong together.
    #[error("{0}")]
    Shape(String),
    /// Sketches whose parameters differ cannot be merged or compared.
    #[error("{0}")]
    Different(String),
    /// A file that is no tamis file.
    #[error("is not a tamis file (it does not begin with the magic bytes)")]
    Magic,
    /// A file of a version that this program does not know.
    #[error("is a tamis file of version {got}; this program reads version {expected}: use a newer tamis")]
    Version {
        /// The version that is known here.
        expected: u32,
        /// The version of the file.
        got: u32,
    },
    /// A file that ends too early, or goes on too long.
    #[error(
        "is {got} bytes long and should have {expected}: truncated or damaged; build it again or copy it again"
    )]
    Length {
        /// As the header has it.
        expected: u64,
        /// As it is.
        got: u64,
    },
    /// A part of a file whose checksum does not match.
    #[error("{part} is damaged (its checksum does not match): build the file again or copy it again")]
    Checksum {
        /// The part.
        part: String,
    },
    /// A file whose parts contradict each other though their checksums match.
    #[error("{0}: the file was not written by tamis, or was changed since")]
    Corrupt(String),
    /// Memory that is not to be had.
    #[error("not enough memory: {0}")]
    Memory(std::io::Error),
    /// A set of which no fuse filter could be built.
    #[error(
        "no fuse filter of these {keys} hashes was found with {seeds} seeds: they are not spread evenly; \
         hash the keys with another seed, or build a blocked filter"
    )]
    Seeds {
        /// The distinct hashes.
        keys: u64,
        /// The seeds that were tried.
        seeds: u64,
    },
}
