//! What the user named as a stream: files, standard input, a pipe, a socket, a topic.

use std::fs;
use std::path::{Path, PathBuf};

use tamis_read::error::{Error, Result};
use tamis_read::remote;

use crate::kafka;
use crate::net::Address;
use crate::refusal::Impossible;

/// What the user named as one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// Files, globs, folders.
    Files(Vec<String>),
    /// Standard input.
    Stdin,
    /// A pipe by its name, or anything else that is read once.
    Pipe(PathBuf),
    /// A socket.
    Socket(Address),
    /// A topic of Kafka.
    Kafka(kafka::Address),
}

impl Named {
    /// What these words name.
    pub fn of(inputs: &[String]) -> Result<Named> {
        let special = |path: &Path| fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir());
        for input in inputs {
            let named = match (Address::of(input), kafka::Address::of(input)) {
                (Some(address), _) => Named::Socket(address?),
                (_, Some(topic)) => Named::Kafka(topic?),
                _ if input == "-" => Named::Stdin,
                _ if remote::is_remote(Path::new(input)) => {
                    return Err(Error::input(input, Impossible::Elsewhere));
                }
                _ if special(Path::new(input)) => Named::Pipe(input.into()),
                _ => continue,
            };
            return if inputs.len() == 1 { Ok(named) } else { Err(Impossible::Beside(input.clone()).into()) };
        }
        Ok(Named::Files(inputs.to_vec()))
    }

    /// Whether it comes once, and perhaps slowly.
    pub fn is_live(&self) -> bool {
        !matches!(self, Named::Files(_) | Named::Kafka(_))
    }
}
