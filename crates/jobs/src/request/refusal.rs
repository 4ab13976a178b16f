//! Why a request cannot be served.

use tamis::error::ParserMessage;
use tamis::hash::{Foreign, HashKey, Scheme};
use tamis::key::Column;
use tamis::layered::MOST_LAYERS;
use tamis::sizing::Kind;
use tamis_read::refusal::{self, Given, Help, Opt, Voice};

use super::{HashName, MOST_THREADS};
use tamis_make::opt;
use tamis_make::{build, design, number, plan, spread};

/// Why a request cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Both a key and keywords.
    #[error("a row has a key or keywords, not both")]
    KeyAndKeywords,
    /// The conservative update of what has no counters.
    #[error("only sketches that count have a conservative update")]
    Conservative,
    /// A hash of another kind.
    #[error("{} goes with bloom filters, not with {kind}", hash.name())]
    HashOfBloom {
        /// The hash.
        hash: Scheme,
        /// The kind.
        kind: Kind,
    },
    /// A seed of a hash that has none.
    #[error("murmur3 has the seeds 0, 1, 2, …")]
    MurmurSeed,
    /// A seed that the hash of another system does not take.
    #[error("{} takes no such seed", .0.name())]
    ForeignSeed(Foreign),
    /// The hash of published filters, where one hash per key is needed.
    #[error("repetitions are dropped by one hash of each key, and {} has several", .0.name())]
    HashOfDedup(HashName),
    /// A seed of a hash that has a key.
    #[error("siphash has a secret key in place of a seed")]
    SipHashSeed,
    /// A hash without its key.
    #[error("siphash needs a secret key: a file of 16 random bytes, or of 32 hexadecimal digits")]
    NoHashKey,
    /// A key that was not given to this process.
    #[error("the secret key with {0} is not known here")]
    UnknownHashKey(HashKey),
    /// A key without its hash.
    #[error("a secret key goes with siphash alone")]
    HashKeyAlone,
    /// Filters of records without keywords.
    #[error("a layered filter holds records of keywords")]
    LayeredKeys,
    /// Columns of a file that is one record.
    #[error("a whole file is one record, and has no column {0}: its text is (line)")]
    ColumnOfDocument(Column),
    /// Each keyword a key, where there are none.
    #[error("each keyword shall be a key, and no step makes keywords")]
    EachOfNone,
    /// Each keyword a key, in a kind that takes one key of a row.
    #[error("a {0} takes a row as one key, not each of its keywords")]
    EachOfKind(Kind),
    /// A weight, where nothing is counted.
    #[error("a {0} filter does not count, so rows have no weight")]
    Weight(Kind),
    /// Layers of another kind.
    #[error("{0} filters have no layers")]
    LayersOf(Kind),
    /// Steps of keywords in a key, a group or a weight.
    #[error("the steps split, words, json, whole and sort make keywords")]
    KeywordSteps,
    /// Sizes of filters for sketches that count.
    #[error(
        "sketches that count have no rate of false positives, and their size does not depend on the keys"
    )]
    FilterSizes(Vec<Opt>),
    /// Counters of a filter.
    #[error("a {kind} filter has no counters")]
    Counters {
        /// The kind.
        kind: Kind,
        /// What was given.
        given: Vec<Opt>,
    },
    /// Several sizes.
    #[error("sizes exclude each other")]
    SeveralSizes(Vec<Opt>),
    /// An option in place of another one, and that one.
    #[error("these options exclude each other")]
    InPlaceOf(Opt, Opt),
    /// A number that is not between 0 and 1.
    #[error("{what} lies between 0 and 1, both excluded, and {share} does not")]
    Share {
        /// What it is.
        what: &'static str,
        /// The option.
        option: Opt,
        /// The number.
        share: f64,
    },
    /// Nothing, where something is needed.
    #[error("0 {what} are too few")]
    Zero {
        /// What there is none of.
        what: &'static str,
        /// The option.
        option: Opt,
    },
    /// Counters of another width.
    #[error("a counter has 64 bits or 32, not {0}")]
    CounterBits(u32),
    /// Bad rows that end the job, and a file for them.
    #[error("bad rows end the job or are set aside, not both")]
    FailAndSetAside,
    /// A file for bad rows, where none can be written.
    #[error("bad rows cannot be set aside here")]
    NothingSetAside,
    /// A number of threads that is too small or too large.
    #[error("there are 1 to {MOST_THREADS} threads, not {0}")]
    Threads(usize),
    /// Less memory than the job can do with.
    #[error("{} of memory are too few; the least is {}", number::bytes(*bytes), number::bytes(*least))]
    LittleMemory {
        /// What was given.
        bytes: u64,
        /// The least.
        least: u64,
    },
    /// Keys for a static filter.
    #[error("a {0} filter is sized by its own keys, which are counted")]
    StaticKeys(Kind),
    /// A number of layers that is too small or too large.
    #[error("a layered filter has 1 to {MOST_LAYERS} layers, not {0}")]
    Layers(u32),
    /// Layers that follow from a size that follows from them.
    #[error("the number of layers follows from that of the hashes, and this from the size of a layer")]
    LayersOfSize,
    /// Layers that follow from keywords that nobody counts.
    #[error("the number of layers follows from the keywords, which are not counted")]
    LayersUncounted,
    /// A size in all for groups whose keys nobody counts.
    #[error("a total size is shared by the keys of each group, which are not counted")]
    TotalOfGroups,
    /// Options that given parameters fix.
    #[error("the given parameters fix size, kind, hash and recipe")]
    Fixed(Vec<Opt>),
    /// A key of another number of columns than the stored one.
    #[error("the stored key has {}, and {} given", number::counted(*stored as u64, "part"), columns(*given))]
    Parts {
        /// The columns of the stored key.
        stored: usize,
        /// Those that were given.
        given: usize,
    },
    /// A group, if there are none.
    #[error("these filters have no groups")]
    NoGroups,
    /// A weight, if there is none.
    #[error("nothing is weighted here")]
    NoWeight,
    /// Other steps than the stored ones.
    #[error("the stored steps apply to {0}")]
    StoredSteps(Column),
    /// More to record than a file takes.
    #[error("the note and the source of a file may take a mebibyte together")]
    LongNote,
    /// A file that holds no parameters.
    #[error("invalid parameters ({0}): the file was not written by tamis, or was changed since")]
    BadParameters(ParserMessage),
    /// Filters in place of saved parameters.
    #[error("this is a file of filters, not of parameters")]
    FiltersAsParameters,
    /// The state of a dedup stands for missing values in another way.
    #[error("the state was made with another text for missing values")]
    StoredNull,
    /// What is recorded of the text that was read, and is not known.
    #[error("the file records {} of its text, which this program does not know", recorded(.0))]
    UnknownDialect(Given),
    /// A second output of records, on one machine.
    #[error(
        "this is not available on a cluster; a second run with the selection inverted gives the rejected records"
    )]
    RejectedOnOneMachine(Vec<Opt>),
    /// A test of counts, on one machine.
    #[error("counts are tested on one machine")]
    CountsOnOneMachine,
    /// Records of several machines, without a folder.
    #[error("Spark writes records to a folder")]
    FolderNeeded,
    /// What works on one machine only.
    #[error(transparent)]
    Spread(#[from] spread::Refusal),
    /// Threads of machines that another engine has.
    #[error("Spark decides how many threads there are, by options of its own")]
    ThreadsOfSpark,
    /// Keys of a table that is counted.
    #[error("the keys of a table are counted")]
    KeysOfTable,
    /// Groups, without a table to find them in.
    #[error("the groups are found in a table")]
    GroupsWithoutTable,
    /// Parameters of no number of keys.
    #[error("parameters are planned for a table, or for a number of keys")]
    KeysUnknown,
    /// A chart of something else than numbers.
    #[error("a chart draws rates of false positives for numbers, without a table")]
    Chart,
    /// A chart of counters.
    #[error("a chart draws rates of false positives, which counters do not have")]
    ChartOfCounters,
    /// Too few numbers, or too many, to plan a layered filter.
    #[error(
        "a layered filter is planned for a number of different keywords or records, whichever are more, and of layers; or for a table, from which both follow"
    )]
    LayeredPlan,
    /// Something about counts that goes with filters.
    #[error("counts are tested with the data they were built from")]
    TestOfCounts(Vec<Opt>),
    /// Nothing to test with.
    #[error("there is nothing to test with")]
    NothingToTest,
    /// A build that cannot be.
    #[error(transparent)]
    Build(#[from] build::Refusal),
    /// A plan that cannot be.
    #[error(transparent)]
    Plan(#[from] plan::Refusal),
    /// A design that cannot be.
    #[error(transparent)]
    Design(#[from] design::Refusal),
    /// A size that no sketch has.
    #[error(transparent)]
    Size(#[from] tamis::Error),
}

fn recorded(given: &Given) -> String {
    format!("the {} {:?}", given.option.0, given.value.as_deref().unwrap_or_default())
}

fn columns(given: usize) -> String {
    format!("{} {}", number::counted(given as u64, "column"), if given == 1 { "was" } else { "were" })
}

impl refusal::Refusal for Refusal {
    fn reason(&self, voice: &dyn Voice) -> String {
        match self {
            Refusal::FiltersAsParameters => {
                format!("this is a file of filters; {} takes its parameters", voice.option(opt::LIKE))
            }
            Refusal::StoredNull => format!("the state was made with another {}", voice.option(opt::NULL)),
            _ => self.to_string(),
        }
    }

    fn help(&self) -> Vec<Help> {
        let kind = |kind: Kind| Help::give(opt::KIND.with(kind.name()));
        let without = |option: Opt| vec![Help::leave_out(option)];
        match self {
            Refusal::KeyAndKeywords => vec![Help::LeaveOutOne(vec![opt::KEY, opt::KEYWORDS])],
            Refusal::Conservative => vec![Help::leave_out(opt::CONSERVATIVE), kind(Kind::CountMin)],
            Refusal::HashOfBloom { .. } => vec![Help::LeaveOutOne(vec![opt::HASH, opt::KIND])],
            Refusal::MurmurSeed | Refusal::SipHashSeed | Refusal::ForeignSeed(_) => without(opt::SEED),
            Refusal::HashOfDedup(_) => without(opt::HASH),
            Refusal::NoHashKey | Refusal::UnknownHashKey(_) => vec![Help::give(opt::HASH_KEY.with("FILE"))],
            Refusal::HashKeyAlone => {
                vec![Help::give(opt::HASH.with("siphash")), Help::leave_out(opt::HASH_KEY)]
            }
            Refusal::FailAndSetAside => vec![Help::LeaveOutOne(vec![opt::BAD_ROWS, opt::BAD_ROWS_TO])],
            Refusal::NothingSetAside => vec![
                Help::leave_out(opt::BAD_ROWS_TO),
                Help::GiveTo(opt::BAD_ROWS.with("skip"), "leave such rows out"),
            ],
            Refusal::LayeredKeys => vec![Help::give(opt::KEYWORDS.with("COLUMN:split=','"))],
            Refusal::ColumnOfDocument(_) => without(opt::RECORD),
            Refusal::EachOfNone => {
                vec![Help::give(opt::KEYWORDS.with("COLUMN:words")), Help::leave_out(opt::EACH_KEYWORD)]
            }
            Refusal::EachOfKind(_) => vec![Help::leave_out(opt::EACH_KEYWORD), kind(Kind::Blocked)],
            Refusal::Weight(_) => vec![Help::leave_out(opt::WEIGHT), kind(Kind::CountMin)],
            Refusal::LayersOf(_) => vec![Help::leave_out(opt::LAYERS), kind(Kind::Layered)],
            Refusal::KeywordSteps => vec![Help::give(opt::KEYWORDS)],
            Refusal::FilterSizes(given) => {
                vec![Help::LeaveOut(given.clone()), Help::Give(vec![opt::EPSILON.into(), opt::DELTA.into()])]
            }
            Refusal::Counters { given, .. } => vec![Help::LeaveOut(given.clone()), kind(Kind::CountMin)],
            Refusal::SeveralSizes(given) => vec![one_of(given)],
            Refusal::InPlaceOf(one, other) => vec![Help::LeaveOutOne(vec![*one, *other])],
            Refusal::Share { option, .. } => vec![Help::give(option.with("0.01"))],
            Refusal::Zero { option, .. } => vec![Help::give(option.with("N"))],
            Refusal::CounterBits(_) => {
                vec![Help::GiveOne(vec![opt::COUNTER_BITS.with("64"), opt::COUNTER_BITS.with("32")])]
            }
            Refusal::Threads(_) => vec![Help::give(opt::THREADS.with("N"))],
            Refusal::LittleMemory { least, .. } => {
                vec![Help::give(opt::MEMORY.with(number::bytes(*least).replace(' ', "")))]
            }
            Refusal::StaticKeys(_) => without(opt::KEYS),
            Refusal::Layers(_) | Refusal::LayersOfSize | Refusal::LayersUncounted => {
                vec![Help::give(opt::LAYERS.with("N"))]
            }
            Refusal::TotalOfGroups => vec![
                Help::leave_out(opt::KEYS),
                Help::GiveOne(vec![opt::FPR.into(), opt::BITS_PER_KEY.into(), opt::BITS_PER_GROUP.into()]),
            ],
            Refusal::Fixed(given) | Refusal::TestOfCounts(given) => vec![Help::LeaveOut(given.clone())],
            Refusal::Parts { .. } => vec![Help::Do("give a column for each part")],
            Refusal::NoGroups => without(opt::GROUP),
            Refusal::NoWeight => without(opt::WEIGHT),
            Refusal::StoredSteps(_) => vec![Help::Do("give the column alone")],
            Refusal::RejectedOnOneMachine(given) => {
                vec![Help::LeaveOut(given.clone()), Help::leave_out(opt::ON)]
            }
            Refusal::CountsOnOneMachine => without(opt::ON),
            Refusal::FolderNeeded => vec![Help::GiveOne(vec![opt::OUTPUT.with("FOLDER"), opt::COUNT.into()])],
            Refusal::ThreadsOfSpark => without(opt::THREADS),
            Refusal::KeysOfTable => vec![Help::leave_out(opt::KEYS), Help::Do("leave out the table")],
            Refusal::GroupsWithoutTable => vec![Help::Do("name a table"), Help::leave_out(opt::GROUP)],
            Refusal::KeysUnknown => vec![Help::give(opt::KEYS.with("N")), Help::Do("name a table")],
            Refusal::Chart | Refusal::ChartOfCounters => without(opt::CHART),
            Refusal::LayeredPlan => vec![Help::Give(vec![opt::KEYS.with("N"), opt::LAYERS.with("N")])],
            Refusal::NothingToTest => vec![
                Help::Do("name the data"),
                Help::GiveOne(vec![opt::NEGATIVES.with("FILE"), opt::RANDOM.with("N")]),
            ],
            Refusal::Build(refusal) => refusal.help(),
            Refusal::Plan(refusal) => refusal.help(),
            Refusal::Spread(refusal) => refusal.help(),
            Refusal::Design(refusal) => refusal.help(),
            Refusal::UnknownDialect(given) => vec![Help::give(given.option.with("VALUE"))],
            Refusal::StoredNull => vec![Help::Do("leave it out")],
            Refusal::BadParameters(_) => vec![Help::PlanFirst],
            Refusal::Size(error) => plan::help_with(error),
            Refusal::LongNote | Refusal::FiltersAsParameters => vec![],
        }
    }
}

/// Give one of these, and no more.
fn one_of(options: &[Opt]) -> Help {
    Help::GiveOne(options.iter().map(|option| (*option).into()).collect())
}
