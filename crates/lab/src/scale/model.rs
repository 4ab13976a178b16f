//! The formulas of each way: bytes and memory as the code has them, times by rates.

use tamis_make::spread::RANGE_BYTES;

use super::{Job, Phase, To, Unit, Wall, Way};

/// What was measured: docs/scale.md says how, where and when.
pub mod rates {
    /// Nanoseconds of a core for a row that `tamis build` reads, cuts, hashes and puts into a filter in memory.
    pub const BUILD_ROW: f64 = 20.0;
    /// The same where the filter fits into the cache.
    pub const BUILD_ROW_IN_CACHE: f64 = 15.0;
    /// Up to these bytes it does.
    pub const CACHE: u64 = 32 << 20;
    /// Nanoseconds of a core for a row that Spark reads and hands to Python, and what that does with it.
    pub const SPARK_ROW: f64 = 990.0;
    /// Seconds in which Spark begins and ends: its driver and session, the first Python, code that is compiled.
    pub const SPARK_START: f64 = 13.0;
    /// Seconds in which its executors begin, where they are processes of their own.
    pub const EXECUTORS: f64 = 4.0;
    /// Nanoseconds of a core for a byte that a merge on Spark takes: from disks, through the JVM and Python.
    pub const MERGE_BYTE: f64 = 17.0;
    /// Bytes per second that Spark hands to the driver.
    pub const FETCH_BYTES: f64 = 24.0e6;
    /// Bytes per second and core at which filters are ORed and sealed.
    pub const OR_BYTES: f64 = 2.0e9;
    /// Bytes per second and core that become base64, or bytes again.
    pub const BASE64_BYTES: f64 = 0.6e9;
    /// Seconds in which a task begins and ends.
    pub const START: f64 = 0.1;
    /// Seconds in which a container of YARN begins.
    pub const CONTAINER: f64 = 3.0;
}

/// The name of the way that needs no other machine.
pub const ONE_MACHINE: &str = "one machine";

/// Bytes of a split of HDFS, and of a partition of files in Spark, unless told otherwise.
const SPLIT: u64 = 128 << 20;

/// Besides the filter, `tamis build` takes this, and this for each thread.
const PROCESS: u64 = 1_900_000;
const THREAD: u64 = 800_000;

/// Filters up to this size exist once for each thread.
const PRIVATE: u64 = 8 << 20;

/// Python, Arrow and the package in a task of Spark, before it holds anything.
const PYTHON: u64 = 153 << 20;

/// What it takes of memory for a byte of changes that it holds, and for a byte of a batch that it merges: both are
/// handed on as parts of bytes, as Arrow's, and to the JVM. And the most bytes of a batch.
const OF_HELD: f64 = 2.6;
const OF_BATCH: f64 = 4.3;
const BATCH: f64 = (64u64 << 20) as f64;

/// What a task of Spark holds of changes before it passes them on, and 12 bytes of each 16 as parts.
const HELD: u64 = 128 << 20;
const CHANGE_HELD: u64 = 16;
const CHANGE_MOVED: u64 = 12;

/// Bytes of a part beside its content: a mark, a digest, the number of the range, a checksum.
const PART: u64 = 28;

/// A file is cut into as many partitions as there are cores, but into none smaller than this.
const OPEN_COST: u64 = 4 << 20;

/// Tasks whose parts Spark brings together at once, and the most partitions of ranges.
const FAN_IN: u64 = 32;
const MOST_PARTITIONS: u64 = 4096;

/// Up to these bytes, the driver takes all ranges at once.
const AT_ONCE: u64 = 32 << 20;

/// The largest array of Java: a row of Spark, a line of Hadoop Streaming.
const ARRAY: f64 = 2_147_483_647.0;

/// spark.driver.maxResultSize, unless told otherwise.
const RESULT: f64 = (1u64 << 30) as f64;

/// The three ways.
pub fn ways(job: &Job) -> Vec<Way> {
    vec![one_machine(job), pipes(job), spark(job)]
}

/// The memory of `tamis build --keys` on this many threads.
pub fn build_memory(filter: u64, threads: u64) -> u64 {
    let filters = if filter <= PRIVATE { threads.max(1) } else { 1 };
    filter * filters + PROCESS + THREAD * threads
}

/// Nanoseconds of a row.
fn build_row(filter: u64) -> f64 {
    if filter <= rates::CACHE { rates::BUILD_ROW_IN_CACHE } else { rates::BUILD_ROW }
}

/// Changes that a row makes.
fn changes(job: &Job) -> u64 {
    use tamis::sizing::Kind;
    match job.kind {
        Kind::Bloom | Kind::CountMin => u64::from(job.shape.hashes()),
        _ => 1,
    }
}

fn wall(what: &'static str, asked: f64, given: f64, unit: Unit, remedy: &'static str) -> Wall {
    Wall { what, asked, given, unit, remedy }
}

