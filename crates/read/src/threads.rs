//! What is said where a job cannot do without a thread that the system does not give.

use std::io;

use crate::refusal::{Help, Refusal};

/// A thread that cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("a thread cannot be started ({0})")]
pub struct NoThread(pub io::Error);

impl Refusal for NoThread {
    fn help(&self) -> Vec<Help> {
        vec![Help::Do("allow more processes (ulimit -u) or more memory (ulimit -v)")]
    }
}
