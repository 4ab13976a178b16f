//! A topic that takes answers, each of them once.
//!
//! **Why each comes once, for a reader of committed messages.** Let D be the last batch of which the answers lasted;
//! it stands in the `ledger`, and a transaction changes it together with the answers that it brings, or
//! not at all. All that is sent in a transaction are the answers of the batches after D, up to the batch B whose number
//! it holds.
//!
//! 1. *What is written when.* The plan of all batches up to B is synced in the state folder, then the transaction is
//!    committed (D becomes B), then the state is. A run that is killed in between leaves a ledger that is ahead of the
//!    state's commit by batches that the plan has: the next run learns them again, and does not answer those up to D.
//!    The ledger is never ahead of the plan, nor the state's commit ahead of the ledger. Where one of them is, the state
//!    is an older copy, or the brokers have forgotten, and the run is refused.
//! 2. *A commit whose outcome is not known.* To commit again is what librdkafka does as long as it can, and harmless:
//!    the coordinator answers the second time as it did the first. If that fails too, the transaction is given up, or
//!    another producer takes the id; either has an answer only when the coordinator has ended the old transaction one
//!    way or the other. Only then the ledger is asked, by a reader that waits for offsets that are not stable: if it
//!    says B, the answers lasted, and are not sent again; if it says D, they did not, and are sent again, all of them.
//!    For that they are kept until then.
//! 3. *A run that only seemed dead.* With the id, the next run has a higher epoch, and brokers take nothing more from
//!    the earlier one, nor from requests of it that are still on their way. It enters itself in the ledger before it
//!    answers anything. An earlier run that is shut out looks there: where another run is entered, it ends. Where it
//!    still is its own entry, brokers failed in between (see `writer`), and it takes the id again, looks
//!    once more (whoever came meanwhile has written by then, or was shut out before it could), and goes on by rule 2.
//! 4. *What a reader sees when.* A commit is answered as soon as the coordinator has logged it; the marks that show its
//!    messages to readers follow. Brokers that fail delay them, but cannot undo the commit.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tamis_read::Control;
use tamis_read::error::Result;

use super::client::{self, about};
use super::ledger::{self, Entry, Ledger, Wait};
use super::refusal::BadTopic;
use super::writer::{Trouble, Writer};
use super::{Address, Field, Settings};
use crate::job::Lost;
use crate::sink::AnswerSink;

/// Answers of a transaction that are kept, in bytes. One that has more is ended after its batch.
const MOST_KEPT: usize = 32 << 20;

/// How long to wait before what has failed is tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// What is written in one transaction, at least one for each commit.
struct Transactions {
    ledger: Ledger,
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
    health: Health,
}

/// What is left of a transaction, and of its producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Well,
    /// It has to be given up.
    Broken,
    /// Its producer has to be replaced.
    Dead,
}

impl Health {
    /// After this; nothing will help if it is an error.
    fn after(trouble: Trouble) -> Result<Health> {
        match trouble {
            Trouble::Broken(_) => Ok(Health::Broken),
            Trouble::Dead(_) => Ok(Health::Dead),
            Trouble::Failed(error) => Err(error),
        }
    }
}

/// The topic.
pub(crate) struct Answers<'a> {
    address: Address,
    timeout: Duration,
    writer: Writer<'a>,
    /// None where no state is kept: then answers are sent immediately.
    transactions: Option<Transactions>,
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
    let (address, timeout) = (address.clone(), settings.timeout);
    let config = client::config(&address, settings);
    let Some((folder, name)) = state else {
        let writer = Writer::new(&address, settings, None, control)?;
        client::partitions(&ledger::asking(config)?, &address, settings)?;
        return Ok(Answers { address, timeout, writer, transactions: None });
    };
    let state = ledger::identity(folder)?;
    // Users may have to choose both, where brokers allow some ids only.
    let id = match config.get("transactional.id") {
        Some(id) => format!("{id}-{name}"),
        None => format!("tamis-{state}-{name}"),
    };
    let group = config.get("group.id").map_or_else(|| id.clone(), |group| format!("{group}-{name}"));
    let writer = Writer::new(&address, settings, Some(&id), control)?;
    let ledger = Ledger::open(&address, settings, state, &group)?;
    // This also ends what a run that was killed had begun, before it is asked what lasted.
    writer.register()?;
    let before = ledger.look(Wait::ForTransactions)?;
    let (found, known) = (ledger.batch(before.as_ref()), done.unwrap_or(0));
    if found < known && settings.lost == Lost::Stop {
        return Err(about(&address, BadTopic::Forgotten(known)));
    }
    if found > begun && settings.lost == Lost::Stop {
        return Err(about(&address, BadTopic::OldState { found, begun }));
    }
    let done = found.min(begun).max(known);
    let mut answers = Answers { address, timeout, writer, transactions: None };
    let health = answers.writer.begin().map_or_else(Health::after, |()| Ok(Health::Well))?;
    answers.settle(&ledger, before.as_ref(), &[], done, health)?;
    answers.transactions = Some(Transactions { ledger, done, open: None });
    Ok(answers)
}

