//! A producer, and what its errors mean.
//!
//! librdkafka has three kinds of them in a transaction. Some go away by themselves, and the call is made again. After
//! others the transaction has to be given up, and the producer can begin another one. After the rest the producer is
//! of no use any more, and another one has to take its id: brokers that fail leave such errors behind, too. One that
//! gives a producer a new number, and is killed before it says so, takes the same producer for an old one later; and a
//! transaction that was open for longer than `transaction.timeout.ms`, because brokers were away, has its producer
//! shut out. Neither of them means that another run has begun: who writes stands in the `ledger`.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use tamis_read::Control;
use tamis_read::error::{Error, Result};

use super::client::{self, Hearing, about, is_for_now, plain, silent};
use super::ledger::Ledger;
use super::refusal::BadTopic;
use super::{Address, Settings};

/// The longest time for one question to a broker, before checking whether the run should end.
const STEP: Duration = Duration::from_millis(500);

/// The longest time for the entry of the ledger, before another producer makes it.
const LONGEST_ENTRY: Duration = Duration::from_secs(5);

/// How long a run that ends takes to give its transaction up, so that readers need not wait.
const FAREWELL: Duration = Duration::from_secs(5);

/// Why something was not done.
pub(super) enum Trouble {
    /// The transaction is to be given up, and another can take its place.
    Broken(KafkaError),
    /// The producer can do no more, and another can take its place.
    Dead(KafkaError),
    /// Nothing will help.
    Failed(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Failed(error)
    }
}

/// The producer of a topic.
pub(super) struct Writer<'a> {
    address: Address,
    settings: Settings,
    config: ClientConfig,
    producer: Arc<BaseProducer<Hearing>>,
    control: &'a Control,
}

fn producer(config: &ClientConfig) -> Result<Arc<BaseProducer<Hearing>>> {
    config.create_with_context(Hearing::default()).map(Arc::new).map_err(client::wrong_setting)
}