fn phase(name: &'static str, tasks: u64, seconds: f64, memory: u64) -> Phase {
    Phase { name, tasks: tasks.max(1), seconds, memory, moved: 0, to: To::All, serial: false }
}

const NS: f64 = 1e-9;

/// `tamis build` with all cores of one machine.
fn one_machine(job: &Job) -> Way {
    let threads = job.cores;
    let filter = job.filter();
    let memory = build_memory(filter, threads);
    let each = job.rows as f64 * build_row(filter) * NS / threads as f64;
    let build = phase("build", threads, each, memory / threads);
    let written = filter as f64 / job.disk as f64 + filter as f64 / rates::OR_BYTES / threads as f64;
    let write = Phase { serial: true, ..phase("seal and write", 1, written, memory) };
    Way {
        name: ONE_MACHINE,
        command: "tamis build",
        passes: 1,
        phases: vec![build, write],
        driver: memory,
        walls: vec![wall(
            "memory of the machine",
            memory as f64,
            job.memory as f64,
            Unit::Bytes,
            "more memory, a larger rate, or Spark",
        )],
        seconds: None,
        simulated: None,
    }
}

/// A scheduler that pipes bytes: a filter of each split, and one reducer (`tamis build -o -`, `tamis merge -`).
pub fn pipes(job: &Job) -> Way {
    let filter = job.filter();
    let splits = job.input().div_ceil(SPLIT).max(1);
    let line = filter.div_ceil(3) * 4;
    let rows = job.rows as f64 / splits as f64;
    let coded = filter as f64 / rates::BASE64_BYTES;
    let map_seconds =
        rates::CONTAINER + rows * build_row(filter) * NS + filter as f64 / rates::OR_BYTES + coded;
    let map = Phase {
        moved: splits.saturating_mul(line),
        to: To::One,
        ..phase("map: a filter of each split", splits, map_seconds, build_memory(filter, 1))
    };
    let reduce_memory = 2 * filter + PROCESS + THREAD;
    let reduce_seconds = rates::CONTAINER + splits as f64 * (coded + filter as f64 / rates::OR_BYTES);
    let reduce = Phase { serial: true, ..phase("reduce: OR", 1, reduce_seconds, reduce_memory) };
    Way {
        name: "Hadoop Streaming",
        command: "tamis build | tamis merge",
        passes: 1,
        phases: vec![map, reduce],
        driver: 64 << 20,
        walls: vec![
            wall(
                "memory of the reducer",
                reduce_memory as f64,
                job.memory as f64,
                Unit::Bytes,
                "Spark, which cuts the filter into ranges",
            ),
            wall("a line, which is an array of Java", line as f64, ARRAY, Unit::Bytes, "Spark"),
            wall(
                "disks of the reducer, which sort all filters",
                (splits as f64) * line as f64,
                64.0 * job.memory as f64,
                Unit::Bytes,
                "larger splits (mapreduce.input.fileinputformat.split.minsize)",
            ),
        ],
        seconds: None,
        simulated: None,
    }
}

/// Bytes of these changes of this many ranges of a part: as a list, or as words where these are fewer.
pub fn part_bytes(job: &Job, changes: f64) -> f64 {
    let words = (RANGE_BYTES as f64).min(job.filter() as f64) / 8.0;
    // A list becomes words when it has half as many changes as there are words.
    let content =
        if changes >= (words / 2.0).max(512.0) { 8.0 * words } else { CHANGE_MOVED as f64 * changes };
    content + PART as f64
}

/// The ranges that a filter is cut into.
pub fn ranges(job: &Job) -> u64 {
    job.filter().div_ceil(RANGE_BYTES as u64).max(1)
}

/// The bytes that a task of Spark passes on, of this many rows; and what it holds at most.
pub fn task_out(job: &Job, rows: f64) -> (f64, f64) {
    // The last range may be a part of one.
    let ranges = (job.filter() as f64 / RANGE_BYTES as f64).max(1.0);
    let all = rows * changes(job) as f64;
    // Lists take 16 bytes of a change while they are held, words 8 of a word.
    let words = job.filter() as f64;
    let held_of = |changes: f64| (CHANGE_HELD as f64 * changes).min(words.max(1.0));
    let held = held_of(all);
    let times = (held / HELD as f64).ceil().max(1.0);
    let each = all / times / ranges;
    // A part for each range that is changed at all.
    let touched = ranges * (1.0 - (-each).exp());
    let bytes = times * touched * part_bytes(job, each / (1.0 - (-each).exp()).max(1e-300));
    (bytes, held.min(HELD as f64))
}

