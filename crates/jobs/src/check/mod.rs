//! The third phase: every key against every filter; exact false positives and negatives.
//!
//! Keys are brought together by hash, so that each distinct key is looked at once, with all the
//! groups it belongs to. A hit in a group is a false positive unless the key is a member; a miss
//! in a group of its own is a false negative. Memory is bounded: beyond a fixed number of rows,
//! keys wait on disk, cut by hash into parts that fit.
//!
//! [`Job`] says what is tested; `run` gathers the keys (`gather`) and has each part judged (`judge`, `single`);
//! `findings` draws the [`Report`] from the numbers. [`apart`] does the same on many machines. Where that is
//! asked for, an `adversary` makes keys for the filters ([`forged`]), and it is counted how many pass.

mod adversary;
pub mod apart;
mod findings;
pub mod forged;
mod gather;
mod job;
mod judge;
mod report;
mod run;
mod single;
#[cfg(test)]
mod tests;

pub use self::adversary::Attacked;
pub use self::findings::{Findings, conclude};
pub use self::job::{Job, With};
pub use self::judge::Hits;
pub use self::report::{FilterResult, GroupResult, IMPROBABLE, Lost, Report};
pub use self::run::check;
