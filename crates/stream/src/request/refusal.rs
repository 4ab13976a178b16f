//! Why a stream that was asked for cannot be, and what is said of one that can.

use std::fmt;
use std::path::PathBuf;

use tamis::hash::Scheme;
use tamis::sizing::Kind;
use tamis_jobs::request::OtherColumns;
use tamis_make::number;
use tamis_read::refusal::{self, Fields, Help, Opt, Voice};

use crate::opt;
use crate::refusal::BadWindow;

/// Why a stream that was asked for cannot be.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// Standard input, more than once.
    StdinTwice,
    /// No stream at all.
    NoStream,
    /// Nothing is learned, and nothing is known.
    NothingLearned,
    /// A place for answers, and nothing is asked.
    NothingAsked(Opt),
    /// An option that goes with another, which is missing.
    Needs(Opt, Opt),
    /// A batch of no time.
    NoTime,
    /// A window that cannot be.
    Window(BadWindow),
    /// Counts, with a hash that they cannot have.
    HashOfCounts(Scheme),
    /// A size of filters that grow.
    SizeOfGrowing,
    /// A size in all, for groups whose keys nobody counts.
    TotalOfGroups,
    /// Filters for no number of keys.
    KeysUnknown(Kind),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&refusal::Refusal::reason(self, &Fields))
    }
}

impl std::error::Error for Refusal {}

impl refusal::Refusal for Refusal {
    fn reason(&self, voice: &dyn Voice) -> String {
        let option = |option: &Opt| voice.option(*option);
        match self {
            Refusal::StdinTwice => "- (standard input) can be one stream, not several".into(),
            Refusal::NoStream => "no stream".into(),
            Refusal::NothingLearned => "nothing is learned".into(),
            Refusal::NothingAsked(_) => format!("without {} nothing is answered", option(&opt::QUERY)),
            Refusal::Needs(one, other) => format!("{} goes with {}", option(one), option(other)),
            Refusal::NoTime => format!("{} takes a time above zero", option(&opt::EVERY)),
            Refusal::Window(why) => why.to_string(),
            Refusal::HashOfCounts(_) => "counts need xxh3".into(),
            Refusal::SizeOfGrowing => "a filter that grows has no size".into(),
            Refusal::TotalOfGroups => format!(
                "a total {} is shared by the keys of each group, which a stream does not know",
                option(&opt::SIZE)
            ),
            Refusal::KeysUnknown(kind) => format!("a {kind} filter is planned for a number of keys"),
        }
    }

    fn help(&self) -> Vec<Help> {
        let keys = opt::KEYS.with("N");
        let clause = match self {
            Refusal::NoStream => {
                let [train, query] = [opt::TRAIN, opt::QUERY];
                vec![train.into(), " names what is learned, ".into(), query.into(), " what is asked".into()]
            }
            Refusal::NothingLearned => {
                let from = opt::FROM.with("FILE.tamis").into();
                vec!["give ".into(), opt::TRAIN.into(), ", or ".into(), from, " to ask what it knows".into()]
            }
            Refusal::HashOfCounts(hash) => {
                let hash = opt::HASH.with(hash.name()).into();
                vec!["leave out ".into(), opt::COUNTS.into(), ", or ".into(), hash]
            }
            Refusal::SizeOfGrowing => {
                let not = " for one that does not grow".into();
                vec!["give ".into(), opt::FPR.into(), ", or ".into(), keys.into(), not]
            }
            Refusal::TotalOfGroups => {
                vec!["size by ".into(), opt::FPR.into(), " or ".into(), opt::BITS_PER_KEY.into()]
            }
            Refusal::KeysUnknown(_) => {
                let (params, grows) = (opt::PARAMS.with("FILE").into(), opt::KIND.with("scalable").into());
                let or_grow = ", or let it grow (".into();
                vec!["give ".into(), keys.into(), " or ".into(), params, or_grow, grows, ")".into()]
            }
            Refusal::NothingAsked(option) => return vec![Help::leave_out(*option)],
            Refusal::Needs(one, _) => return vec![Help::leave_out(*one)],
            Refusal::Window(why) => return why.help(),
            Refusal::StdinTwice | Refusal::NoTime => return Vec::new(),
        };
        vec![Help::Clause(clause)]
    }
}

/// What should be known of a stream that was asked for, before it runs.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// A secret of Kafka that stands among the options.
    Secret(String),
    /// Filters that grow, because they cannot be rebuilt.
    GrowsInstead,
    /// A list of frequent keys that a stream does not keep.
    ListDropped(PathBuf),
    /// The number of keys that a window is planned for, where nothing was said.
    PlannedKeys {
        /// The keys.
        keys: u64,
        /// Whether each group has as many.
        grouped: bool,
    },
    /// Keys of other columns than the file will name.
    OtherColumns(OtherColumns),
}

impl Note {
    /// Whether it should not be missed.
    pub fn is_warning(&self) -> bool {
        !matches!(self, Note::GrowsInstead | Note::PlannedKeys { .. })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&refusal::Refusal::reason(self, &Fields))
    }
}

impl std::error::Error for Note {}

impl refusal::Refusal for Note {
    fn reason(&self, voice: &dyn Voice) -> String {
        match self {
            Note::Secret(name) => format!(
                "{name} is visible to others here: put it into {}",
                voice.with(opt::KAFKA_CONFIG, "FILE")
            ),
            Note::GrowsInstead => format!(
                "this stream cannot be read again from its beginning, so the filters grow instead ({})",
                voice.with(opt::KIND, "scalable")
            ),
            Note::ListDropped(path) => format!(
                "{}: its list of frequent keys is dropped: a stream does not keep one",
                path.display()
            ),
            Note::PlannedKeys { keys, grouped } => format!(
                "a window is planned for {} distinct keys{}; {} changes it",
                number::count(*keys),
                if *grouped { " in each group" } else { "" },
                voice.with(opt::KEYS, "N")
            ),
            Note::OtherColumns(other) => other.to_string(),
        }
    }
}
