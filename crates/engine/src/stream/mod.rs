//! A training stream and a query stream, in micro-batches.
//!
//! Batch i learns the i-th batch of the training stream, then answers the i-th batch of the query
//! stream with what was learned in batches 1 to i. A batch ends after so many records of each
//! stream, or after some time. Both streams are parsed ahead by threads of their own; the batches
//! run one after the other, so that the result is that of one thread.
//!
//! With a [state](self::state) the run survives its end at any moment: see there.

mod answers;
mod learned;
mod live;
pub mod metrics;
mod net;
mod queue;
mod render;
mod sift;
mod sink;
mod source;
mod spool;
mod state;
mod text;
mod watch;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::{Common, Name, Params};
use tamis::sizing::Kind;

pub use self::learned::{Fill, Sizing};
pub use self::net::Address;
pub use self::sink::{Sink, Target};
pub use self::source::{Cut, Place, Reached, Records, Source};
pub use self::text::Named;
pub use self::watch::{Batch, Status, Watch};

use self::answers::{Asking, Distinct, Writing};
use self::learned::Learned;
use self::sift::{Grouping, Making};
use self::state::{Begin, Commit, Description, Planned, State};
use self::text::Setup;
use crate::Control;
use crate::error::{Error, Result};
use crate::output;
use crate::plan::Counters;
use crate::rows::{BadRows, Names};
use crate::source::Options;

/// Streams to be learned and answered.
#[derive(Debug, Clone)]
pub struct Job {
    /// What is learned.
    pub train: Option<Named>,
    /// What is asked.
    pub query: Option<Named>,
    /// At the end of the last file, more of it is waited for.
    pub follow: bool,
    /// How to read them.
    pub options: Options,
    /// Kind, hash and recipe, as files have them.
    pub common: Common,
    /// The recipe with the columns of the training stream.
    pub train_recipe: Recipe,
    /// The same of the query stream.
    pub query_recipe: Recipe,
    /// How large sketches are.
    pub sizing: Sizing,
    /// Counts that are kept beside filters.
    pub counts: Option<Counts>,
    /// A file whose keys are known from the start.
    pub from: Option<PathBuf>,
    /// Records of each stream in a batch, at most.
    pub batch: usize,
    /// How long a batch gathers records; without it, until it has them all.
    pub every: Option<Duration>,
    /// Where answers go.
    pub output: Target,
    /// The folder that a later run goes on from.
    pub state: Option<PathBuf>,
    /// How often it is written; zero: after every batch.
    pub commit_every: Duration,
    /// For how long a peer that went away is waited for.
    pub reconnect: Option<Duration>,
    /// Records without a key.
    pub bad_rows: BadRows,
    /// Threads that parse, for each stream.
    pub threads: usize,
}

/// Counts beside filters.
#[derive(Debug, Clone)]
pub struct Counts {
    /// Kind, hash and recipe.
    pub common: Common,
    /// How large they are.
    pub sizing: Sizing,
    /// Where the estimates of all queries go.
    pub output: Target,
}

/// What was done in this run.
#[derive(Debug, Clone)]
pub struct Report {
    /// The numbers.
    pub status: Status,
    /// How long it took.
    pub time: Duration,
    /// Whether it went on where an earlier run had ended.
    pub resumed: bool,
    /// Whether it was asked to end.
    pub stopped: bool,
    /// Whether the reader of the answers went away.
    pub closed: bool,
}

/// How long one stream is waited for while the other may have something.
const SLICE: Duration = Duration::from_millis(5);

/// How long the only stream is waited for before it is looked whether the run shall end.
const LOOK: Duration = Duration::from_millis(50);

/// The fill of filters is looked at no more often, and so that it takes little of the time.
const LOOK_AT_FILL: Duration = Duration::from_secs(1);

