//! What goes wrong with topics, brokers and settings, as values.

use tamis_make::number;
use tamis_read::refusal::{Help, Refusal};
use thiserror::Error;

use super::address::LONGEST;
use crate::opt;

const NAME: &str = "a topic is named kafka://broker:9092/topic, with several brokers separated by commas";

/// A name that is not that of a topic.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum BadAddress {
    /// Secrets in a name.
    #[error("names and passwords do not belong here, where others see them")]
    Secret,
    /// No brokers, or no topic.
    #[error("{NAME}")]
    Form,
    /// Signs that a topic cannot have.
    #[error("{NAME}; the name of a topic has up to {LONGEST} letters, digits, dots, _ and -")]
    Topic,
    /// Partitions that are not numbers.
    #[error("partitions are non-negative integers: ?partitions=0,2")]
    Partitions,
    /// A question that is not known.
    #[error("{0:?} is not known here; there are ?partitions=0,2 and ?field=key")]
    Unknown(String),
}

impl Refusal for BadAddress {
    fn help(&self) -> Vec<Help> {
        match self {
            BadAddress::Secret => vec![Help::give(opt::KAFKA_CONFIG.with("FILE"))],
            _ => Vec::new(),
        }
    }
}

/// A setting that cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum BadSetting {
    /// Not a name and a value.
    #[error("a setting has a name and a value: name=value")]
    Form,
    /// A setting without a topic.
    #[error("{0} is a setting for Kafka, and no kafka:// is named")]
    NoTopic(String),
    /// Brokers that stand elsewhere.
    #[error("bootstrap.servers: name the brokers in the address, kafka://broker:9092/topic")]
    Brokers,
    /// A setting that the promises need.
    #[error("{0} cannot be set: what tamis promises depends on it")]
    Ours(String),
    /// A time that is too short.
    #[error("a broker is waited for at least 100 ms")]
    Timeout,
    /// A value that librdkafka refuses.
    #[error("{name}: {why}; settings have librdkafka's names (security.protocol, sasl.mechanisms, …)")]
    Refused {
        /// The setting.
        name: String,
        /// What librdkafka says.
        why: String,
    },
    /// The same of a secret, of which nothing is repeated.
    #[error("{0}: librdkafka does not take it")]
    Secret(String),
    /// Settings that exclude each other.
    #[error("the settings for Kafka do not go together: {0}")]
    Together(String),
    /// Anything else that librdkafka says.
    #[error("{0}")]
    Other(String),
    /// A program without Kafka.
    #[error(
        "{0}: this tamis was built without Kafka; build it with the feature kafka (it needs make, a C and C++ compiler and the headers of OpenSSL)"
    )]
    NotBuilt(String),
}

impl Refusal for BadSetting {}

