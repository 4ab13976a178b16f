//! A topic that takes answers, each of them once.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerGroupMetadata};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use tamis_make::files;
use tamis_read::Control;
use tamis_read::error::{Error, Result};

use super::client::{self, Hearing, about, ask, is_for_now, plain, silent};
use super::refusal::BadTopic;
use super::{Address, Field, Settings};
use crate::job::Lost;
use crate::sink::AnswerSink;

/// The longest time for one question to a broker, before checking whether the run should end.
const STEP: Duration = Duration::from_millis(500);

/// How long a run that ends takes to give its transaction up, so that readers need not wait.
const FAREWELL: Duration = Duration::from_secs(5);

/// Answers of a transaction that are kept, in bytes. One that has more is ended after its batch.
const MOST_KEPT: usize = 32 << 20;

/// What is written in one transaction, at least one for each commit.
struct Transactions {
    /// The id of the state.
    state: String,
    group: ConsumerGroupMetadata,
    asking: BaseConsumer<Hearing>,
    /// Answers up to this batch have come, and will not be sent again.
    done: u64,
    open: Option<Open>,
}

/// A transaction that is open.
struct Open {
    since: Instant,
    /// All that it has: a transaction that fails when leaders or coordinators move is given up, and another one gets
    /// the same answers.
    answers: Vec<u8>,
    /// Whether it has failed already.
    broken: bool,
}

/// Why something was not done.
enum Trouble {
    /// The transaction is to be given up, and another can take its place.
    Broken(KafkaError),
    Failed(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Failed(error)
    }
}

/// The topic.
pub(crate) struct Answers<'a> {
    address: Address,
    settings: Settings,
    producer: BaseProducer<Hearing>,
    /// None where no state is kept: then answers are sent immediately.
    transactions: Option<Transactions>,
    control: &'a Control,
}

/// Where answers go, of which state, and how far it says they came.
pub(crate) struct Opening<'a> {
    pub(crate) address: &'a Address,
    pub(crate) settings: &'a Settings,
    /// The state's folder, and a name of its own for each of several outputs.
    pub(crate) state: Option<(&'a Path, &'a str)>,
    /// The last batch whose answers are known to have come, and the last that was begun.
    pub(crate) done: Option<u64>,
    pub(crate) begun: u64,
}

/// Opens it. With a state, it is asked how far an earlier run came.
pub(crate) fn open<'a>(opening: Opening<'_>, control: &'a Control) -> Result<Answers<'a>> {
    let Opening { address, settings, state, done, begun } = opening;
    if !address.partitions.is_empty() {
        return Err(about(address, BadTopic::AnswerPartitions));
    }
    if address.field == Field::Key {
        return Err(about(address, BadTopic::AnswerField));
    }
    let mut config = client::config(address, settings);
    let state = match state {
        Some((folder, name)) => Some((identity(folder)?, name)),
        None => None,
    };
    if let Some((state, name)) = &state {
        // Users may have to choose it, where brokers allow some ids only.
        let id = match config.get("transactional.id") {
            Some(id) => format!("{id}-{name}"),
            None => format!("tamis-{state}-{name}"),
        };
        config.set("transactional.id", id);
    } else {
        config.remove("transactional.id");
    }
    config.set("enable.idempotence", "true");
    for (name, usual) in [("linger.ms", "5"), ("queue.buffering.max.kbytes", "65536")] {
        if config.get(name).is_none() {
            config.set(name, usual);
        }
    }
    let producer: BaseProducer<Hearing> =
        config.create_with_context(Hearing::default()).map_err(client::wrong_setting)?;

    let mut asking = client::config(address, settings);
    if let Some((_, name)) = &state {
        let group = match (asking.get("group.id"), config.get("transactional.id")) {
            (Some(group), _) => format!("{group}-{name}"),
            (None, id) => id.unwrap_or_default().to_owned(),
        };
        asking.set("group.id", group);
    }
    // As the producer does: brokers that create topics automatically do so.
    asking.set("allow.auto.create.topics", "true");
    let asking = client::consumer(&mut asking)?;
    client::partitions(&asking, address, settings)?;
    let transactions = match state {
        None => None,
        Some((state, _)) => {
            // This also ends what a run that was killed had begun, before it is asked what lasted.
            init(&producer, address, settings)?;
            let found = last_batch(&asking, address, settings, &state)?;
            let known = done.unwrap_or(0);
            if found < known && settings.lost == Lost::Stop {
                return Err(about(address, BadTopic::Forgotten(known)));
            }
            if found > begun && settings.lost == Lost::Stop {
                return Err(about(address, BadTopic::OldState { found, begun }));
            }
            let found = found.min(begun);
            let group = asking.group_metadata();
            let group = group.ok_or_else(|| about(address, BadTopic::NoCoordinator))?;
            Some(Transactions { state, group, asking, done: found.max(known), open: None })
        }
    };
    Ok(Answers { address: address.clone(), settings: settings.clone(), producer, transactions, control })
}