impl Job {
    /// Refuses what no input can make possible.
    fn check(&self) -> Result<()> {
        let refused = |message: &str| Err(Error::Refused(message.into()));
        match self.common.kind {
            Kind::Fuse => {
                return refused(
                    "a fuse filter is built from all of its keys at once and takes no more: use blocked, bloom or scalable",
                );
            }
            Kind::Layered => {
                return refused(
                    "layered filters are for records of keywords that are all there: build them, or stream with blocked, bloom or scalable",
                );
            }
            _ => {}
        }
        if self.train.is_none() && self.query.is_none() {
            return refused("no stream: --train names what is learned, --query what is asked");
        }
        if self.train.is_none() && self.from.is_none() {
            return refused("nothing is learned: give --train, or --from FILE.tamis to ask what it knows");
        }
        if self.train == Some(Named::Stdin) && self.query == Some(Named::Stdin) {
            return refused("- (standard input) can be one stream, not both");
        }
        if self.batch == 0 || self.batch > 1 << 30 {
            return refused("a batch has between 1 and 1,073,741,824 records");
        }
        if let Some(counts) = &self.counts {
            if self.common.kind.counts() {
                return refused(
                    "--counts keeps counts beside filters, and --kind count-min counts already: leave out one",
                );
            }
            if counts.output.regular().is_some() && counts.output.name() == self.output.name() {
                return refused("-o and --counts name the same file; name two");
            }
            counts.output.check()?;
        }
        self.output.check()
    }

