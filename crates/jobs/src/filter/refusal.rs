//! Why records are not sieved.

use tamis::key::Recipe;
use tamis_read::BadRow;
use tamis_read::refusal::{self, Help, Opt};

use tamis_make::opt;

/// What filters cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The keys beside the filters, and filters of removed keys.
    #[error("the exact keys beside the filters still contain the removed ones")]
    RemovedStrict,
    /// Records that are whole files.
    #[error("a whole file is one record of these filters, and files are not sieved row by row")]
    Documents,
    /// Groups, if there are none.
    #[error("these filters have no groups")]
    NoGroups {
        /// The option that asks for them.
        option: Opt,
    },
    /// A row that is to be written, and cannot be cut into columns.
    #[error("{why}. It is among the records that do not pass, and cannot be written as Parquet")]
    NoColumns {
        /// What is wrong with it.
        why: BadRow,
    },
    /// Inputs that lack the columns of the filters.
    #[error("{why}. The filters were built with ({recipe})")]
    Columns {
        /// What is wrong with the input.
        why: Box<dyn refusal::Refusal>,
        /// How the filters make keys.
        recipe: Box<Recipe>,
    },
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::RemovedStrict => vec![Help::LeaveOutOne(vec![opt::REMOVED, opt::STRICT])],
            Refusal::Documents => vec![Help::Do("search for the documents that have some words")],
            Refusal::NoGroups { option } => vec![Help::leave_out(*option)],
            Refusal::NoColumns { .. } => {
                vec![Help::leave_out(opt::REJECTED), Help::Do("name outputs that are text")]
            }
            Refusal::Columns { .. } => {
                vec![Help::DoWith("name another column for the key", vec![opt::KEY.into()])]
            }
        }
    }
}
