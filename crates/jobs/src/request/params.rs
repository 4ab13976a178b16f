//! Parameters that were saved.

use std::io::Read;
use std::path::Path;

use tamis::format::MAGIC;
use tamis::params::Params;
use tamis_read::error::{Error, Result};
use tamis_read::remote;

use super::Refusal;

/// Reads parameters that a plan has saved.
pub fn read_params(path: &Path) -> Result<Params> {
    let mut file = remote::open(path).map_err(Error::io(path))?;
    let mut bytes = Vec::new();
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(Error::io(path))?;
    if bytes.starts_with(&MAGIC) {
        return Err(Error::input(path, Refusal::FiltersAsParameters));
    }
    file.read_to_end(&mut bytes).map_err(Error::io(path))?;
    Params::from_json(&String::from_utf8_lossy(&bytes)).map_err(|error| match error {
        tamis::Error::Params(why) => Error::input(path, Refusal::BadParameters(why)),
        error => Error::file(path)(error),
    })
}
