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
}