    /// What must be the same when a later run goes on.
    fn description(&self) -> Result<Description> {
        let named = |named: &Named| match named {
            Named::Files(inputs) => {
                json!(inputs.iter().map(|input| crate::resume::named(Path::new(input))).collect::<Vec<_>>())
            }
            Named::Stdin => json!("-"),
            Named::Pipe(path) => json!(crate::resume::named(path)),
            Named::Socket(address) => json!(address.to_string()),
        };
        let sizing = |sizing: &Sizing| -> Result<Value> {
            Ok(json!(match sizing {
                Sizing::Params(params) => {
                    let params =
                        serde_json::to_vec(params).map_err(|error| Error::Refused(error.to_string()))?;
                    format!("parameters with the digest {:016x}", tamis::hash::xxh3(&params, 0))
                }
                Sizing::Keys(keys, size) => format!("{size:?} for {keys} keys"),
                Sizing::Growing(keys, fpr) => format!("a rate of {fpr}, growing from {keys} keys"),
                Sizing::Counters(Counters { epsilon, shape }) => format!(
                    "{} counters of {} bits in {} rows for an error of {epsilon}",
                    shape.slots, shape.width, shape.hashes
                ),
            }))
        };
        let counts = match &self.counts {
            Some(counts) => json!({
                "kind": counts.common.kind.name(), "recipe": counts.common.recipe.to_string(),
                "size": sizing(&counts.sizing)?, "output": counts.output.name(),
            }),
            None => Value::Null,
        };
        let from = match &self.from {
            Some(path) => json!(format!("{:032x}", output::open(path)?.digest())),
            None => Value::Null,
        };
        let seconds = self.every.map(|every| every.as_secs_f64());
        let pairs = [
            ("train", self.train.as_ref().map_or(Value::Null, named)),
            ("query", self.query.as_ref().map_or(Value::Null, named)),
            ("output", json!(self.output.name())),
            ("kind", json!(self.common.kind.name())),
            ("hash", json!(self.common.hash.to_string())),
            ("recipe", json!(self.common.recipe.to_string())),
            ("recipe of --train", json!(self.train_recipe.to_string())),
            ("recipe of --query", json!(self.query_recipe.to_string())),
            ("size", sizing(&self.sizing)?),
            ("--counts", counts),
            ("--from", from),
            ("--batch", json!(self.batch)),
            ("--every", json!(seconds)),
            ("--format", json!(self.options.format.map(|format| format!("{format:?}").to_lowercase()))),
            ("--delimiter", json!(self.options.delimiter.map(char::from))),
            ("--no-header", json!(self.options.no_header)),
            ("--no-quotes", json!(self.options.no_quotes)),
            ("--bad-rows", json!(format!("{:?}", self.bad_rows).to_lowercase())),
        ];
        Ok(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// What was learned when the commit was made, or before anything was.
fn learned(
    common: &Common,
    sizing: &Sizing,
    from: Option<&PathBuf>,
    state: Option<&State>,
    committed: Option<&String>,
) -> Result<Learned> {
    let committed = committed.zip(state).map(|(name, state)| state.path(name));
    match committed.as_ref().or(from) {
        Some(path) => Learned::load(common, sizing, &output::open(path)?, path),
        None => Learned::new(common, sizing),
    }
}

/// Learns and answers until both streams have ended, or until it is asked to end.
pub fn stream(job: &Job, control: &Control, watch: &Watch) -> Result<Report> {
    let start = Instant::now();
    job.check()?;
    let description = job.description()?;
    let (state, commit, planned) = match &job.state {
        Some(folder) => {
            let (state, commit, planned) = State::open(folder, &description)?;
            (Some(state), commit, planned)
        }
        None => (None, None, VecDeque::new()),
    };
    let resumed = commit.is_some() || !planned.is_empty();
    let begin = commit.unwrap_or_default();
    let committed = if job.common.kind.counts() { &begin.counts } else { &begin.filter };
    let fresh = committed.is_none();
    let (state_of, from) = (state.as_ref(), job.from.as_ref());
    let learned_first = learned(&job.common, &job.sizing, from, state_of, committed.as_ref())?;
    let counts = match &job.counts {
        Some(Counts { common, sizing, .. }) => {
            Some(learned(common, sizing, None, state_of, begin.counts.as_ref())?)
        }
        None => None,
    };

    let known = Params { common: job.common.clone(), groups: Vec::new() };
    let names = Mutex::new(Names::default());
    let groups = match &job.sizing {
        _ if job.common.recipe.group.is_none() => Grouping::None,
        Sizing::Params(params) => Grouping::Known(params),
        _ => Grouping::Found(&known, &names),
    };
    let murmur = job.common.hash == Scheme::Murmur3;
    let hash = job.common.hash;
    let bad_rows = job.bad_rows;
    let training = Making { recipe: &job.train_recipe, hash, bad_rows, groups, keys: murmur };
    let asking = Making { recipe: &job.query_recipe, hash, bad_rows, groups: Grouping::None, keys: true };
    let setup = |name, named, making| Setup {
        name,
        named,
        follow: job.follow,
        options: &job.options,
        making,
        threads: job.threads,
        folder: job.state.as_deref(),
        reconnect: job.reconnect,
    };
    watch.update(|status| status.batch = begin.batch);
    let (train, train_reader) =
        open_stream(job.train.as_ref().map(|named| setup("train", named, training)), &begin.train)?.unzip();
    let (query, query_reader) =
        open_stream(job.query.as_ref().map(|named| setup("query", named, asking)), &begin.query)?.unzip();
    for output in [Some(&job.output), job.counts.as_ref().map(|counts| &counts.output)].into_iter().flatten()
    {
        let Some(path) = output.regular() else { continue };
        for text in [&train, &query].into_iter().flatten() {
            output::check_is_no_input(path, text.paths())?;
        }
    }
    let planned = reachable(planned, train.as_ref(), query.as_ref())?;
    let mut learners = vec![Learner {
        learned: learned_first,
        sink: job.output.open(begin.output, job.reconnect, control)?,
        writing: Writing::new(&job.common.recipe, job.common.recipe.group.is_some()),
    }];
    if let (Some(learned), Some(Counts { common, output, .. })) = (counts, &job.counts) {
        learners.push(Learner {
            learned,
            sink: output.open(begin.counts_output, job.reconnect, control)?,
            writing: Writing::new(&common.recipe, common.recipe.group.is_some()),
        });
    }

    thread::scope(|scope| {
        let _ends = [&train, &query].map(|text| text.as_ref().map(text::Text::stop));
        for reader in [train_reader, query_reader].into_iter().flatten() {
            scope.spawn(move || reader.run());
        }
        let boxed = |text: Option<text::Text>| text.map(|text| Box::new(text) as Box<dyn Source>);
        let run = Run {
            job,
            control,
            watch,
            state,
            learners,
            names: &names,
            train: Stream::new(boxed(train)),
            query: Stream::new(boxed(query)),
            known: match &job.sizing {
                Sizing::Params(params) => {
                    Some(params.groups.iter().map(|group| group.group.clone()).collect())
                }
                _ => None,
            },
            batch: begin.batch,
            planned,
            committed: Instant::now(),
            wait: job.commit_every,
            uncommitted: job.state.is_some() && fresh,
            fill_due: Instant::now(),
            distinct: Distinct::default(),
            asking: Asking::default(),
            firsts: Vec::new(),
            answers: Vec::new(),
        };
        let mut report = run.run()?;
        report.time = start.elapsed();
        report.resumed = resumed;
        Ok(report)
    })
}

/// Opens a stream, if there is one, where the commit has it.
fn open_stream<'a>(
    setup: Option<Setup<'a>>,
    begin: &Option<Begin>,
) -> Result<Option<(text::Text, text::Reader<'a>)>> {
    let begin = begin.as_ref().map(|begin| (&begin.place, &begin.bookmark));
    setup.map(|setup| text::open(setup, begin)).transpose()
}

/// The planned batches up to the first whose records are not all there: when the machine itself
/// failed, what was written down may be shorter than the plan.
fn reachable(
    planned: VecDeque<Planned>,
    train: Option<&text::Text>,
    query: Option<&text::Text>,
) -> Result<VecDeque<Planned>> {
    let mut reachable = VecDeque::new();
    for batch in planned {
        for (text, range) in [(train, &batch.train), (query, &batch.query)] {
            if let (Some(text), Some((_, to))) = (text, range)
                && !text.reaches(to)?
            {
                return Ok(reachable);
            }
        }
        reachable.push_back(batch);
    }
    Ok(reachable)
}

/// One of the two streams, with its records of the batch that is gathered.
struct Stream {
    source: Option<Box<dyn Source>>,
    records: Records,
    begin: Place,
    ended: bool,
}

impl Stream {
    fn new(source: Option<Box<dyn Source>>) -> Stream {
        let begin = source.as_ref().map(|source| source.place()).unwrap_or_default();
        Stream { ended: source.is_none(), source, records: Records::default(), begin }
    }

    /// Takes what there is up to the cut; whether no more is to be waited for.
    fn gather(&mut self, cut: Cut<'_>, patience: Duration) -> Result<bool> {
        let Some(source) = self.source.as_mut().filter(|_| !self.ended) else { return Ok(true) };
        match source.take(cut, patience, &mut self.records)? {
            Reached::Cut => Ok(true),
            Reached::Pause => Ok(false),
            Reached::End => {
                self.ended = true;
                Ok(true)
            }
        }
    }

    /// Begins the next batch.
    fn clear(&mut self) {
        self.records.clear();
        self.begin = self.place();
    }

    fn place(&self) -> Place {
        self.source.as_ref().map(|source| source.place()).unwrap_or_default()
    }

    fn range(&self) -> Option<(Place, Place)> {
        self.source.as_ref().map(|source| (self.begin.clone(), source.place()))
    }
}

/// Sketches, and where their answers go.
struct Learner<'a> {
    learned: Learned,
    sink: Box<dyn Sink + 'a>,
    writing: Writing,
}

struct Run<'a> {
    job: &'a Job,
    control: &'a Control,
    watch: &'a Watch,
    state: Option<State>,
    learners: Vec<Learner<'a>>,
    names: &'a Mutex<Names>,
    train: Stream,
    query: Stream,
    /// The names of groups, where they are known beforehand.
    known: Option<Vec<Name>>,
    /// Batches that are done.
    batch: u64,
    /// Batches that an earlier run had begun, and that are run again.
    planned: VecDeque<Planned>,
    committed: Instant,
    /// For how long no commit is due.
    wait: Duration,
    uncommitted: bool,
    fill_due: Instant,
    distinct: Distinct,
    asking: Asking,
    firsts: Vec<u32>,
    answers: Vec<u8>,
}

