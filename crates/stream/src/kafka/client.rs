//! What readers and writers share: the settings of a client, what it last complained of, and errors
//! in our words.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::ProducerContext;
use tamis_read::error::{Error, Result};

use super::refusal::{BadSetting, BadTopic};
use super::{Address, Settings};

/// Hears what librdkafka has to say, and remembers the last complaint.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    last: Mutex<Option<String>>,
    /// The first message that could not be delivered, and why.
    undelivered: Mutex<Option<String>>,
    /// Why brokers let nobody in with these settings.
    shut: Mutex<Option<String>>,
    /// The last statistics, until they are taken.
    statistics: Mutex<Option<Vec<u8>>>,
}

impl Hearing {
    fn hear(&self, complaint: &str, code: Option<RDKafkaErrorCode>) {
        use RDKafkaErrorCode::{Authentication, SSL};
        // Which thread it was is of no interest.
        let complaint = match complaint.split_once("]: ") {
            Some((thread, rest)) if thread.starts_with("[thrd:") => rest,
            _ => complaint,
        };
        let said = format!("{complaint}{}", hint(complaint));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
        // A wrong password, or the certificate of somebody else, which comes as a failure of the connection, too: no
        // wait will help.
        if matches!(code, Some(Authentication | SSL)) || complaint.contains("certificate verify failed") {
            *self.shut.lock().unwrap_or_else(PoisonError::into_inner) = Some(complaint.into());
        }
    }

    /// The last complaint, to be put at the end of a message.
    pub(super) fn complaint(&self) -> String {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().map_or_else(String::new, |last| format!(" ({last})"))
    }