/// What is wrong with a topic or its brokers.
#[derive(Debug, Error)]
pub enum BadTopic {
    /// Nobody answers.
    #[error("no broker has answered for {time}{complaint}: check that it runs and is named correctly")]
    Silent {
        /// How long.
        time: String,
        /// What was heard meanwhile.
        complaint: String,
    },
    /// Brokers that do not let us in, or are not those that are meant.
    #[error("the connection was refused: {0}: check the user, the password, the certificates and the port")]
    Shut(String),
    /// What a broker says.
    #[error("{0}")]
    Broker(String),
    /// No rights.
    #[error("this user may not read or write this topic")]
    Forbidden,
    /// No such topic.
    #[error("there is no topic {topic:?}{others}")]
    NoTopic {
        /// The topic.
        topic: String,
        /// Topics that there are.
        others: String,
    },
    /// Another cluster.
    #[error("is in another cluster ({now}) than what was read ({then}): name another state folder")]
    OtherCluster {
        /// As it is.
        now: String,
        /// As it was.
        then: String,
    },
    /// A partition that is not there.
    #[error("there is no partition {id}; the topic has {partitions} (0 to {last})", last = .partitions - 1)]
    NoPartition {
        /// The partition.
        id: i32,
        /// How many there are.
        partitions: usize,
    },
    /// A partition that was there.
    #[error("partition {0} was there when the topic was read, and is gone")]
    PartitionGone(i32),
    /// Messages that are gone.
    #[error(
        "partition {id} was read to offset {read} and begins at {low} now: {} messages are gone that were not read (retention?)", .low - .read
    )]
    MessagesGone {
        /// The partition.
        id: i32,
        /// How far it was read.
        read: u64,
        /// Where it begins.
        low: u64,
    },
    /// A topic that is shorter than it was.
    #[error(
        "partition {id} was read to offset {read} and ends at {high} now: the topic was cut or created again"
    )]
    Shortened {
        /// The partition.
        id: i32,
        /// How far it was read.
        read: u64,
        /// Where it ends.
        high: u64,
    },
    /// A partition that cannot be opened.
    #[error("partition {0} cannot be read")]
    Unreadable(i32),
    /// A message that is not a record.
    #[error("partition {id}, offset {offset}: {why}")]
    Message {
        /// The partition.
        id: i32,
        /// The message.
        offset: u64,
        /// What is wrong with it.
        why: Box<dyn Refusal>,
    },
    /// A message that a batch needs again.
    #[error(
        "partition {id}, offset {offset}: a message that was read earlier is gone (compaction?), and its batch cannot be run again: start with an empty state folder"
    )]
    Compacted {
        /// The partition.
        id: i32,
        /// The message.
        offset: u64,
    },
    /// A batch that has fewer messages than it had.
    #[error(
        "{} of a batch that was begun are gone (compaction?), and it cannot be run again: start with an empty state folder",
        number::counted(*.gone, "message")
    )]
    BatchShrunk {
        /// How many.
        gone: u64,
    },
    /// A state that is not one of a topic.
    #[error("the state cannot be read as that of a topic: start with an empty state folder")]
    State,
    /// An id that cannot be used.
    #[error("is damaged: start with an empty state folder")]
    Id,
    /// Partitions for answers.
    #[error("answers go to the partition of their key: leave out ?partitions")]
    AnswerPartitions,
    /// A field for answers.
    #[error("answers are written as values, with their keys as keys: leave out ?field")]
    AnswerField,
    /// A broker that forgot.
    #[error(
        "the broker no longer knows that answers up to batch {0} were written (it forgets after offsets.retention.minutes): answers of later batches may be duplicated"
    )]
    Forgotten(u64),
    /// A state that is a copy.
    #[error(
        "answers up to batch {found} were written, and the state knows of only {begun} batches: it is an older copy; start with an empty state folder, or accept that answers are written twice"
    )]
    OldState {
        /// What the broker knows.
        found: u64,
        /// What the state knows.
        begun: u64,
    },
    /// A group without a coordinator.
    #[error("its group has no coordinator")]
    NoCoordinator,
    /// A transaction that cannot begin.
    #[error("no transaction can begin: {0}")]
    NoTransaction(String),
    /// Two runs with one state.
    #[error(
        "the brokers have shut this run out: another run with the same state (or transactional.id) has taken over"
    )]
    TakenOver,
    /// Answers that were refused.
    #[error("the answers could not be written: {0}")]
    Unwritten(String),
}

impl Refusal for BadTopic {
    fn help(&self) -> Vec<Help> {
        match self {
            BadTopic::Silent { .. } => {
                vec![Help::give(opt::KAFKA_TIMEOUT.with("TIME"))]
            }
            BadTopic::Message { why, .. } => why.help(),
            BadTopic::PartitionGone(_)
            | BadTopic::MessagesGone { .. }
            | BadTopic::Shortened { .. }
            | BadTopic::Compacted { .. }
            | BadTopic::BatchShrunk { .. }
            | BadTopic::Forgotten(_)
            | BadTopic::OldState { .. } => vec![Help::give(opt::LOST.with("go-on"))],
            _ => Vec::new(),
        }
    }
}