impl<'a> Writer<'a> {
    /// With transactions, if there is an id for them.
    pub(super) fn new(
        address: &Address,
        settings: &Settings,
        id: Option<&str>,
        control: &'a Control,
    ) -> Result<Writer<'a>> {
        let mut config = client::config(address, settings);
        match id {
            Some(id) => config.set("transactional.id", id),
            None => config.remove("transactional.id"),
        };
        config.set("enable.idempotence", "true");
        for (name, usual) in [("linger.ms", "5"), ("queue.buffering.max.kbytes", "65536")] {
            if config.get(name).is_none() {
                config.set(name, usual);
            }
        }
        let producer = producer(&config)?;
        Ok(Writer { address: address.clone(), settings: settings.clone(), config, producer, control })
    }

    fn is_transactional(&self) -> bool {
        self.config.get("transactional.id").is_some()
    }

    /// Puts another producer in the place of this one. All that this one had open has an end then: what was not being
    /// committed is given up.
    pub(super) fn renew(&mut self) -> Result<()> {
        self.producer = producer(&self.config)?;
        self.register()
    }

    /// Takes the id: whoever had it before can write no more, and what was open with it has an end.
    pub(super) fn register(&self) -> Result<()> {
        let deadline = Instant::now() + self.settings.timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let time = left.clamp(Duration::from_millis(10), Duration::from_secs(2));
            let begun = self.producer.init_transactions(time);
            self.producer.poll(Duration::ZERO);
            let hearing = self.producer.context();
            match begun {
                Ok(()) => return Ok(()),
                Err(error) if !is_for_now(&error) => {
                    let why = format!("{}{}", plain(&error), hearing.complaint());
                    return Err(about(&self.address, BadTopic::NoTransaction(why)));
                }
                Err(_) if left.is_zero() || hearing.shut().is_some() => {
                    return Err(client::unanswered(&self.address, &self.settings, hearing));
                }
                Err(_) => {}
            }
        }
    }

    /// What an error means for the transaction; nothing where it may go away by itself.
    fn judge(&self, error: KafkaError) -> Option<Trouble> {
        use RDKafkaErrorCode::{Conflict, State};
        if !self.is_transactional() {
            return (!is_for_now(&error)).then(|| self.failed(&error).into());
        }
        if self.producer.client().fatal_error().is_some() {
            return Some(Trouble::Dead(error));
        }
        match &error {
            KafkaError::Transaction(said) if said.txn_requires_abort() => Some(Trouble::Broken(error)),
            KafkaError::Transaction(said) if said.is_fatal() => Some(Trouble::Dead(error)),
            _ if is_for_now(&error) => None,
            // Not what it expects, after an error that came between: to begin again is always right.
            KafkaError::Transaction(said) if matches!(said.code(), State | Conflict) => {
                Some(Trouble::Dead(error))
            }
            // A transaction that has failed takes no more messages.
            KafkaError::MessageProduction(State) => Some(Trouble::Broken(error)),
            _ => Some(self.failed(&error).into()),
        }
    }

    /// What a broker's answer to something means that was begun then; none where it is to be tried again.
    fn heard(&self, done: Result<(), KafkaError>, since: Instant) -> Option<Result<(), Trouble>> {
        self.producer.poll(Duration::ZERO);
        let Err(error) = done else { return Some(Ok(())) };
        match self.judge(error) {
            Some(trouble) => Some(Err(trouble)),
            None => (since.elapsed() > self.patience()).then(|| Err(self.silence())),
        }
    }

    /// Does something again until the broker has answered, or has not for too long.
    fn persist(&self, mut step: impl FnMut(Duration) -> Result<(), KafkaError>) -> Result<(), Trouble> {
        let since = Instant::now();
        loop {
            let done = step(STEP);
            if let Some(ended) = self.heard(done, since) {
                return ended;
            }
        }
    }

    fn silence(&self) -> Trouble {
        silent(&self.address, &self.settings, self.producer.context()).into()
    }

    /// How long a broker is waited for: not for long by a run that is asked to end.
    fn patience(&self) -> Duration {
        match self.control.check() {
            Ok(()) => self.settings.timeout,
            Err(_) => FAREWELL.min(self.settings.timeout),
        }
    }

    /// Hands lines to librdkafka.
    pub(super) fn send_all(&self, lines: &[u8]) -> Result<(), Trouble> {
        for (number, line) in lines.split_inclusive(|byte| *byte == b'\n').enumerate() {
            self.send(line.strip_suffix(b"\n").unwrap_or(line))?;
            if number % 1024 == 0 {
                self.producer.poll(Duration::ZERO);
            }
        }
        Ok(())
    }

    /// Hands a line to librdkafka, waiting while it has too many.
    fn send(&self, line: &[u8]) -> Result<(), Trouble> {
        let key = line.split(|byte| *byte == b'\t').next().unwrap_or_default();
        let mut since = None;
        loop {
            let record = BaseRecord::to(&self.address.topic).key(key).payload(line);
            let Err((error, _)) = self.producer.send(record) else { return Ok(()) };
            if !matches!(error, KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull)) {
                return Err(self.judge(error).unwrap_or_else(|| self.silence()));
            }
            let since = *since.get_or_insert_with(Instant::now);
            if since.elapsed() > self.patience() {
                return Err(self.silence());
            }
            self.producer.poll(Duration::from_millis(50));
        }
    }

    /// Waits until all that was sent has come.
    pub(super) fn flush(&self) -> Result<(), Trouble> {
        self.persist(|time| self.producer.flush(time))
    }

    /// Why a message was not delivered, if one was not.
    pub(super) fn undelivered(&self) -> Option<String> {
        self.producer.context().undelivered()
    }

    pub(super) fn begin(&self) -> Result<(), Trouble> {
        self.persist(|_| self.producer.begin_transaction())
    }

    /// Commits the transaction that is open, with the number of its last batch.
    pub(super) fn commit(&self, ledger: &Ledger, batch: u64) -> Result<(), Trouble> {
        self.flush()?;
        self.enter(ledger, batch)?;
        self.persist(|time| self.producer.commit_transaction(time))
    }

    /// Adds the entry of the ledger to the transaction. librdkafka's limit for that has no force (2.12): a coordinator
    /// that was killed is taken off its list of brokers, and still waited for, until the connection to some other one
    /// changes. So it is our limit that counts. The thread that is left behind ends with that change, and its producer
    /// with it: brokers take nothing from it by then.
    fn enter(&self, ledger: &Ledger, batch: u64) -> Result<(), Trouble> {
        let since = Instant::now();
        loop {
            let (tell, told) = mpsc::channel();
            let entry = ledger.entry(batch).map_err(|error| self.failed(&error))?;
            let (group, producer) = (Arc::clone(&ledger.group), Arc::clone(&self.producer));
            // All the time at once: where it runs out, the transaction is lost.
            let whole = self.settings.timeout;
            thread::spawn(move || {
                let _ = tell.send(producer.send_offsets_to_transaction(&entry, &group, whole));
            });
            let done = loop {
                match told.recv_timeout(STEP) {
                    Ok(done) => break done,
                    Err(RecvTimeoutError::Timeout)
                        if since.elapsed() < LONGEST_ENTRY.min(self.patience()) =>
                    {
                        self.producer.poll(Duration::ZERO);
                    }
                    Err(_) => {
                        let error = KafkaError::Global(RDKafkaErrorCode::OperationTimedOut);
                        return Err(Trouble::Dead(error));
                    }
                }
            };
            if let Some(ended) = self.heard(done, since) {
                return ended;
            }
        }
    }

    /// Gives the transaction up that is open.
    pub(super) fn abort(&self) -> Result<(), Trouble> {
        self.persist(|time| self.producer.abort_transaction(time))?;
        self.producer.context().forget_undelivered();
        Ok(())
    }

    /// The same at the end of a run, for readers that wait.
    pub(super) fn abort_shortly(&self) {
        let _ = self.producer.abort_transaction(FAREWELL.min(self.settings.timeout));
    }

    /// What a failure means for what was sent.
    fn failed(&self, error: &KafkaError) -> Error {
        let fatal = self.producer.client().fatal_error();
        let why = fatal.map_or_else(|| plain(error), |(_, why)| why);
        let why = self.undelivered().unwrap_or(why);
        let then = match self.is_transactional() {
            true => "; run the same command again: it resumes, and nothing is lost or doubled",
            false => "",
        };
        about(&self.address, BadTopic::Unwritten(format!("{why}{then}")))
    }

    /// In words, where no other transaction can help.
    pub(super) fn worded(&self, trouble: Trouble) -> Error {
        use RDKafkaErrorCode::{MessageTimedOut, OperationTimedOut};
        match trouble {
            Trouble::Broken(error) | Trouble::Dead(error) => match error.rdkafka_error_code() {
                Some(OperationTimedOut | MessageTimedOut) => {
                    silent(&self.address, &self.settings, self.producer.context())
                }
                _ => self.failed(&error),
            },
            Trouble::Failed(error) => error,
        }
    }
}