    /// Why a message was not delivered, if one was not.
    pub(super) fn undelivered(&self) -> Option<String> {
        self.undelivered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins to listen for such messages again.
    pub(super) fn forget_undelivered(&self) {
        *self.undelivered.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Why brokers let nobody in, if they said so.
    pub(super) fn shut(&self) -> Option<String> {
        self.shut.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The statistics, if there are new ones.
    pub(super) fn statistics(&self) -> Option<Vec<u8>> {
        self.statistics.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What a connection that breaks off at this step mostly means.
fn hint(complaint: &str) -> &'static str {
    let breaks_in = |state: &str| complaint.contains("Disconnected") && complaint.contains(state);
    if breaks_in("in state APIVERSION_QUERY") {
        ": as if it needed TLS or a password, see security.protocol"
    } else if breaks_in("in state SSL_HANDSHAKE") {
        ": as if it had no TLS, see security.protocol"
    } else {
        ""
    }
}

impl ClientContext for Hearing {
    fn log(&self, level: RDKafkaLogLevel, what: &str, message: &str) {
        // A broker that closes the connection, because it speaks TLS and we do not, is no error to librdkafka.
        if (level as i32) <= (RDKafkaLogLevel::Error as i32) || what == "FAIL" {
            self.hear(message, None);
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        let code = error.rdkafka_error_code();
        // That all are down says less than why the last one is.
        if !matches!(code, Some(RDKafkaErrorCode::AllBrokersDown | RDKafkaErrorCode::PartitionEOF)) {
            self.hear(reason, code);
        }
    }

    fn stats_raw(&self, statistics: &[u8]) {
        *self.statistics.lock().unwrap_or_else(PoisonError::into_inner) = Some(statistics.into());
    }
}

impl ConsumerContext for Hearing {}

impl ProducerContext for Hearing {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if let Err((error, _)) = result {
            let mut first = self.undelivered.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert_with(|| plain(error));
        }
    }
}

/// What is wrong, without the names that the library has for its own parts.
pub(super) fn plain(error: &KafkaError) -> String {
    match error {
        KafkaError::Transaction(error) => error.string(),
        error => match error.rdkafka_error_code() {
            Some(code) => {
                let text = code.to_string();
                // "BrokerTransportFailure (Local: Broker transport failure)"
                let inner = text.split_once(" (").map_or(&*text, |(_, inner)| inner.trim_end_matches(')'));
                inner.trim_start_matches("Local: ").trim_start_matches("Broker: ").to_owned()
            }
            None => error.to_string(),
        },
    }
}

/// An error about a topic.
pub(super) fn about(topic: &Address, why: BadTopic) -> Error {
    Error::input(topic.to_string(), why)
}

/// That nobody has answered.
pub(super) fn silent(topic: &Address, settings: &Settings, hearing: &Hearing) -> Error {
    let time = shown(settings.timeout);
    about(topic, BadTopic::Silent { time, complaint: hearing.complaint() })
}

fn shown(time: Duration) -> String {
    match time.as_millis() {
        ms if ms % 1000 == 0 => format!("{} s", ms / 1000),
        ms => format!("{ms} ms"),
    }
}

/// The configuration of a client of this topic's brokers.
pub(super) fn config(topic: &Address, settings: &Settings) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("client.id", "tamis");
    // A request that hangs is given up before we give up, so that it can be said why.
    let request = settings.timeout.as_millis().clamp(1000, 60_000);
    config.set("socket.timeout.ms", request.to_string());
    config.set("reconnect.backoff.max.ms", "1000");
    for (name, value) in &settings.properties {
        config.set(name, value);
    }
    config.set("bootstrap.servers", &topic.brokers);
    config.set_log_level(RDKafkaLogLevel::Info);
    config
}

/// Refuses settings that librdkafka does not have, or not with these values.
pub(super) fn check(topic: &Address, settings: &Settings) -> Result<()> {
    match config(topic, settings).create_native_config() {
        Err(error) => Err(wrong_setting(error)),
        Ok(_) => Ok(()),
    }
}

/// That a client cannot be made.
pub(super) fn wrong_setting(error: KafkaError) -> Error {
    let why = match error {
        // The value is not repeated: it may be a secret.
        KafkaError::ClientConfig(_, why, name, _) if !Settings::is_secret(&name) => {
            BadSetting::Refused { name, why }
        }
        KafkaError::ClientConfig(_, _, name, _) => BadSetting::Secret(name),
        KafkaError::ClientCreation(why) => BadSetting::Together(why),
        error => BadSetting::Other(error.to_string()),
    };
    why.into()
}

/// A consumer that reads what it is told to, and tells the brokers nothing about it.
pub(super) fn consumer(config: &mut ClientConfig) -> Result<BaseConsumer<Hearing>> {
    config
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("enable.partition.eof", "true")
        .set("auto.offset.reset", "error");
    for (name, usual) in [("group.id", "tamis"), ("isolation.level", "read_committed")] {
        if config.get(name).is_none() {
            config.set(name, usual);
        }
    }
    config.create_with_context(Hearing::default()).map_err(wrong_setting)
}

/// That brokers let nobody in with these settings, or that nobody has answered.
pub(super) fn unanswered(topic: &Address, settings: &Settings, hearing: &Hearing) -> Error {
    match hearing.shut() {
        Some(why) => about(topic, BadTopic::Shut(why)),
        None => silent(topic, settings, hearing),
    }
}

/// Asks a broker until it answers, or has not for too long.
pub(super) fn ask<T>(
    consumer: &BaseConsumer<Hearing>,
    topic: &Address,
    settings: &Settings,
    question: impl Fn(Duration) -> Result<T, KafkaError>,
) -> Result<T> {
    let answer = ask_for(consumer, topic, settings, settings.timeout, question)?;
    answer.ok_or_else(|| unanswered(topic, settings, consumer.context()))
}

/// Asks a broker for this time, in small steps so that it can be heard meanwhile why it does not answer.
pub(super) fn ask_for<T>(
    consumer: &BaseConsumer<Hearing>,
    topic: &Address,
    settings: &Settings,
    time: Duration,
    question: impl Fn(Duration) -> Result<T, KafkaError>,
) -> Result<Option<T>> {
    let deadline = Instant::now() + time;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let answer = question(left.clamp(Duration::from_millis(10), Duration::from_secs(2)));
        // What is to be heard waits here.
        for _ in 0..100 {
            if consumer.poll(Duration::ZERO).is_none() {
                break;
            }
        }
        match answer {
            Ok(answer) => return Ok(Some(answer)),
            Err(error) if !is_for_now(&error) => {
                let why = format!("{}{}", plain(&error), consumer.context().complaint());
                return Err(about(topic, BadTopic::Broker(why)));
            }
            Err(_) if consumer.context().shut().is_some() => {
                return Err(unanswered(topic, settings, consumer.context()));
            }
            Err(_) if left.is_zero() => return Ok(None),
            Err(_) => {}
        }
    }
}

/// Whether it may go away by itself.
pub(super) fn is_for_now(error: &KafkaError) -> bool {
    use RDKafkaErrorCode::*;
    let code = match error {
        KafkaError::Transaction(error) if error.is_retriable() => return true,
        KafkaError::Transaction(error) if error.is_fatal() || error.txn_requires_abort() => return false,
        KafkaError::Transaction(error) => Some(error.code()),
        error => error.rdkafka_error_code(),
    };
    matches!(
        code,
        Some(
            AllBrokersDown
                | BrokerTransportFailure
                // Of a broker that has gone, and of leaders that move.
                | DestroyBroker
                | BrokerDestroy
                | BrokerNotAvailable
                | UnknownBroker
                | UnknownPartition
                | ReplicaNotAvailable
                | OffsetNotAvailable
                | FencedLeaderEpoch
                | UnknownLeaderEpoch
                | PreferredLeaderNotAvailable
                | EligibleLeadersNotAvailable
                | ListenerNotFound
                | KafkaStorageError
                | RebootstrapRequired
                | NotEnoughReplicas
                | NotEnoughReplicasAfterAppend
                | ConcurrentTransactions
                | Retry
                | WaitCache
                | Outdated
                | OperationTimedOut
                | MessageTimedOut
                | RequestTimedOut
                | TimedOutQueue
                | WaitingForCoordinator
                | Resolve
                | NetworkException
                | CoordinatorLoadInProgress
                | CoordinatorNotAvailable
                | NotCoordinator
                | LeaderNotAvailable
                | NotLeaderForPartition
                | UnstableOffsetCommit
        )
    )
}

/// The names of the topics there are, where they are few.
pub(super) fn topics(consumer: &BaseConsumer<Hearing>, settings: &Settings) -> String {
    const FEW: usize = 20;
    let Ok(metadata) = consumer.fetch_metadata(None, settings.timeout.min(Duration::from_secs(5))) else {
        return String::new();
    };
    let mut names: Vec<&str> = metadata.topics().iter().map(|topic| topic.name()).collect();
    names.retain(|name| !name.starts_with("__"));
    names.sort_unstable();
    match names.len() {
        0 => "; there are none".into(),
        1..=FEW => format!("; there are {}", names.join(", ")),
        many => format!("; there are {many} others"),
    }
}

/// The partitions of a topic, in order.
pub(super) fn partitions(
    consumer: &BaseConsumer<Hearing>,
    topic: &Address,
    settings: &Settings,
) -> Result<Vec<i32>> {
    let deadline = Instant::now() + settings.timeout;
    loop {
        let metadata =
            ask(consumer, topic, settings, |time| consumer.fetch_metadata(Some(&topic.topic), time))?;
        let found = metadata.topics().iter().find(|found| found.name() == topic.topic);
        let error = found.and_then(|found| found.error()).map(RDKafkaErrorCode::from);
        use RDKafkaErrorCode::*;
        match (found, error) {
            (Some(found), None) if !found.partitions().is_empty() => {
                let mut ids: Vec<i32> = found.partitions().iter().map(|part| part.id()).collect();
                ids.sort_unstable();
                return Ok(ids);
            }
            (_, Some(LeaderNotAvailable)) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(100)); // it is being made
            }
            (_, Some(TopicAuthorizationFailed)) => {
                return Err(about(topic, BadTopic::Forbidden));
            }
            (_, None | Some(UnknownTopicOrPartition | UnknownTopic | InvalidTopic | LeaderNotAvailable)) => {
                let others = topics(consumer, settings);
                return Err(about(topic, BadTopic::NoTopic { topic: topic.topic.clone(), others }));
            }
            (_, Some(code)) => return Err(about(topic, BadTopic::Broker(plain(&KafkaError::Global(code))))),
        }
    }
}