/// The last batch of a state whose answers the brokers have; 0 where there is none.
fn last_batch(
    asking: &BaseConsumer<Hearing>,
    address: &Address,
    settings: &Settings,
    state: &str,
) -> Result<u64> {
    let mut wanted = TopicPartitionList::new();
    wanted.add_partition(&address.topic, 0);
    let found = ask(asking, address, settings, |time| asking.committed_offsets(wanted.clone(), time))?;
    let found = found.elements_for_topic(&address.topic).into_iter().find_map(|part| match part.offset() {
        Offset::Offset(batch) if part.metadata() == state => u64::try_from(batch).ok(),
        _ => None,
    });
    Ok(found.unwrap_or(0))
}

fn init(producer: &BaseProducer<Hearing>, address: &Address, settings: &Settings) -> Result<()> {
    let deadline = Instant::now() + settings.timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let begun = producer.init_transactions(left.clamp(Duration::from_millis(10), Duration::from_secs(2)));
        producer.poll(Duration::ZERO);
        match begun {
            Ok(()) => return Ok(()),
            Err(error) if !is_for_now(&error) => {
                let complaint = producer.context().complaint();
                return Err(about(address, BadTopic::NoTransaction(format!("{}{complaint}", plain(&error)))));
            }
            Err(_) if left.is_zero() || producer.context().shut().is_some() => {
                return Err(client::unanswered(address, settings, producer.context()));
            }
            Err(_) => {}
        }
    }
}

/// The id of a state folder; it goes where the folder goes.
fn identity(folder: &Path) -> Result<String> {
    let path = folder.join("kafka-id");
    match fs::read_to_string(&path) {
        Ok(text) => {
            let id = text.trim();
            if id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Ok(id.into());
            }
            Err(Error::input(path, BadTopic::Id))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Keyed by the system's randomness, each again.
            let word = || RandomState::new().build_hasher().finish();
            let id = format!("{:016x}{:016x}", word(), word());
            files::write_whole(&path, |out| writeln!(out, "{id}"))?;
            files::sync_folder(folder)?;
            Ok(id)
        }
        Err(error) => Err(Error::Io { path, source: error }),
    }
}

