//! Why records are not freed of repetitions.

use tamis::hash::Scheme;
use tamis::sizing::Kind;
use tamis_read::refusal::{self, Help};

use super::state::VERSION;
use tamis_make::opt;

/// What a job asks for that does not go together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The keys themselves, and a state.
    #[error("exact keys are kept for one run only, and a state is for later runs")]
    StrictState,
    /// The keys themselves, and a fixed size.
    #[error("the keys themselves take as much room as they need, and no size can be given")]
    StrictSize,
    /// An input that is read twice is another one the second time.
    #[error("was changed while it was read, and it is read twice")]
    Changed,
    /// No key fits in.
    #[error("{} cannot hold a key at this rate", tamis_make::number::bytes(*bytes))]
    NoRoom {
        /// The size that was given.
        bytes: u64,
    },
    /// An output that cannot be continued.
    #[error("with a state the output is continued where it ended, which compressed files cannot be")]
    Packed,
    /// The same of Parquet.
    #[error("with a state the output is continued where it ended, which Parquet files cannot be")]
    Table,
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::StrictState => vec![Help::LeaveOutOne(vec![opt::STATE, opt::STRICT])],
            Refusal::StrictSize => vec![
                Help::leave_out(opt::SIZE),
                Help::DoWith("bound the memory of the job", vec![opt::MEMORY.with("SIZE")]),
            ],
            Refusal::Changed => vec![Help::Do("run it again when nobody writes to it, or on a copy")],
            Refusal::NoRoom { .. } => vec![Help::give_more(opt::SIZE)],
            Refusal::Packed => vec![Help::Do("name an output that is not compressed")],
            Refusal::Table => vec![Help::Do("name an output that is text"), Help::leave_out(opt::STATE)],
        }
    }
}

/// Why a file is not the state of this job.
#[derive(Debug, thiserror::Error)]
pub enum StateRefusal {
    /// It, or what it remembers, lies elsewhere.
    #[error("a state remembers how far files of this machine were read and written, and this lies elsewhere")]
    Elsewhere,
    /// It has groups.
    #[error("has groups, and a state of dedup remembers one set")]
    Groups,
    /// Its positions cannot be made from hashes.
    #[error("was made with {}, whose positions need the keys themselves", .0.name())]
    ByBytes(Scheme),
    /// A kind to which keys are not added one by one.
    #[error("a {kind} filter takes no keys one by one")]
    Kind {
        /// The kind.
        kind: Kind,
    },
    /// Its journal is of another job.
    #[error("its journal is not one of dedup ({error})")]
    Journal {
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// Its journal is of a later program.
    #[error("its journal has version {found}, and this program reads versions 1 and {VERSION}")]
    Version {
        /// Its version.
        found: u64,
    },
    /// Its keys are those of other columns.
    #[error("remembers keys of {}, not of {}", stored.join(" and "), asked.join(" and "))]
    Key {
        /// Its own columns, with their steps.
        stored: Vec<String>,
        /// Those that were asked for.
        asked: Vec<String>,
    },
    /// It hashes keys in another way.
    #[error("hashes keys with {stored}, not with {asked}")]
    Hash {
        /// Its own way.
        stored: Scheme,
        /// The one that was asked for.
        asked: Scheme,
    },
    /// It keeps another rate.
    #[error("keeps a rate of {stored}, not of {asked}")]
    Rate {
        /// Its own.
        stored: f64,
        /// The one that was asked for.
        asked: f64,
    },
    /// It has another size.
    #[error("has a size of {}, not of {}", tamis_make::number::bytes(*stored), tamis_make::number::bytes(*asked))]
    Size {
        /// Its own.
        stored: u64,
        /// The one that was asked for.
        asked: u64,
    },
}

impl refusal::Refusal for StateRefusal {
    fn help(&self) -> Vec<Help> {
        let other = Help::Do("name another state");
        match self {
            StateRefusal::Elsewhere => vec![Help::leave_out(opt::STATE), Help::Do("bring it here first")],
            StateRefusal::Groups | StateRefusal::ByBytes(_) | StateRefusal::Journal { .. } => vec![other],
            StateRefusal::Kind { .. } => vec![Help::Do("name a state of dedup or a blocked filter")],
            StateRefusal::Version { .. } => {
                vec![Help::Do("continue it with the program that made it"), other]
            }
            StateRefusal::Key { .. } => vec![Help::leave_out(opt::KEY), other],
            StateRefusal::Hash { asked: Scheme::Xxh3 { .. }, .. } => vec![Help::leave_out(opt::SEED), other],
            StateRefusal::Hash { .. } => vec![Help::leave_out(opt::HASH), other],
            StateRefusal::Rate { .. } => vec![Help::leave_out(opt::FPR), other],
            StateRefusal::Size { .. } => vec![Help::leave_out(opt::SIZE), other],
        }
    }
}

/// Why an output cannot be continued with a state that remembers the keys of its records.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutputRefusal {
    /// It lacks something that was written.
    #[error(
        "{}, and the state remembers the keys of {} that were written to it",
        found.map_or("is gone".into(), |found| format!("has {}", tamis_make::number::counted(found, "byte"))),
        tamis_make::number::counted(*length, "byte")
    )]
    Shortened {
        /// How long it was.
        length: u64,
        /// How long it is, if it is there.
        found: Option<u64>,
    },
    /// It begins with something else.
    #[error("was changed since, and the state remembers the keys of what was written to it")]
    Other,
    /// Something was appended to it.
    #[error("has {} more than the state has written to it", tamis_make::number::counted(*bytes, "byte"))]
    Longer {
        /// How many more.
        bytes: u64,
    },
    /// It was never the output of this state.
    #[error("is there already, and the state, which remembers keys, has not written it")]
    Unknown,
    /// It is a table with other columns.
    #[error("begins with another header than these inputs have")]
    Columns,
    /// It is an output of the state, which a run that only counts does not continue.
    #[error("belongs to the state, and a run that only counts would replace it")]
    OnlyCounted,
}

impl refusal::Refusal for OutputRefusal {
    fn help(&self) -> Vec<Help> {
        let other = Help::Do("name another output for what is new");
        match self {
            OutputRefusal::Shortened { .. } | OutputRefusal::Other => {
                vec![Help::Do("put it back"), other, Help::Do("remove the state to start again")]
            }
            OutputRefusal::Longer { .. } => {
                vec![
                    Help::Do("take them off again"),
                    Help::Do("move it away and put back what was written"),
                    other,
                ]
            }
            OutputRefusal::Unknown => vec![Help::Do("move it away"), other],
            OutputRefusal::Columns => vec![other],
            OutputRefusal::OnlyCounted => vec![Help::Do("name another file")],
        }
    }
}
