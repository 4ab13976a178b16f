//! What two sketches do not share, and would have to, to be merged or compared.

#[cfg(feature = "serde")]
use alloc::boxed::Box;
use core::fmt;

use crate::countmin::Update;
use crate::hash::Scheme;
#[cfg(feature = "serde")]
use crate::key::Recipe;
#[cfg(feature = "serde")]
use crate::params::{Goal, GroupParams};
use crate::sizing::{Kind, Shape};

/// The first difference between two sketches, or two files of them: of one, and of the other.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// Their kinds.
    Kinds([Kind; 2]),
    /// How they hash keys.
    Hashes([Scheme; 2]),
    /// How keys are made.
    #[cfg(feature = "serde")]
    Recipes(Box<[Recipe; 2]>),
    /// The bits of their counters.
    CounterBits([u32; 2]),
    /// The parameters of a group that both have.
    #[cfg(feature = "serde")]
    Groups(Box<[GroupParams; 2]>),
    /// The blocks and hashes of two `counting`.
    Blocks([(u64, u32); 2]),
    /// The shapes and updates of two `count-min`.
    Counters([(Shape, Update); 2]),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Kinds([one, other]) => write!(f, "one is {one}, the other {other}"),
            Difference::Hashes([one, other]) => write!(f, "one hashes with {one}, the other with {other}"),
            #[cfg(feature = "serde")]
            Difference::Recipes(both) => {
                write!(f, "one has the recipe ({}), the other ({})", both[0], both[1])
            }
            Difference::CounterBits([one, other]) => {
                write!(f, "one has counters of {one} bits, the other of {other}")
            }
            #[cfg(feature = "serde")]
            Difference::Groups(both) => {
                if !both[0].group.0.is_empty() {
                    write!(f, "group {}: ", both[0].group)?;
                }
                f.write_str("one has ")?;
                planned(&both[0], f)?;
                f.write_str(", the other ")?;
                planned(&both[1], f)
            }
            Difference::Blocks([(blocks, hashes), (others, other_hashes)]) => write!(
                f,
                "one filter has {blocks} blocks and {hashes} hashes, the other {others} and {other_hashes}"
            ),
            Difference::Counters([(one, update), (other, other_update)]) => {
                f.write_str("one sketch has ")?;
                rows(one, f)?;
                write!(f, " ({update:?} update), the other ")?;
                rows(other, f)?;
                write!(f, " ({other_update:?} update)")
            }
        }
    }
}

fn rows(shape: &Shape, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{} rows of {} counters of {} bits", shape.hashes(), shape.row(), shape.width())
}

#[cfg(feature = "serde")]
fn planned(group: &GroupParams, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match group.goal {
        Goal::Error { epsilon } => {
            rows(&group.shape, f)?;
            write!(f, " (epsilon {epsilon})")
        }
        Goal::Rate { keys, fpr } => {
            let (bits, hashes) = (group.shape.bits(), group.shape.hashes());
            write!(f, "{bits} bits and {hashes} hashes for {keys} keys at {fpr}")
        }
    }
}
