mod cluster;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::json;
use tamis::key::Field;
use tamis_jobs::request::NoMore;
use tamis_make::files;
use tamis_make::number;
use tamis_read::refusal::say;
use tamis_read::{Error, NoThread};
use tamis_stream::kafka::{self, Property};
use tamis_stream::metrics::Door;
use tamis_stream::request::{Note, StreamJob};
use tamis_stream::{ByRole, Idle, Job, Lag, Lost, Report, Role, Sizing, Status, Target, Watch};

use super::counters;
use super::windows::{self, Windows};
use crate::arguments::{self, Counting, Keys, Kinds, Reading, Sizes};
use crate::asked::Asked;
use crate::show::{self, Output, Sheet, refused, usage};
use crate::spark::Where;
use crate::words::Flags;
use crate::{notes, progress};

/// The kinds as streams have them: those that grow, too.
const KIND: &str = "\
The kind: scalable (grows; default where the number of keys is unknown), blocked (fastest, default \
otherwise), bloom (classic), counting (keys can be removed; four times the memory), layered (records of \
several keywords; --fpr is then the rate of a single layer), count-min (not a filter: counts how often keys \
occur)";

/// The number of keys as streams have it: they cannot count first.
const KEYS: &str = "\
Plan each group for N keys; with --window, for N distinct keys in a window [default: unknown: filters grow, \
and those of a window are planned for 1048576 keys, or 16384 in each group]";

/// Learn one stream and answer another, in small batches; survives `kill -9`
#[derive(Debug, Args)]
#[command(mut_arg("kind", |arg| arg.help(KIND)), mut_arg("keys", |arg| arg.help(KEYS)))]
#[command(after_help = "\
Examples:
  tamis stream --train train.txt --query ask.txt --batch 100000 --state run/ -o seen.txt
  tamis stream --train train.txt --query ask.txt --keys 2M --fpr 0.001 -o seen.txt
  tamis stream --train access.log --follow --format log --key host --state run/
  tamis stream --train tcp://127.0.0.1:7001 --query tcp://127.0.0.1:7002 --every 1s --state run/
  tamis stream --train tcp-listen://0.0.0.0:7001 --query - --every 500ms --metrics 127.0.0.1:9100
  tamis stream --train train.txt --query ask.txt --kind count-min -o hits.txt
  tamis stream --train kafka://b:9092/logins --query kafka://b:9092/asks -o seen.txt --state run/
  tamis stream --train train.txt --query ask.txt -o seen.txt --counts hits.txt --epsilon 1e-5
  tamis stream --from users.tamis --query mail.csv --query-key sender    ask a file, learn nothing
  tamis stream --train access.log --format log --key host --window 24h --time time --state run/
  tamis stream --train logins.csv --key user --keys 1M --window 7d --time at --state run/
  tamis stream --train joined.txt --remove left.txt --query ask.txt --kind counting --keys 1M
  tamis stream --train hdfs:///seen --keys 1e8 --state hdfs:///run --on yarn -o hdfs:///seen.tamis
  tamis query run/filter.tamis 203.0.113.7                               ask what was learned so far

Batch i learns the i-th batch of --train, then answers the i-th batch of --query from everything learned \
so far. Each distinct key of a query batch is answered once, in the order of first occurrence: a line with \
the key if it may be in the set; with groups, a tab and the groups it may be in. With --kind count-min the \
line has the key and its estimated count, for every query (with groups, one line per group: key, group, \
estimate; an empty group and 0 where it is in none). --counts FILE writes such lines beside the answers of \
filters. There is no --heavy: a stream keeps no list of keys.

With --remove (and --kind counting), batch i removes the i-th batch of that stream after it has learned. \
A key is removed once for each row. A key that is not in the filter is left out and counted, so a removal \
must not come before the row it removes.

A batch has --batch records of each stream or, with --every, what arrived in that time, at most --batch. \
A stream that has ended gives empty batches; the run ends when all streams have ended.

Without --keys or --params the number of keys is unknown, and filters grow (--kind scalable).

Streams are files, globs and folders in order (--follow waits for more at the end of the last, and goes on \
with its successor when it is rotated, also if that happened between two runs with --state); `-` for \
standard input; tcp://host:port, which connects; tcp-listen://host:port, which takes whole rows of up to \
256 peers at once. -o takes a file, `-`, or such a socket.

kafka://broker:9092/topic reads a Kafka topic from its beginning to its current end (--follow: and what is \
written later). With -o it writes answers to the topic, in transactions. This needs a build with --features \
kafka. A message is a record: a key, or with --key a JSON object (--format csv: a row without a header). \
?partitions=0,2 reads only these partitions; ?field=key takes the keys of messages as records.

