//! Temporary files and folders that a program which is ended at once can still remove; the library
//! keeps them, so that there is one list of them.

pub use tamis::whole::leftovers::{TemporaryFolder, remove_all};
