//! The options that refusals name, each once: the fields of the requests.

pub use tamis_read::opt::*;
use tamis_read::refusal::Opt;

/// Whether counters are updated conservatively.
pub const CONSERVATIVE: Opt = Opt("conservative");
/// The bits of a counter.
pub const COUNTER_BITS: Opt = Opt("counter_bits");
/// How probably an estimate is off by more than its bound.
pub const DELTA: Opt = Opt("delta");
/// The error of estimates, as a share of the total.
pub const EPSILON: Opt = Opt("epsilon");
/// Whether the keys themselves are kept beside the filters.
pub const EXACT: Opt = Opt("exact");
/// The rate of false positives.
pub const FPR: Opt = Opt("fpr");
/// The column of groups, or the group that is asked.
pub const GROUP: Opt = Opt("group");
/// The hash function.
pub const HASH: Opt = Opt("hash");
/// The share from which on keys are kept beside counters.
pub const HEAVY: Opt = Opt("heavy");
/// Whether the other records pass.
pub const INVERT: Opt = Opt("invert");
/// The columns of keywords.
pub const KEYWORDS: Opt = Opt("keywords");
/// The kind of sketch.
pub const KIND: Opt = Opt("kind");
/// How much memory a job may take.
pub const MEMORY: Opt = Opt("memory");
/// What is done with keys to be removed that are not there.
pub const MISSING: Opt = Opt("missing");
/// Data whose keys are known to be outside.
pub const NEGATIVES: Opt = Opt("negatives");
/// Whether a record is asked of its own group.
pub const OWN_GROUP: Opt = Opt("own_group");
/// How many random keys are made that are taken to be outside.
pub const RANDOM: Opt = Opt("random");
/// The rate above which filters are built again.
pub const REBUILD_ABOVE: Opt = Opt("rebuild_above");
/// The filters of removed keys.
pub const REMOVED: Opt = Opt("removed");
/// The seed of the hash function.
pub const SEED: Opt = Opt("seed");
/// The share from which on keys are listed.
pub const SHARE: Opt = Opt("share");
/// The size in bytes.
pub const SIZE: Opt = Opt("size");
/// What is remembered between runs.
pub const STATE: Opt = Opt("state");
/// Whether answers are checked against the keys themselves.
pub const STRICT: Opt = Opt("strict");
/// The column that names the groups of a record.
pub const TAG: Opt = Opt("tag");