With --window, only recent keys are known. Time is cut into panes of --slide. The newest pane and those \
of one window before it are live: nothing that arrived within the window is missed, and what is older than \
the window by a slide is forgotten. Each pane is a sketch for a whole window (--keys N: distinct keys in a \
window), so memory is that of all panes and one more. Rows have the time of their batch or, with --time, \
their own: RFC 3339, `2026-11-15 12:34:56` (UTC without a zone), `15/Nov/2026:12:34:56 +0100`, or seconds, \
ms, us or ns since 1970. Rows more than --lateness behind the newest time are late (--late take or drop). \
Rows older than the window are left out, and so are rows more than --ahead after this machine's clock, \
which would end the window for all others.

With --state DIR, the same command resumes a run that ended at any moment: nothing is lost, learned twice \
or answered twice. DIR/filter.tamis is a file like any other. Ctrl-C and kill end the run after the \
current batch, with the state saved (exit code 0); another one, a second later or more, ends it immediately.

With --on, Spark learns from and answers folders to which files are added, each of them whole (a file that grows \
is refused). A run learns all files that are new, then answers; with --follow it goes on until Ctrl-C, learning and \
answering side by side. --state is a folder of the cluster's file system, and DIR/filter.tamis has the bytes that one \
machine would write; -o without --query writes that file elsewhere as well. With --query, -o is a folder with \
a folder of answers for each batch, in any order; a batch that ran again replaces its answers. Filters do not \
grow there: give --keys or --params.")]
pub struct Stream {
    /// Stream to learn: files, globs, folders, `-`, tcp://host:port, tcp-listen://host:port,
    /// kafka://broker:port/topic
    #[arg(long, num_args = 1.., value_name = "INPUT")]
    pub(super) train: Vec<String>,
    /// Stream to answer, named in the same way
    #[arg(long, num_args = 1.., value_name = "INPUT")]
    pub(super) query: Vec<String>,
    /// Stream of keys to remove, named in the same way; only with --kind counting
    #[arg(long, num_args = 1.., value_name = "INPUT")]
    pub(super) remove: Vec<String>,
    /// Wait for more at the end of the last file or topic, as `tail -F` does: also when the file is rotated
    #[arg(long)]
    follow: bool,
    /// What to do when something is gone before it was read (a followed file that was rotated and
    /// compressed, or cut; messages of a topic): stop and say what, or say it and go on with what is left
    #[arg(long, value_parser = arguments::one_of(Lost::ALL, Lost::name), value_name = "WHAT")]
    #[arg(default_value = "stop")]
    lost: Lost,
    /// The place for answers: a file, -, a socket or a topic [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
    /// Records of each stream in a batch [default: 100000]
    #[arg(long, value_parser = arguments::count, value_name = "N")]
    batch: Option<u64>,
    /// End a batch after this time, however many records it has [default: 1s for streams that may
    /// pause, if --batch is not given]
    #[arg(long, value_parser = arguments::duration, value_name = "TIME")]
    every: Option<Duration>,
    /// Rebuild the filters larger, from the files that were read, when the expected rate of false
    /// positives is above this. A stream that cannot be read again has filters that grow instead
    #[arg(long, value_parser = arguments::rate, value_name = "RATE", help_heading = "Size")]
    rebuild_above: Option<f64>,
    /// Folder that keeps what a later run needs to resume
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Write the state at most this often; 0: after every batch
    #[arg(long, value_name = "TIME", value_parser = arguments::duration, default_value = "1s", requires = "state")]
    commit_every: Duration,
    /// How long to wait for a peer that went away before its stream counts as ended; the first
    /// connection is waited for at least 10s [default: 10s when connecting, forever when listening]
    #[arg(long, value_name = "TIME", value_parser = arguments::duration)]
    reconnect: Option<Duration>,
    /// Close a peer of tcp-listen that has sent nothing for this time; none: never
    #[arg(long, value_name = "TIME", default_value = "10m")]
    idle: Idle,
    /// Setting of the Kafka client, by its librdkafka name: security.protocol=sasl_ssl
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Kafka")]
    kafka: Vec<Property>,
    /// File of such settings, one per line: the place for passwords
    #[arg(long, value_name = "FILE", help_heading = "Kafka")]
    kafka_config: Option<PathBuf>,
    /// How long to wait for a broker that does not answer
    #[arg(long, value_name = "TIME", value_parser = arguments::duration, default_value = "30s", help_heading = "Kafka")]
    kafka_timeout: Duration,
    /// Parameters that `tamis plan … -o` saved
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    params: Option<PathBuf>,
    /// Start with the keys and parameters of a file of filters
    #[arg(long, value_name = "FILE.tamis")]
    pub(super) from: Option<PathBuf>,
    /// Column of the key in the query stream, if it has another name; the steps stay
    #[arg(long, value_name = "COLUMN", help_heading = "Keys")]
    query_key: Vec<Field>,
    /// The same for the stream of removals
    #[arg(long, value_name = "COLUMN", help_heading = "Keys", requires = "remove")]
    remove_key: Vec<Field>,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    kinds: Kinds,
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    counting: Counting,
    /// Also count, beside the filters, and write the estimates of all queries to this file
    #[arg(long, value_name = "FILE", help_heading = "Counts (--kind count-min)")]
    counts: Option<String>,
    #[command(flatten)]
    windows: Windows,
    #[command(flatten)]
    reading: Reading,
    /// Serve Prometheus metrics at this address (127.0.0.1:9100)
    #[arg(long, value_name = "ADDRESS", help_heading = "Watching")]
    metrics: Option<String>,
    /// Write a line for each batch to standard error
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Watching")]
    log: Option<Log>,
    #[command(flatten)]
    on: Where,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Log {
    Json,
}

impl Stream {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        let is_file = |name: &&String| matches!(Target::of(name), Ok(Target::File(_)));
        let here = (!self.on.is_given()).then_some(()); // what Spark writes may lie anywhere
        let outputs = self.output.iter().chain(&self.counts).filter(is_file).filter(|_| here.is_some());
        let outputs = outputs.map(Path::new).collect();
        super::Named { outputs, ..super::Named::default() }
            .and_inputs(self.params.iter().chain(&self.kafka_config).chain(&self.from))
            .and_aside(&self.reading)
    }

