//! One way to ask filters about many keys.
//!
//! A job opens its filters once ([`Filters`]: those of a file, or sketches that are still learning; with
//! a second file of removed keys where there is one). Each thread then asks them about a
//! [batch of keys](tamis_make::batch::KeyBatch) after the other, in memory of its own ([`Answers`]):
//!
//! | question | door |
//! |---|---|
//! | which keys may be in this group? | [`Answers::one`] |
//! | which may be in any of these groups? | [`Answers::any`] |
//! | which may be in the group that their own row names? | [`Answers::own`] |
//! | which keys may be in which groups? | [`Answers::groups`] |
//! | how many of the keys pass each filter? | [`Answers::count`] |
//! | what does each key count for at most? | [`Answers::estimates`] |
//!
//! Only this module knows which kind of sketch is placed by a hash, by murmur3, by its bytes or by keywords. Many keys
//! go through one filter at a time, so that it can ask for memory ahead of its use; what all filters of a
//! size share (masks, positions) is made once for all of them.
//!
//! Filters of records in layers are asked for whole records, or for the keywords alone ([`Extent`]). Which of
//! the two is said when they are opened, and holds for every door.
//!
//! A key that is in the set is always found. With removed keys, one that was not removed may be taken for
//! one that was, at the rate of the second file.

mod answers;
mod extent;
mod filters;
#[cfg(test)]
mod tests;
mod tile;

pub use self::answers::Answers;
pub use self::extent::{Extent, NoLayers};
pub use self::filters::Filters;
pub use self::tile::TILE;
