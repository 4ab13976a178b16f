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
    /// Words and parameters that do not belong together.
    #[error("{0}")]
    Shape(String),
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