    /// Learns and answers.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        if self.on.is_given() {
            return self.on_spark(output);
        }
        let log = self.log;
        let door = self.metrics.as_deref().map(Door::open).transpose()?;
        let mut request = self.request();
        let asked = match &request.from {
            Some(path) => Asked::of(output, path, &files::open(path)?, request.reading)?,
            None => Asked::nothing(request.reading),
        };
        request.reading = asked.reading.clone();
        let mut job = request.resolve(&mut |note| tell(output, note)).map_err(refused)?;
        for role in [Role::Train, Role::Query, Role::Remove] {
            job.inputs[role].iter_mut().for_each(|input| asked.watch(&mut input.options));
        }
        let to_stdout = job.output == Target::Stdout;
        if to_stdout && output.json {
            return usage("the answers go to standard output: --json goes with -o FILE");
        }
        let watch = watch(log, output.quiet);
        let end = AtomicBool::new(false);
        let line = Line::new();
        let report = thread::scope(|scope| {
            let _ends = End(&end);
            if let Some(door) = &door {
                let serve = || door.serve(&watch, &end);
                let begun = thread::Builder::new().spawn_scoped(scope, serve);
                begun.map_err(|error| Error::from(NoThread(error)))?;
            }
            progress::run_with_line(
                output,
                || line.text(&watch.status()),
                |control| tamis_stream::stream(&job, control, &watch),
            )
        });
        let report = asked.done(output, report)?;
        say_what_happened(output, &job, &asked, &report);
        if to_stdout {
            output.note(format!(
                "{} trained, {} distinct queries asked, {} answered, in {}",
                number::counted(report.status.rows, "row"),
                number::count(report.status.distinct),
                number::count(report.status.answers),
                number::duration(report.time)
            ));
        } else {
            output.summary(
                Sheet { table: tamis_report::stream::table(&report), lines: Vec::new() },
                tamis_report::stream::json(&report),
            )?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What is asked for.
    fn request(self) -> StreamJob {
        let given = |inputs: Vec<String>| (!inputs.is_empty()).then_some(inputs);
        let mut inputs = ByRole::default();
        inputs[Role::Train] = given(self.train);
        inputs[Role::Query] = given(self.query);
        inputs[Role::Remove] = given(self.remove);
        StreamJob {
            inputs,
            follow: self.follow,
            output: self.output,
            counts: self.counts,
            batch: self.batch,
            every: self.every,
            rebuild_above: self.rebuild_above,
            commit_every: self.state.is_some().then_some(self.commit_every),
            state: self.state,
            reconnect: self.reconnect,
            lost: Some(self.lost),
            idle: Some(self.idle),
            kafka: kafka::Asked {
                kafka: self.kafka,
                kafka_config: self.kafka_config,
                kafka_timeout: Some(self.kafka_timeout),
            },
            params: self.params,
            from: self.from,
            keys: self.keys.request(),
            query_key: self.query_key,
            remove_key: self.remove_key,
            kinds: self.kinds.request(),
            sizes: self.sizes.request(),
            counting: self.counting.request(),
            windows: self.windows.request(),
            reading: self.reading.request(),
            no_more: NoMore,
        }
    }
}