impl Answers<'_> {
    /// What a failure means for what was sent.
    fn failed(&self, error: &KafkaError) -> Error {
        let fatal = self.producer.client().fatal_error();
        let fenced = |code| {
            matches!(
                code,
                RDKafkaErrorCode::Fenced
                    | RDKafkaErrorCode::InvalidProducerEpoch
                    | RDKafkaErrorCode::ProducerFenced
            )
        };
        let code = fatal.as_ref().map(|(code, _)| *code).or(error.rdkafka_error_code());
        let code = match error {
            KafkaError::Transaction(error) => Some(error.code()),
            _ => code,
        };
        if code.is_some_and(fenced) || fatal.as_ref().is_some_and(|(code, _)| fenced(*code)) {
            return about(&self.address, BadTopic::TakenOver);
        }
        let why = fatal.map_or_else(|| plain(error), |(_, why)| why);
        let why = self.producer.context().undelivered().unwrap_or(why);
        let then = match self.transactions {
            Some(_) => "; run the same command again: it resumes, and nothing is lost or doubled",
            None => "",
        };
        about(&self.address, BadTopic::Unwritten(format!("{why}{then}")))
    }

    /// Does something again until the broker has answered, or has not for too long.
    fn persist(&self, mut step: impl FnMut(Duration) -> Result<(), KafkaError>) -> Result<(), Trouble> {
        let since = Instant::now();
        loop {
            let done = step(STEP);
            self.producer.poll(Duration::ZERO);
            match done {
                Ok(()) => return Ok(()),
                Err(KafkaError::Transaction(error)) if error.txn_requires_abort() => {
                    return Err(Trouble::Broken(KafkaError::Transaction(error)));
                }
                Err(error) if !is_for_now(&error) => return Err(self.failed(&error).into()),
                Err(_) if since.elapsed() > self.patience() => {
                    return Err(silent(&self.address, &self.settings, self.producer.context()).into());
                }
                Err(_) => {}
            }
        }
    }

    /// In words, where no other transaction can help.
    fn worded(&self, trouble: Trouble) -> Error {
        match trouble {
            Trouble::Broken(error) => self.failed(&error),
            Trouble::Failed(error) => error,
        }
    }

    /// Hands lines to librdkafka.
    fn send_all(&self, answers: &[u8]) -> Result<(), Trouble> {
        for (number, line) in answers.split_inclusive(|byte| *byte == b'\n').enumerate() {
            self.send(line.strip_suffix(b"\n").unwrap_or(line))?;
            if number % 1024 == 0 {
                self.producer.poll(Duration::ZERO);
            }
        }
        Ok(())
    }

    /// How long a broker is waited for: not for long by a run that is asked to end.
    fn patience(&self) -> Duration {
        match self.control.check() {
            Ok(()) => self.settings.timeout,
            Err(_) => FAREWELL.min(self.settings.timeout),
        }
    }

    /// Hands a line to librdkafka, waiting while it has too many.
    fn send(&self, line: &[u8]) -> Result<(), Trouble> {
        let key = line.split(|byte| *byte == b'\t').next().unwrap_or_default();
        let mut since = None;
        loop {
            let record = BaseRecord::to(&self.address.topic).key(key).payload(line);
            match self.producer.send(record) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => {
                    let since = *since.get_or_insert_with(Instant::now);
                    if since.elapsed() > self.patience() {
                        return Err(silent(&self.address, &self.settings, self.producer.context()).into());
                    }
                    self.producer.poll(Duration::from_millis(50));
                }
                // A transaction that has failed takes no more.
                Err((error @ KafkaError::MessageProduction(RDKafkaErrorCode::State), _))
                    if self.transactions.is_some() && self.producer.client().fatal_error().is_none() =>
                {
                    return Err(Trouble::Broken(error));
                }
                Err((error, _)) => return Err(self.failed(&error).into()),
            }
        }
    }

    /// Commits the transaction that is open, with the number of its last batch.
    fn commit(&self, transactions: &Transactions, batch: u64) -> Result<(), Trouble> {
        let mut offsets = TopicPartitionList::new();
        let number = Offset::Offset(i64::try_from(batch).unwrap_or(i64::MAX));
        let mut part = offsets.add_partition(&self.address.topic, 0);
        part.set_offset(number).map_err(|error| self.failed(&error))?;
        part.set_metadata(&transactions.state);
        self.persist(|time| self.producer.flush(time))?;
        // All the time at once: where it runs out, the transaction is lost.
        let whole = self.settings.timeout;
        self.persist(|_| self.producer.send_offsets_to_transaction(&offsets, &transactions.group, whole))?;
        self.persist(|time| self.producer.commit_transaction(time))
    }

    /// Gives the transaction up and sends its answers in another one; whether the brokers have them already.
    fn send_again(&self, transactions: &Transactions, answers: &[u8], batch: u64) -> Result<bool, Trouble> {
        self.persist(|time| self.producer.abort_transaction(time))?;
        self.producer.context().forget_undelivered();
        // Where only the answer to a commit was lost, it was carried out.
        let Transactions { asking, state, .. } = transactions;
        if last_batch(asking, &self.address, &self.settings, state)? >= batch {
            return Ok(true);
        }
        self.producer.begin_transaction().map_err(|error| self.failed(&error))?;
        self.send_all(answers)?;
        Ok(false)
    }
}