impl Answers<'_> {
    /// Commits the transaction that is open and has these answers, up to this batch: or another one with the same, or
    /// one of another producer, as long as brokers fail. Another run than that of `before` has taken over.
    fn settle(
        &mut self,
        ledger: &Ledger,
        before: Option<&Entry>,
        answers: &[u8],
        batch: u64,
        mut health: Health,
    ) -> Result<()> {
        let since = Instant::now();
        loop {
            let done = match health {
                Health::Well => Ok(false),
                _ => self.begin_again(ledger, before, answers, batch, health),
            };
            let done = match done {
                Ok(false) => self.writer.commit(ledger, batch),
                done => done.map(|_| ()),
            };
            let Err(trouble) = done else { return Ok(()) };
            if since.elapsed() > self.timeout {
                return Err(self.writer.worded(trouble));
            }
            health = Health::after(trouble)?;
            thread::sleep(PAUSE);
        }
    }

    /// Sends answers in another transaction; whether the brokers have them already.
    fn begin_again(
        &mut self,
        ledger: &Ledger,
        before: Option<&Entry>,
        answers: &[u8],
        batch: u64,
        health: Health,
    ) -> Result<bool, Trouble> {
        if health == Health::Dead {
            // Who has been replaced must not shut the other one out. The transaction that is open may keep its own
            // entry from being stable: that is not waited for.
            self.is_done(ledger, before, batch, Wait::No)?;
            self.writer.renew()?;
        } else {
            self.writer.abort()?;
        }
        // Where only the answer to a commit was lost, it was carried out.
        if self.is_done(ledger, before, batch, Wait::ForTransactions)? {
            return Ok(true);
        }
        self.writer.begin()?;
        self.writer.send_all(answers)?;
        Ok(false)
    }

    /// Whether the brokers have the answers up to this batch, of this run.
    fn is_done(&self, ledger: &Ledger, before: Option<&Entry>, batch: u64, wait: Wait) -> Result<bool> {
        match ledger.look(wait)? {
            Some(entry) if ledger.is_ours(&entry) => Ok(entry.batch >= batch),
            Some(entry) if before != Some(&entry) => Err(about(&self.address, BadTopic::TakenOver)),
            _ => Ok(false),
        }
    }
}

impl AnswerSink for Answers<'_> {
    fn append(&mut self, batch: u64, answers: &[u8]) -> Result<bool> {
        let Some(transactions) = &mut self.transactions else {
            let sent = self.writer.send_all(answers).and_then(|()| self.writer.flush());
            sent.map_err(|trouble| self.writer.worded(trouble))?;
            return match self.writer.undelivered() {
                Some(why) => Err(about(&self.address, BadTopic::Unwritten(why))),
                None => Ok(true),
            };
        };
        if batch <= transactions.done || answers.is_empty() {
            return Ok(true);
        }
        let open = match &mut transactions.open {
            Some(open) => open,
            closed => {
                let health = self.writer.begin().map_or_else(Health::after, |()| Ok(Health::Well))?;
                closed.insert(Open { since: Instant::now(), answers: Vec::new(), health })
            }
        };
        open.answers.extend_from_slice(answers);
        // After an error, all of it is sent again at the end of the transaction.
        if open.health == Health::Well
            && let Err(trouble) = self.writer.send_all(answers)
        {
            open.health = Health::after(trouble)?;
        }
        Ok(true)
    }

    fn sync(&mut self, batch: u64) -> Result<()> {
        let Some(mut transactions) = self.transactions.take() else { return Ok(()) };
        let settled = match &transactions.open {
            Some(open) => self.settle(&transactions.ledger, None, &open.answers, batch, open.health),
            None => Ok(()),
        };
        if settled.is_ok() && transactions.open.take().is_some() {
            transactions.done = batch;
        }
        self.transactions = Some(transactions);
        settled
    }

    fn length(&self) -> Option<u64> {
        self.transactions.as_ref().map(|transactions| transactions.done)
    }

    fn held(&self) -> Option<Duration> {
        let open = self.transactions.as_ref()?.open.as_ref()?;
        let full = open.health != Health::Well || open.answers.len() > MOST_KEPT;
        Some(if full { Duration::MAX } else { open.since.elapsed() })
    }
}

impl Drop for Answers<'_> {
    /// A later run sends what is not committed; readers must not wait for it until then.
    fn drop(&mut self) {
        if self.transactions.as_ref().is_some_and(|transactions| transactions.open.is_some()) {
            self.writer.abort_shortly();
        }
    }
}