/// Says what should be known of a stream before it runs.
fn tell(output: &Output, note: &Note) {
    match note {
        Note::Secret(name) => output.warn(format!(
            "{name} on the command line is visible to other users: put it into --kafka-config FILE"
        )),
        note if note.is_warning() => output.warn(say(note, &Flags)),
        note => output.note(say(note, &Flags)),
    }
}

/// What hears of batches and news: a log, or people.
fn watch(log: Option<Log>, quiet: bool) -> Watch {
    let watch = match log {
        Some(Log::Json) => {
            Watch::hearing(|batch, status| show::complain(tamis_report::stream::batch_json(batch, status)))
        }
        None => Watch::default(),
    };
    watch.with_news(move |news| match log {
        Some(Log::Json) => show::complain(json!({ "note": say(news, &Flags) })),
        None if quiet => {}
        None => show::complain(say(news, &Flags)),
    })
}

/// Says what people should know of a run that has ended, beside its numbers.
fn say_what_happened(output: &Output, job: &Job, asked: &Asked, report: &Report) {
    if report.resumed {
        output.note("resumed where the last run ended");
    }
    asked.inputs(output, &report.inputs);
    notes::skipped(output, report.status.skipped);
    if let Some(window) = report.status.window {
        windows::notes(output, &window);
    }
    if report.lost > 0 {
        output.warn(format!(
            "{} were gone before they could be read, and are missing (--lost go-on)",
            number::counted(report.lost, "message")
        ));
    }
    if report.status.missing > 0 {
        output.warn(format!(
            "skipped {} that were not there",
            number::counted(report.status.missing, "removal")
        ));
    }
    if report.counters_full > 0 {
        let bits = counter_bits(job.counts.as_ref().map_or(&job.sizing, |counts| &counts.sizing));
        output.warn(format!(
            "{}: an answer of {} is not an estimate",
            counters::ran_full(report.counters_full, bits),
            if bits == 32 { u64::from(u32::MAX) } else { u64::MAX }
        ));
    }
    if let Some(fill) = report.status.fill.filter(|fill| fill.overfull > 0) {
        output.warn(format!(
            "{} of {} hold more keys than planned, and their rate is up to {}: give a larger --keys{}",
            number::count(fill.overfull),
            number::counted(fill.groups, "filter"),
            number::rate(fill.rate),
            if job.window.is_some() { "" } else { ", or let them grow (--kind scalable)" }
        ));
    }
}

/// The bits of a counter.
fn counter_bits(sizing: &Sizing) -> u32 {
    match sizing {
        Sizing::Counters(counters) => counters.shape.width(),
        Sizing::Params(params) => params.groups.first().map_or(64, |group| group.shape.width()),
        _ => 64,
    }
}

/// Tells the server of metrics to end, however the run ends.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// The status line: what is new since it was last shown.
struct Line {
    before: Mutex<(Instant, u64)>,
}

impl Line {
    fn new() -> Line {
        Line { before: Mutex::new((Instant::now(), 0)) }
    }

    fn text(&self, status: &Status) -> String {
        let done = status.rows + status.queries + status.removed + status.missing;
        let Ok(mut before) = self.before.lock() else { return String::new() };
        let speed = (done - before.1) as f64 / before.0.elapsed().as_secs_f64().max(1e-3);
        *before = (Instant::now(), done);
        let short = |number: u64| number::short(number as f64);
        let mut parts = vec![
            format!("batch {}", number::count(status.batch)),
            format!("{} trained", short(status.rows)),
            format!("{} asked", short(status.queries)),
            format!("{}/s", short(speed as u64)),
        ];
        // Before what may be cut off where a terminal ends.
        let sum = |of: fn(Lag) -> Option<u64>| {
            status.lag.values().filter_map(|lag| lag.and_then(of)).reduce(|a, b| a + b)
        };
        if let Some(bytes) = sum(Lag::bytes) {
            parts.push(format!("lag {}", number::bytes(bytes)));
        }
        if let Some(messages) = sum(Lag::messages) {
            parts.push(format!("lag {}", number::counted(messages, "message")));
        }
        if let Some(fill) = status.fill {
            parts.push(format!("fill {:.0} %", 100.0 * fill.fill));
            if !fill.rate.is_nan() {
                parts.push(format!("rate {}", number::short(fill.rate)));
            }
        }
        if let Some(window) = status.window {
            parts.push(format!("{} panes", window.panes));
            let wrong = window.judged.map_or(0, |judged| judged.late + judged.expired + judged.ahead);
            if wrong > 0 {
                parts.push(format!("{} late or ahead", short(wrong)));
            }
        }
        if status.removed > 0 {
            parts.insert(2, format!("{} removed", short(status.removed)));
        }
        parts.join(", ")
    }
}
