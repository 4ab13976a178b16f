//! Why records are not sieved.

use tamis::key::Recipe;
use tamis_read::refusal::{self, Help, Opt};

use tamis_make::opt;

/// What filters cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The keys beside the filters, and filters of removed keys.
    #[error("the exact keys beside the filters still contain the removed ones")]
    RemovedStrict,
    /// Groups, if there are none.
    #[error("these filters have no groups")]
    NoGroups {
        /// The option that asks for them.
        option: Opt,
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
            Refusal::NoGroups { option } => vec![Help::leave_out(*option)],
            Refusal::Columns { .. } => {
                vec![Help::DoWith("name another column for the key", vec![opt::KEY.into()])]
            }
        }
    }
}
