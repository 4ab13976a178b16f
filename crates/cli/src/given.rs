//! Files that are given beside any verb: a list of public suffixes, and a secret hash key.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use tamis::hash::HashKey;
use tamis::key::SuffixList;
use tamis_read::Error;

use crate::show::{GENERAL, Output};

/// No file of a key has more bytes; of one that has, no more is read.
const MOST_KEY_BYTES: u64 = 1 << 10;

/// The files, as they were given.
#[derive(Debug, Args)]
pub struct Given {
    /// A public suffix list for the step `domain`, in place of the one in the program; also for files that
    /// were made with it
    #[arg(long, global = true, value_name = "FILE", help_heading = GENERAL)]
    suffix_list: Option<PathBuf>,
    /// The secret key of --hash siphash: a file of 16 random bytes, or of 32 hexadecimal digits. Whatever
    /// asks, adds or removes keys needs it; the filters do not contain it
    #[arg(long, global = true, value_name = "FILE", help_heading = GENERAL)]
    hash_key: Option<PathBuf>,
}

impl Given {
    /// Their paths, each with its option.
    pub fn paths(&self) -> Vec<(&'static str, &Path)> {
        let all = [("--suffix-list", &self.suffix_list), ("--hash-key", &self.hash_key)];
        all.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?))).collect()
    }

    /// Reads the key; or says what is wrong with it, and never what stands in it.
    pub fn read_key(&self) -> Result<Option<HashKey>, String> {
        let Some(path) = &self.hash_key else { return Ok(None) };
        // Digits in place of the file that holds them would be read by all who read the message.
        if path.to_str().is_some_and(|text| HashKey::read(text.as_bytes()).is_some() && text.len() == 32) {
            return Err(
                "--hash-key: this is a key, not a file of one; put it into a file, since everybody can \
                        read the arguments of a process"
                    .to_owned(),
            );
        }
        let unread = |error: io::Error| format!("--hash-key {}", Error::io(path)(error));
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(unread)?;
        file.take(MOST_KEY_BYTES).read_to_end(&mut bytes).map_err(unread)?;
        let Some(key) = HashKey::read(&bytes) else {
            return Err(format!(
                "--hash-key {}: a key is a file of 16 random bytes, or of 32 hexadecimal digits, and this is \
                 neither; `head -c 16 /dev/urandom > NEWFILE` makes one",
                path.display()
            ));
        };
        key.add();
        Ok(Some(key))
    }

    /// Says which of them nothing asked for, of this list and this key.
    pub fn warn_unused(&self, list: Option<&SuffixList>, key: Option<HashKey>, output: &Output) {
        if let (Some(path), Some(list)) = (&self.suffix_list, list)
            && !list.is_asked()
        {
            let path = path.display();
            output.warn(format!(
                "--suffix-list {path} was not used: no step domain here is made with this list"
            ));
        }
        if let (Some(path), Some(key)) = (&self.hash_key, key)
            && !key.is_asked()
        {
            let path = path.display();
            output.warn(format!("--hash-key {path} was not used: nothing here is hashed with this key"));
        }
    }
}

/// Reads the list of public suffixes among the arguments, which are not yet understood: columns are
/// understood with it. Or says what is wrong with it.
pub fn read_list(arguments: &[OsString]) -> Result<Option<SuffixList>, String> {
    let Some(path) = suffix_list(arguments) else { return Ok(None) };
    let text =
        fs::read_to_string(&path).map_err(|error| format!("--suffix-list {}", Error::io(&path)(error)))?;
    match SuffixList::is_one(&text) {
        true => Ok(Some(SuffixList::add(&text))),
        false => Err(format!("--suffix-list {}: this is not a public suffix list", path.display())),
    }
}

/// The list of public suffixes among the arguments.
fn suffix_list(arguments: &[OsString]) -> Option<PathBuf> {
    const NAME: &str = "--suffix-list";
    let named: Vec<&OsString> = arguments.iter().take_while(|argument| *argument != "--").collect();
    let value = |at: usize| match named[at].to_str()?.strip_prefix(NAME)? {
        "" => named.get(at + 1).map(PathBuf::from),
        value => value.strip_prefix('=').map(PathBuf::from),
    };
    (0..named.len()).find_map(value)
}