impl AnswerSink for Answers<'_> {
    fn append(&mut self, batch: u64, answers: &[u8]) -> Result<bool> {
        let Some(transactions) = &mut self.transactions else {
            let sent = self.send_all(answers).and_then(|()| self.persist(|time| self.producer.flush(time)));
            sent.map_err(|trouble| self.worded(trouble))?;
            return match self.producer.context().undelivered() {
                Some(why) => Err(about(&self.address, BadTopic::Unwritten(why))),
                None => Ok(true),
            };
        };
        if batch <= transactions.done || answers.is_empty() {
            return Ok(true);
        }
        let broken = match &mut transactions.open {
            Some(open) => {
                open.answers.extend_from_slice(answers);
                open.broken
            }
            None => {
                if let Err(error) = self.producer.begin_transaction() {
                    return Err(self.failed(&error));
                }
                let (since, answers) = (Instant::now(), answers.to_vec());
                transactions.open = Some(Open { since, answers, broken: false });
                false
            }
        };
        match if broken { Ok(()) } else { self.send_all(answers) } {
            Ok(()) => Ok(true),
            // All of it is sent again at the end of the transaction.
            Err(Trouble::Broken(_)) => {
                self.transactions
                    .iter_mut()
                    .filter_map(|one| one.open.as_mut())
                    .for_each(|open| open.broken = true);
                Ok(true)
            }
            Err(Trouble::Failed(error)) => Err(error),
        }
    }

    fn sync(&mut self, batch: u64) -> Result<()> {
        let Some(transactions) = &self.transactions else { return Ok(()) };
        let Some(open) = &transactions.open else { return Ok(()) };
        let since = Instant::now();
        let mut broken = open.broken;
        loop {
            let done = match broken {
                true => self.send_again(transactions, &open.answers, batch),
                false => Ok(false),
            };
            let done = match done {
                Ok(false) => self.commit(transactions, batch),
                done => done.map(|_| ()),
            };
            match done {
                Ok(()) => break,
                Err(Trouble::Broken(_)) if since.elapsed() < self.settings.timeout => broken = true,
                Err(trouble) => return Err(self.worded(trouble)),
            }
        }
        if let Some(transactions) = &mut self.transactions {
            transactions.done = batch;
            transactions.open = None;
        }
        Ok(())
    }

    fn length(&self) -> Option<u64> {
        self.transactions.as_ref().map(|transactions| transactions.done)
    }

    fn held(&self) -> Option<Duration> {
        let open = self.transactions.as_ref()?.open.as_ref()?;
        let full = open.broken || open.answers.len() > MOST_KEPT;
        Some(if full { Duration::MAX } else { open.since.elapsed() })
    }
}

impl Drop for Answers<'_> {
    /// A later run sends what is not committed; readers must not wait for it until then.
    fn drop(&mut self) {
        if self.transactions.as_ref().is_some_and(|transactions| transactions.open.is_some()) {
            let _ = self.producer.abort_transaction(FAREWELL.min(self.settings.timeout));
        }
    }
}
