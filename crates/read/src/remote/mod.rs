//! Files that lie elsewhere: on S3, behind HTTP, on HDFS.
//!
//! Their names are URLs, and stand wherever a path can: `s3://bucket/2026/*.parquet`, `https://host/x.tsv.gz`,
//! `hdfs://host:8020/user/me/x.csv`. This is the one room that knows where bytes lie. Rows are read as they
//! come, in parts that are asked for ahead; of Parquet only what is needed. What is read as a whole (filters,
//! parameters) comes into an unnamed temporary file. Outputs are [sent](Upload) whole.
//!
//! An `Object` remembers what it was when it was first looked at: whoever reads it again, and finds another in
//! its place, is told.
//!
//! All but names is behind the feature `cloud`, which builds clients of S3, HTTP and HDFS.

mod address;
#[cfg(feature = "cloud")]
mod client;
#[cfg(not(feature = "cloud"))]
#[path = "none.rs"]
mod client;
mod failure;
#[cfg(feature = "cloud")]
mod find;
#[cfg(feature = "cloud")]
mod patient;
#[cfg(feature = "cloud")]
mod upload;

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;

pub(crate) use self::address::Address;
pub use self::address::is_remote;
pub(crate) use self::client::{Object, find};
pub use self::client::{Upload, check_output};
pub use self::failure::Failure;

/// Opens a file that is read as a whole. One that lies elsewhere is brought here first, into a temporary file
/// without a name.
pub fn open(path: &Path) -> io::Result<File> {
    if !is_remote(path) {
        return File::open(path);
    }
    let object = Object::look(path)?;
    let mut file = tempfile::tempfile()?;
    let copied = io::copy(&mut object.read(0), &mut file)?;
    debug_assert_eq!(copied, object.len(), "a stream that ends early is an error");
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// Whether something is there. That it cannot be looked at is an error, and does not mean that nothing is there.
pub fn is_there(path: &Path) -> io::Result<bool> {
    match Object::look(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
