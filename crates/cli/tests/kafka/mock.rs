//! A broker without a server: librdkafka's own mock, and before it a door that makes transactions real.
//!
//! The mock takes the requests of transactions, but shows messages at once, forgets the offsets that
//! belong to them, and lets a fenced producer write. The door keeps what a transaction holds until
//! its end: then the mock gets its messages, and the offsets count. A transaction that is given up,
//! or whose id starts over, leaves nothing. So what stands in the mock is what a reader of committed
//! messages sees.

use std::collections::HashMap;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::RDKafkaApiKey;

use crate::wire::{Fields, Reply, each_partition, read_frame, write_frame};

/// A cluster, mostly of one broker.
pub struct Mock {
    pub cluster: MockCluster<'static, DefaultProducerContext>,
    pub seen: Arc<Seen>,
    port: u16,
}

/// What the door has seen.
#[derive(Default)]
pub struct Seen {
    shared: Mutex<Shared>,
    /// Transactions that were committed, and those that were given up with something in them.
    pub committed: AtomicU64,
    pub aborted: AtomicU64,
    /// Requests of producers that were fenced.
    pub fenced: AtomicU64,
    stop: Mutex<Stop>,
    /// What becomes of the next commit.
    spoiled: Mutex<Option<Spoiled>>,
    /// The id of the cluster, and another by which it is called.
    called: Mutex<Option<(String, String)>>,
}

/// A place in the life of a transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Messages have come, and the transaction is open.
    Produced,
    /// It is committed, and nobody has heard of that.
    Committed,
}

/// A commit whose answer is an error after which a producer can do no more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spoiled {
    CarriedOut,
    Lost,
}

/// Whether clients are kept waiting for an answer.
#[derive(Default)]
enum Stop {
    #[default]
    No,
    /// After this many more steps of this kind.
    After(Step, u64),
    Now,
}

/// Group, topic and partition.
type Place = (String, String, i32);

/// An offset, and what was noted with it.
type Noted = (i64, String);

#[derive(Default)]
struct Shared {
    transactions: HashMap<String, Transaction>,
    offsets: HashMap<Place, Noted>,
}

/// The producer that has the id, and what it holds.
#[derive(Default)]
struct Transaction {
    producer: (i64, i16),
    requests: Vec<Vec<u8>>,
    offsets: Vec<(Place, Noted)>,
}

const PRODUCE: i16 = 0;
const METADATA: i16 = 3;
const OFFSET_FETCH: i16 = 9;
const FIND_COORDINATOR: i16 = 10;
const INIT_PRODUCER: i16 = 22;
const END: i16 = 26;
const OFFSETS_OF_TRANSACTION: i16 = 28;

/// The code of a producer that others have replaced, and of one that is not where it believes to be.
const FENCED: i16 = 47;
const WRONG_STATE: i16 = 48;

impl Mock {
    pub fn new(brokers: i32) -> Mock {
        let cluster = MockCluster::new(brokers).unwrap();
        // The last versions whose fields have a fixed place.
        for (key, most) in [
            (RDKafkaApiKey::Produce, 7),
            (RDKafkaApiKey::Fetch, 11),
            (RDKafkaApiKey::ListOffsets, 5),
            (RDKafkaApiKey::Metadata, 5),
            (RDKafkaApiKey::OffsetFetch, 5),
            (RDKafkaApiKey::FindCoordinator, 2),
            (RDKafkaApiKey::InitProducerId, 1),
            (RDKafkaApiKey::AddPartitionsToTxn, 0),
            (RDKafkaApiKey::AddOffsetsToTxn, 0),
            (RDKafkaApiKey::TxnOffsetCommit, 2),
            (RDKafkaApiKey::EndTxn, 1),
        ] {
            cluster.apiversion(key, Some(0), Some(most)).unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, to) = (Arc::new(Seen::default()), cluster.bootstrap_servers());
        let shared = Arc::clone(&seen);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (seen, to) = (Arc::clone(&shared), to.clone());
                thread::spawn(move || {
                    let Ok(mock) = TcpStream::connect(&to) else { return };
                    let _ = client.set_nodelay(true);
                    let _ = mock.set_nodelay(true);
                    let _ = Door { seen: &seen, to: &to, port: port.into(), client, mock }.serve();
                });
            }
        });
        Mock { cluster, seen, port }
    }

    /// The address of the door.
    pub fn door(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Has the cluster, whose id is the first, called by the other: as if it were that one, at a later time.
    pub fn stand_in(&self, own: String, other: String) {
        assert_eq!(own.len(), other.len(), "the door puts one in the place of the other");
        *self.seen.called.lock().unwrap() = Some((own, other));
    }

    /// Keeps back the answer to a step, after this many others of its kind, until [`Mock::go_on`].
    pub fn stop_after(&self, step: Step, others: u64) {
        *self.seen.stop.lock().unwrap() = Stop::After(step, others);
    }

    /// Whether an answer is kept back.
    pub fn stopped(&self) -> bool {
        matches!(*self.seen.stop.lock().unwrap(), Stop::Now)
    }

    pub fn go_on(&self) {
        *self.seen.stop.lock().unwrap() = Stop::No;
    }

    /// Takes the producers of all ids for replaced ones.
    pub fn shut_out(&self) {
        let mut shared = self.seen.shared.lock().unwrap();
        shared.transactions.values_mut().for_each(|transaction| transaction.producer.1 += 1);
    }

    /// Answers the next commit of messages with an error.
    pub fn spoil_commit(&self, how: Spoiled) {
        *self.seen.spoiled.lock().unwrap() = Some(how);
    }

    /// Whether it came to that.
    pub fn was_spoiled(&self) -> bool {
        self.seen.spoiled.lock().unwrap().is_none()
    }

    /// The last batch whose answers the committed transactions have brought to a topic.
    pub fn last_batch(&self, topic: &str) -> Option<u64> {
        let shared = self.seen.shared.lock().unwrap();
        let of = shared.offsets.iter().filter(|((_, of, _), _)| of == topic);
        of.map(|(_, (batch, _))| *batch as u64).max()
    }
}

