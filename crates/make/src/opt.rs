//! The options of requests. Each name is that of the field; front ends spell it in their own way.

pub use tamis_read::opt::{
    BAD_ROWS, BAD_ROWS_TO, COMMENT, DELIMITER, FORMAT, KEY, NO_HEADER, OUTPUT_FORMAT, QUOTES, WITH_HEADER,
};
use tamis_read::refusal::Opt;

/// Defines the options, and the list of all of them with those of reading.
macro_rules! options {
    ($($(#[$doc:meta])* $name:ident = $field:literal;)*) => {
        $($(#[$doc])* pub const $name: Opt = Opt($field);)*

        /// All of them, those of reading among them.
        pub const ALL: &[Opt] =
            &[BAD_ROWS, BAD_ROWS_TO, COMMENT, DELIMITER, FORMAT, KEY, NO_HEADER, OUTPUT_FORMAT, QUOTES, WITH_HEADER, $($name),*];
    };
}

options! {
    /// The columns of keywords.
    KEYWORDS = "keywords";
    /// What is one record.
    RECORD = "record";
    /// Each keyword is a key of its own.
    EACH_KEYWORD = "each_keyword";
    /// The column of the group.
    GROUP = "group";
    /// Groups that a file lacks are made.
    NEW_GROUPS = "new_groups";
    /// The column of what a row counts for.
    WEIGHT = "weight";
    /// What stands for a missing value.
    NULL = "null";
    /// Threads.
    THREADS = "threads";
    /// The kind.
    KIND = "kind";
    /// The update of counters.
    CONSERVATIVE = "conservative";
    /// The layers of a `layered`.
    LAYERS = "layers";
    /// The hash.
    HASH = "hash";
    /// The layout of a file of another system.
    AS = "as";
    /// Files that are asked besides.
    ALSO = "also";
    /// The type of keys in another system.
    FUNNEL = "funnel";
    /// The layout that is written.
    TO = "to";
    /// Its seed.
    SEED = "seed";
    /// Its secret key.
    HASH_KEY = "hash_key";
    /// The rate of false positives.
    FPR = "fpr";
    /// Bits for each key.
    BITS_PER_KEY = "bits_per_key";
    /// Bits in all.
    BITS = "bits";
    /// Bits of each group.
    BITS_PER_GROUP = "bits_per_group";
    /// Hashes of a key.
    HASHES = "hashes";
    /// Bytes in all.
    SIZE = "size";
    /// The keys that each group is planned for.
    KEYS = "keys";
    /// The error of counts.
    EPSILON = "epsilon";
    /// The probability that an estimate exceeds that error.
    DELTA = "delta";
    /// Counters in a row.
    WIDTH = "width";
    /// Rows of counters.
    DEPTH = "depth";
    /// Bits of a counter.
    COUNTER_BITS = "counter_bits";
    /// The share from which on keys are kept.
    HEAVY = "heavy";
    /// Each different key once.
    DISTINCT = "distinct";
    /// The keys themselves beside the filters.
    EXACT = "exact";
    /// Memory for a job that can do with little.
    MEMORY = "memory";
    /// Parameters that were saved.
    PARAMS = "params";
    /// A file whose parameters are taken.
    LIKE = "like";
    /// The chart of a plan.
    CHART = "chart";
    /// The file to write.
    OUTPUT = "output";
    /// A line of base64 in place of bytes.
    BASE64 = "base64";
    /// How pages of Parquet are compressed.
    COMPRESSION = "compression";
    /// Where a job runs.
    ON = "on";
    /// Records that do not pass.
    REJECTED = "rejected";
    /// Filters of removed keys.
    REMOVED = "removed";
    /// A second look at the keys themselves.
    STRICT = "strict";
    /// The keywords of a record in their layers alone.
    PARTIAL = "partial";
    /// The record's own group.
    OWN_GROUP = "own_group";
    /// A column of the groups.
    TAG = "tag";
    /// Numbers alone.
    COUNT = "count";
    /// The records that do not pass, in place of those that do.
    INVERT = "invert";
    /// Keys known to be outside.
    NEGATIVES = "negatives";
    /// Random keys.
    RANDOM = "random";
    /// Keys that are made for the filters.
    ADVERSARY = "adversary";
    /// What is done with keys to be removed that are not there.
    MISSING = "missing";
    /// The rate above which filters are built again.
    REBUILD_ABOVE = "rebuild_above";
    /// The share from which on keys are listed.
    SHARE = "share";
    /// What is remembered between runs.
    STATE = "state";
    /// How a job understands its inputs.
    EXPLAIN = "explain";
}
