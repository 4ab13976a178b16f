//! The options of a stream that refusals name. Those that it shares with other jobs are theirs.

pub use tamis_make::opt::{
    BAD_ROWS, BAD_ROWS_TO, BITS_PER_KEY, CONSERVATIVE, FPR, HASH, KEYS, KIND, OUTPUT, PARAMS, REBUILD_ABOVE,
    SIZE,
};
use tamis_read::refusal::Opt;

/// Rows ahead of the clock.
pub const AHEAD: Opt = Opt("ahead");
/// Counts beside filters.
pub const COUNTS: Opt = Opt("counts");
/// How long a batch gathers records.
pub const EVERY: Opt = Opt("every");
/// Waiting for more.
pub const FOLLOW: Opt = Opt("follow");
/// A file to start with.
pub const FROM: Opt = Opt("from");
/// Settings of Kafka's client in a file.
pub const KAFKA_CONFIG: Opt = Opt("kafka_config");
/// How long a broker is waited for.
pub const KAFKA_TIMEOUT: Opt = Opt("kafka_timeout");
/// What becomes of rows that are late.
pub const LATE: Opt = Opt("late");
/// How far behind the newest time rows are still on time.
pub const LATENESS: Opt = Opt("lateness");
/// What to do when something is gone that was not read yet.
pub const LOST: Opt = Opt("lost");
/// The stream that is asked.
pub const QUERY: Opt = Opt("query");
/// The stream of removals.
pub const REMOVE: Opt = Opt("remove");
/// The columns of its keys.
pub const REMOVE_KEY: Opt = Opt("remove_key");
/// The step of a window.
pub const SLIDE: Opt = Opt("slide");
/// The column of the time of a row.
pub const TIME: Opt = Opt("time");
/// The stream that is learned.
pub const TRAIN: Opt = Opt("train");
/// The length of a window.
pub const WINDOW: Opt = Opt("window");

/// Those that streams alone have.
pub const OWN: [Opt; 17] = [
    AHEAD,
    COUNTS,
    EVERY,
    FOLLOW,
    FROM,
    KAFKA_CONFIG,
    KAFKA_TIMEOUT,
    LATE,
    LATENESS,
    LOST,
    QUERY,
    REMOVE,
    REMOVE_KEY,
    SLIDE,
    TIME,
    TRAIN,
    WINDOW,
];