impl Seen {
    fn step(&self, step: Step) {
        let mut stop = self.stop.lock().unwrap();
        match &mut *stop {
            Stop::After(of, 0) if *of == step => *stop = Stop::Now,
            Stop::After(of, others) if *of == step => *others -= 1,
            _ => {}
        }
        while matches!(*stop, Stop::Now) {
            drop(stop);
            thread::sleep(Duration::from_millis(1));
            stop = self.stop.lock().unwrap();
        }
    }
}

/// One connection of a client.
struct Door<'a> {
    seen: &'a Seen,
    to: &'a str,
    port: i32,
    client: TcpStream,
    mock: TcpStream,
}

impl Door<'_> {
    fn serve(mut self) -> io::Result<()> {
        loop {
            let request = read_frame(&mut self.client)?;
            let mut fields = Fields(&request);
            let (key, version) = (fields.i16(), fields.i16());
            fields.i32();
            fields.text();
            let reply = match key {
                PRODUCE => match self.produce(&request, version, fields) {
                    Some(reply) => reply,
                    None => self.forward(&request)?,
                },
                OFFSETS_OF_TRANSACTION => self.offsets_of_transaction(&request, version, fields),
                OFFSET_FETCH => self.offset_fetch(&request, version, fields),
                END => self.end(&request, fields)?,
                _ => {
                    let mut reply = self.forward(&request)?;
                    match key {
                        INIT_PRODUCER => self.init(fields, Fields(&reply[4..])),
                        METADATA => {
                            self.name_the_door(&mut reply, |fields| {
                                fields.i32();
                                fields.i32()
                            });
                            self.name_the_cluster(&mut reply);
                        }
                        FIND_COORDINATOR => self.name_the_door(&mut reply, |fields| {
                            fields.bytes(6);
                            fields.text();
                            1
                        }),
                        _ => {}
                    }
                    reply
                }
            };
            write_frame(&mut self.client, &reply)?;
        }
    }

    fn forward(&mut self, request: &[u8]) -> io::Result<Vec<u8>> {
        write_frame(&mut self.mock, request)?;
        read_frame(&mut self.mock)
    }

    /// Puts our port in the place of the broker's. What stands before brokers gives their number.
    fn name_the_door(&self, reply: &mut [u8], before: impl Fn(&mut Fields<'_>) -> i32) {
        let mut at = Vec::new();
        let mut fields = Fields(&reply[4..]);
        for _ in 0..before(&mut fields) {
            fields.i32();
            fields.text();
            at.push(reply.len() - fields.0.len());
            fields.i32();
            if reply.len() > at[0] + 4 {
                fields.text(); // the rack, in metadata
            }
        }
        at.into_iter().for_each(|at| reply[at..at + 4].copy_from_slice(&self.port.to_be_bytes()));
    }

    fn name_the_cluster(&self, reply: &mut [u8]) {
        let called = self.seen.called.lock().unwrap();
        let Some((own, other)) = called.as_ref() else { return };
        if let Some(at) = reply.windows(own.len()).position(|bytes| bytes == own.as_bytes()) {
            reply[at..at + own.len()].copy_from_slice(other.as_bytes());
        }
    }

    /// A producer begins with an id: whatever was open with it is given up.
    fn init(&self, mut request: Fields<'_>, mut reply: Fields<'_>) {
        let Some(id) = request.text() else { return };
        reply.i32();
        if reply.i16() == 0 {
            let begun = Transaction { producer: reply.producer(), ..Transaction::default() };
            let before = self.seen.shared.lock().unwrap().transactions.insert(id, begun);
            let held = before.is_some_and(|before| !before.requests.is_empty());
            self.seen.aborted.fetch_add(held.into(), SeqCst);
        }
    }

    /// What is wrong with a producer that uses an id.
    fn fault(&self, transaction: Option<&Transaction>, producer: (i64, i16)) -> i16 {
        if transaction.is_some_and(|transaction| transaction.producer == producer) {
            return 0;
        }
        self.seen.fenced.fetch_add(1, SeqCst);
        FENCED
    }

    /// Keeps messages of a transaction; all others are for the mock.
    fn produce(&self, request: &[u8], version: i16, mut fields: Fields<'_>) -> Option<Vec<u8>> {
        let id = fields.text()?;
        fields.i16();
        fields.i32();
        let mut shared = self.seen.shared.lock().unwrap();
        let mut reply = Reply::to(request);
        let mut fault = 0;
        each_partition(&mut fields, &mut reply, |_, _, fields, reply| {
            let length = fields.i32();
            let records = fields.bytes(length as usize);
            fault = self.fault(shared.transactions.get(&id), Fields(&records[43..]).producer());
            reply.i16(fault);
            reply.i64(0);
            reply.i64(-1);
            if version >= 5 {
                reply.i64(0);
            }
        });
        reply.i32(0);
        if let Some(transaction) = shared.transactions.get_mut(&id).filter(|_| fault == 0) {
            transaction.requests.push(request.to_vec());
        }
        drop(shared);
        self.seen.step(Step::Produced);
        Some(reply.0)
    }

    fn offsets_of_transaction(&self, request: &[u8], version: i16, mut fields: Fields<'_>) -> Vec<u8> {
        let (id, group) = (fields.text().unwrap(), fields.text().unwrap());
        let producer = fields.producer();
        let mut shared = self.seen.shared.lock().unwrap();
        let fault = self.fault(shared.transactions.get(&id), producer);
        let mut reply = Reply::to(request);
        reply.i32(0);
        let mut offsets = Vec::new();
        each_partition(&mut fields, &mut reply, |topic, partition, fields, reply| {
            let offset = fields.i64();
            if version >= 2 {
                fields.i32();
            }
            let noted = fields.text().unwrap_or_default();
            offsets.push(((group.clone(), topic.to_owned(), partition), (offset, noted)));
            reply.i16(fault);
        });
        if let Some(transaction) = shared.transactions.get_mut(&id).filter(|_| fault == 0) {
            transaction.offsets.extend(offsets);
        }
        reply.0
    }

    fn end(&self, request: &[u8], mut fields: Fields<'_>) -> io::Result<Vec<u8>> {
        let id = fields.text().unwrap();
        let producer = fields.producer();
        let commits = fields.bytes(1) == [1];
        let mut shared = self.seen.shared.lock().unwrap();
        let mut fault = self.fault(shared.transactions.get(&id), producer);
        let mut brings = false;
        if let Some(transaction) = shared.transactions.get_mut(&id).filter(|_| fault == 0) {
            let Transaction { requests, offsets, .. } =
                std::mem::replace(transaction, Transaction { producer, ..Transaction::default() });
            brings = commits && !requests.is_empty();
            let spoiled = if brings { self.seen.spoiled.lock().unwrap().take() } else { None };
            if spoiled.is_some() {
                fault = WRONG_STATE;
            }
            if commits && spoiled != Some(Spoiled::Lost) {
                self.hand_on(requests)?;
                shared.offsets.extend(offsets);
                self.seen.committed.fetch_add(1, SeqCst);
            } else {
                self.seen.aborted.fetch_add(u64::from(!requests.is_empty()), SeqCst);
            }
        }
        drop(shared);
        if brings {
            self.seen.step(Step::Committed);
        }
        let mut reply = Reply::to(request);
        reply.i32(0);
        reply.i16(fault);
        Ok(reply.0)
    }

    /// Gives the mock what was held back.
    fn hand_on(&self, requests: Vec<Vec<u8>>) -> io::Result<()> {
        let mut mock = TcpStream::connect(self.to)?;
        mock.set_nodelay(true)?;
        for request in requests {
            write_frame(&mut mock, &request)?;
            let reply = read_frame(&mut mock)?;
            let mut fields = Fields(&reply[8..]);
            fields.text();
            fields.bytes(8);
            assert_eq!(fields.i16(), 0, "the mock does not take what was held");
        }
        Ok(())
    }

    fn offset_fetch(&self, request: &[u8], version: i16, mut fields: Fields<'_>) -> Vec<u8> {
        let shared = self.seen.shared.lock().unwrap();
        let group = fields.text().unwrap();
        let mut reply = Reply::to(request);
        if version >= 3 {
            reply.i32(0);
        }
        each_partition(&mut fields, &mut reply, |topic, partition, _, reply| {
            let found = shared.offsets.get(&(group.clone(), topic.to_owned(), partition));
            let (offset, noted) = found.cloned().unwrap_or((-1, String::new()));
            reply.i64(offset);
            if version >= 5 {
                reply.i32(-1);
            }
            reply.text(&noted);
            reply.i16(0);
        });
        if version >= 2 {
            reply.i16(0);
        }
        reply.0
    }
}
