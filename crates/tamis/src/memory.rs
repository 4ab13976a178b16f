//! Memory for those who lay sketches out themselves: zeroed arrays, mapped files, a line asked for
//! before it is used.
//!
//! ```
//! use tamis::bloom::Bloom;
//! use tamis::memory::Words;
//!
//! // Two filters in one array.
//! let mut room = Words::new(16)?;
//! for words in room.chunks_exact_mut(8) {
//!     Bloom::from_words(words, 512, 7)?.insert_hash(42);
//! }
//! assert_eq!(room[..8], room[8..]);
//! # Ok::<(), tamis::Error>(())
//! ```

pub use crate::arch::cpu::prefetch;
// For crates of this project, whose own unsafe code would be a twin of this: nobody else is promised it.
#[doc(hidden)]
pub use crate::arch::cpu::{Vectored, vectored};
#[cfg(feature = "std")]
pub use crate::arch::map::Map;
pub use crate::arch::map::Words;
#[cfg(feature = "file")]
pub use crate::arch::map::roomy;