/// The merge of these bytes in partitions of ranges, each by a task of this memory, and the way to the driver.
fn last_merge(job: &Job, partitions: u64, taken: u64, memory: u64) -> Vec<Phase> {
    let filter = job.filter();
    let share = filter as f64 / partitions as f64;
    let seconds = rates::START + taken as f64 / partitions as f64 * rates::MERGE_BYTE * NS;
    let to_driver = |phase| Phase { moved: filter, to: To::One, ..phase };
    let fetched = share / rates::FETCH_BYTES + share / job.disk as f64;
    if filter <= AT_ONCE {
        let merge = phase("merge: the ranges, to the driver", partitions, seconds + fetched, memory);
        return vec![to_driver(merge)];
    }
    // Executors keep the ranges on their disks, and the driver fetches one partition after the other.
    let range = filter.min(RANGE_BYTES as u64);
    let fetch = phase("fetch: the ranges, to the driver", partitions, rates::START + fetched, range);
    vec![
        phase("merge: the ranges, to disks", partitions, seconds + share / job.disk as f64, memory),
        Phase { serial: true, ..to_driver(fetch) },
    ]
}

/// The tasks that Spark makes of one file: for all cores, of at most 128 MiB each.
fn spark_tasks(job: &Job) -> u64 {
    let cores = job.machines.saturating_mul(job.cores).max(1);
    let each = job.input().saturating_add(OPEN_COST).div_ceil(cores);
    job.input().div_ceil(each.clamp(OPEN_COST, SPLIT)).max(1)
}

/// What Spark takes before the first task and after the last.
fn spark_start(job: &Job) -> Phase {
    let seconds = rates::SPARK_START + if job.machines > 1 { rates::EXECUTORS } else { 0.0 };
    Phase { serial: true, ..phase("start: driver, executors, Python", 1, seconds, PYTHON) }
}

/// `tamis build --on` with parameters that are known: ranges of the file, merged in a tree.
pub fn spark(job: &Job) -> Way {
    let filter = job.filter() as f64;
    let tasks = spark_tasks(job);
    let rows = job.rows as f64 / tasks as f64;
    let (out, held) = task_out(job, rows);
    let memory = PYTHON + (OF_HELD * held) as u64;
    let all = job.rows as f64 * changes(job) as f64;
    let build = Phase {
        moved: (out * tasks as f64) as u64,
        ..phase("build: changes by range", tasks, rates::START + rows * rates::SPARK_ROW * NS, memory)
    };
    let ranges = ranges(job) as f64;
    let range = (RANGE_BYTES as f64).min(filter);
    // The memory of a merge of what is taken for one range.
    let merger = |taken: f64| PYTHON + (OF_BATCH * taken.min(BATCH)) as u64;
    let shuffled = build.moved;
    let mut taken = shuffled;
    let mut phases = vec![spark_start(job), build];
    let mut blocks = 0.0;
    if tasks > 2 * FAN_IN {
        let partitions = tasks / FAN_IN;
        // Ranges and salts are spread by hash: some ranges of a partition come from several salts.
        let salts = tasks.div_ceil(FAN_IN) as f64;
        let each = ranges * salts / partitions as f64;
        let different = ranges * (1.0 - (-each / ranges).exp());
        let changes = all / partitions as f64;
        let moved = partitions as f64 * different * part_bytes(job, changes / different);
        let seconds = rates::START + taken as f64 / partitions as f64 * rates::MERGE_BYTE * NS;
        blocks = tasks as f64 * partitions as f64;
        taken = moved as u64;
        let memory = merger(shuffled as f64 / (ranges * salts));
        phases.push(Phase { moved: taken, ..phase("merge: a tree", partitions, seconds, memory) });
    }
    let partitions = (job.filter() / RANGE_BYTES as u64).clamp(1, MOST_PARTITIONS);
    let share = filter / partitions as f64;
    let merger = merger(taken as f64 / (filter / RANGE_BYTES as f64).max(1.0));
    phases.extend(last_merge(job, partitions, taken, merger));
    let driver = (512u64 << 20) + (3.0 * share) as u64;
    Way {
        name: "Spark",
        command: "tamis build, on executors",
        passes: 1,
        phases,
        driver,
        walls: vec![
            wall("a row of Spark", range + PART as f64, ARRAY, Unit::Bytes, "smaller range_bytes"),
            wall(
                "a result at the driver (spark.driver.maxResultSize)",
                share,
                RESULT,
                Unit::Bytes,
                "a larger spark.driver.maxResultSize",
            ),
            wall(
                "memory of a machine for one task",
                memory.max(merger) as f64,
                job.memory as f64,
                Unit::Bytes,
                "more memory",
            ),
            wall("memory of the driver", driver as f64, job.memory as f64, Unit::Bytes, "more memory"),
            wall(
                "blocks of a shuffle, of which each is a file range to open",
                blocks,
                // As many as leave a block 4 KiB at least, or a hundred million, whichever is more.
                (shuffled as f64 / 4096.0).max(1e8),
                Unit::Count,
                "larger partitions (spark.sql.files.maxPartitionBytes)",
            ),
        ],
        seconds: None,
        simulated: None,
    }
}