/// Why the gathering of a batch ended.
#[derive(PartialEq, Eq)]
enum Gathered {
    Whole,
    Stopped,
}

impl Run<'_> {
    fn run(mut self) -> Result<Report> {
        let (mut closed, mut stopped) = (false, false);
        while !stopped && !closed {
            let begun = Instant::now();
            let planned = self.planned.pop_front();
            let replayed = planned.is_some();
            stopped = Gathered::Stopped
                == match &planned {
                    Some(planned) => self.gather_again(planned)?,
                    None => self.gather(begun)?,
                };
            // What is gathered by count is left for a later run, which gathers it whole.
            if stopped && (replayed || self.job.every.is_none()) {
                break;
            }
            if self.train.records.is_empty() && self.query.records.is_empty() {
                if self.train.ended && self.query.ended {
                    break;
                }
                self.commit_if_due()?;
                continue;
            }
            closed = !self.batch(replayed)?;
            if !closed {
                self.commit_if_due()?;
            }
        }
        // What only went to a reader that has gone is not done.
        if !closed && self.uncommitted {
            self.commit()?;
        }
        let fill = self.learners[0].learned.fill()?;
        self.watch.update(|status| status.fill = Some(fill));
        let (time, resumed) = (Duration::ZERO, false);
        Ok(Report { status: self.watch.status(), time, resumed, stopped, closed })
    }

    /// Gathers the records of the next batch.
    fn gather(&mut self, begun: Instant) -> Result<Gathered> {
        let deadline = self.job.every.map(|every| begun + every);
        loop {
            let cut = Cut::Records(self.job.batch);
            // Whoever is waited for alone is waited for longer.
            let alone = |other: &Stream| other.ended || other.records.len() >= self.job.batch;
            let mut patience =
                [&self.query, &self.train].map(|other| if alone(other) { LOOK } else { SLICE });
            if let Some(deadline) = deadline {
                let left = deadline.saturating_duration_since(Instant::now());
                patience = patience.map(|patience| patience.min(left));
            }
            let train = self.train.gather(cut, patience[0])?;
            let query = self.query.gather(cut, patience[1])?;
            if train && query {
                return Ok(Gathered::Whole);
            }
            if self.control.check().is_err() {
                return Ok(Gathered::Stopped);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(Gathered::Whole);
            }
            self.commit_if_due()?; // the streams may pause for long
        }
    }

    /// Gathers the records of a batch that was logged.
    fn gather_again(&mut self, planned: &Planned) -> Result<Gathered> {
        for (stream, range) in [(&mut self.train, &planned.train), (&mut self.query, &planned.query)] {
            let Some((from, to)) = range else { continue };
            if *from != stream.place() {
                return Err(Error::Refused(format!(
                    "batch {} of the plan does not begin where the one before it ends; begin with an empty state folder",
                    planned.batch
                )));
            }
            while !stream.gather(Cut::At(to), LOOK)? {
                if self.control.check().is_err() {
                    return Ok(Gathered::Stopped);
                }
            }
        }
        Ok(Gathered::Whole)
    }

    /// Runs a batch; false where nobody takes its answers.
    fn batch(&mut self, replayed: bool) -> Result<bool> {
        let begun = Instant::now();
        self.batch += 1;
        if let (Some(state), false) = (&mut self.state, replayed) {
            let planned = Planned { batch: self.batch, train: self.train.range(), query: self.query.range() };
            state.log(&planned)?;
        }
        self.uncommitted = self.state.is_some();
        let (rows, queries) = (self.train.records.len() as u64, self.query.records.len() as u64);
        if rows > 0 {
            let found = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            let found = self.known.as_ref().unwrap_or(&found.list);
            for learner in &mut self.learners {
                learner.learned.meet(&self.train.records, found)?;
                learner.learned.train(&self.train.records)?;
            }
        }
        let (mut distinct, mut answers, mut open) = (0, 0, true);
        if queries > 0 {
            self.distinct.firsts(&self.query.records, &mut self.firsts);
            distinct = self.firsts.len() as u64;
            for Learner { learned, sink, writing } in &mut self.learners {
                let (records, firsts, out) = (&self.query.records, &self.firsts, &mut self.answers);
                out.clear();
                let sketches = learned.sketches()?;
                answers += match learned.counts() {
                    true => self.asking.count(records, firsts, &sketches, *writing, out),
                    false => self.asking.ask(records, firsts, self.job.common.hash, &sketches, *writing, out),
                };
                open &= sink.append(out)?;
            }
        }
        self.train.clear();
        self.query.clear();
        let skipped = [&self.train, &self.query].into_iter().filter_map(|stream| stream.source.as_ref());
        let skipped = skipped.map(|source| source.skipped()).sum();
        let lag = |stream: &Stream| stream.source.as_ref().and_then(|source| source.lag());
        let lags = (lag(&self.train), lag(&self.query));
        let fill = self.fill_if_due()?;
        let batch =
            Batch { batch: self.batch, rows, queries, distinct, answers, time: begun.elapsed(), replayed };
        self.watch.update(|status| {
            status.batch = batch.batch;
            status.batches += 1;
            status.replayed += u64::from(replayed);
            status.rows += rows;
            status.queries += queries;
            status.distinct += distinct;
            status.answers += answers;
            status.skipped = skipped;
            (status.train_lag, status.query_lag) = lags;
            status.fill = fill.or(status.fill);
        });
        self.watch.tell(&batch);
        Ok(open)
    }

    fn fill_if_due(&mut self) -> Result<Option<Fill>> {
        let begun = Instant::now();
        if begun < self.fill_due {
            return Ok(None);
        }
        let fill = self.learners[0].learned.fill()?;
        self.fill_due = Instant::now() + LOOK_AT_FILL.max(50 * begun.elapsed());
        Ok(Some(fill))
    }

    fn commit_if_due(&mut self) -> Result<()> {
        if !self.uncommitted || self.committed.elapsed() < self.wait {
            return Ok(());
        }
        let begun = Instant::now();
        self.commit()?;
        if !self.job.commit_every.is_zero() {
            // No more than a tenth of the time.
            self.wait = self.job.commit_every.max(9 * begun.elapsed());
        }
        Ok(())
    }

    /// Makes all that was done so far durable, and a place to go back to.
    fn commit(&mut self) -> Result<()> {
        let Some(state) = &mut self.state else { return Ok(()) };
        let begin = |stream: &mut Stream| -> Result<Option<Begin>> {
            let Some(source) = &mut stream.source else { return Ok(None) };
            source.sync()?;
            // Not what was gathered for a batch that has not run.
            Ok(Some(Begin { place: stream.begin.clone(), bookmark: source.bookmark()? }))
        };
        let mut commit = Commit {
            batch: self.batch,
            train: begin(&mut self.train)?,
            query: begin(&mut self.query)?,
            ..Commit::default()
        };
        for (number, Learner { learned, sink, .. }) in self.learners.iter_mut().enumerate() {
            sink.sync()?;
            let name = format!("{}-{}.tamis", learned.name(), self.batch);
            learned.write(&state.path(&name), self.job.threads)?;
            *if number == 0 { &mut commit.output } else { &mut commit.counts_output } = sink.length();
            *if learned.counts() { &mut commit.counts } else { &mut commit.filter } = Some(name);
        }
        state.commit(commit)?;
        for stream in [&mut self.train, &mut self.query] {
            if let Some(source) = &mut stream.source {
                source.forget(&stream.begin)?;
            }
        }
        self.committed = Instant::now();
        self.uncommitted = false;
        self.watch.update(|status| {
            status.commits += 1;
            status.committed = Some(Instant::now());
        });
        Ok(())
    }
}
