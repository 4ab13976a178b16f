//! What a program without the feature `cloud` says of files that lie elsewhere.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::Failure;

/// There is none.
#[derive(Debug)]
pub(crate) struct Object(Infallible);

impl Object {
    pub(crate) fn look(_: &Path) -> io::Result<Object> {
        Err(Failure::NotBuilt.into())
    }

    pub(crate) fn len(&self) -> u64 {
        match self.0 {}
    }

    pub(crate) fn read(&self, _: u64) -> Box<dyn Read + Send> {
        match self.0 {}
    }

    pub(crate) fn begin(&self) -> Box<dyn Read + Send> {
        match self.0 {}
    }

    pub(crate) fn part(&self, _: u64, _: usize) -> io::Result<Bytes> {
        match self.0 {}
    }
}

pub(crate) fn find(_: &Path) -> io::Result<Vec<PathBuf>> {
    Err(Failure::NotBuilt.into())
}

/// Refuses a file that cannot be written.
pub fn check_output(_: &Path) -> io::Result<()> {
    Err(Failure::NotBuilt.into())
}

/// There is none.
#[derive(Debug)]
pub struct Upload(Infallible);

impl Upload {
    /// Refuses to.
    pub fn send(_: &Path, _: &File) -> io::Result<Upload> {
        Err(Failure::NotBuilt.into())
    }

    /// Puts the file in its place.
    pub fn complete(self) -> io::Result<()> {
        match self.0 {}
    }
}
