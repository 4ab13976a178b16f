//! Topics of Kafka, as streams and as a place for answers.
//!
//! **Reading.** All partitions, or those that are named, each from its beginning; how far each was
//! read stands in our own state, never in a group of the broker. A run ends where the topic ended
//! when it began, unless it follows it. Messages of several partitions are taken in the order of
//! their times (of equal times, in the order of partitions), so that batches by count are the same in
//! every run over the same topic; a run that follows does not wait for a partition that is silent, and
//! reads those that are added meanwhile, from their beginning.
//! Within a batch, records stand partition by partition: however they came, a batch that is run again
//! is the same.
//!
//! **Writing.** Answers are sent in transactions. Our commit and that of the broker are two events, so
//! the transaction also holds the number of its last batch, as the offset of a group: it lasts if and
//! only if the answers do. A later run asks the broker for that number. Batches up to it are run
//! again, where our commit is older, but their answers are not sent again. The transaction is that of
//! an id which stands in the state folder: whoever begins with it ends the open one of a run that was
//! killed, and a run that only seemed dead can write no more. Why each answer comes once: `sink`.
//!
//! All but names and settings is behind the feature `kafka`, which needs librdkafka's C sources.

mod address;
#[cfg(feature = "kafka")]
mod client;
#[cfg(any(test, feature = "kafka"))]
#[cfg_attr(not(feature = "kafka"), allow(dead_code))]
mod ends;
#[cfg(feature = "kafka")]
mod ledger;
// Tested in every build, though used with the feature alone.
#[cfg(any(test, feature = "kafka"))]
#[cfg_attr(not(feature = "kafka"), allow(dead_code))]
mod merge;
mod refusal;
mod settings;
#[cfg(feature = "kafka")]
pub(super) mod sink;
#[cfg(feature = "kafka")]
pub(super) mod source;
#[cfg(feature = "kafka")]
mod writer;

pub use self::address::{Address, Field};
pub use self::refusal::{BadAddress, BadSetting, BadTopic};
pub use self::settings::{Asked, Property, Settings};

use tamis_read::error::Result;

/// Refuses topics and settings that cannot be used, before anything is done.
pub(super) fn check(topics: &[&Address], settings: &Settings) -> Result<()> {
    if topics.is_empty() {
        return match settings.properties.first() {
            Some((name, _)) => Err(BadSetting::NoTopic(name.clone()).into()),
            None => Ok(()),
        };
    }
    settings.check()?;
    #[cfg(feature = "kafka")]
    return client::check(topics[0], settings);
    #[cfg(not(feature = "kafka"))]
    Err(BadSetting::NotBuilt(topics[0].to_string()).into())
}
