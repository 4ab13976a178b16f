//! One sketch of one set of plain keys, to and from the bytes of a file: what a [`Filter`](crate::Filter)
//! and a [`Counter`](crate::Counter) share.

use std::borrow::Cow;
use std::io::Write;
use std::ops::Deref;

use crate::about::About;
use crate::error::{Error, NotOneSet, Result};
use crate::format::{self, Beside, Container, Extras, Tally};
use crate::hash::Scheme;
use crate::key::{Field, Recipe};
use crate::memory::Words;
use crate::params::{Common, Goal, GroupParams, Name, Params};
use crate::sizing::{Kind, Shape};

/// Parameters of one set whose keys are made of this field.
pub(crate) fn params(kind: Kind, hash: Scheme, key: Field, goal: Goal, shape: Shape) -> Result<Params> {
    let recipe = Recipe { key: vec![key], ..Recipe::lines() };
    recipe.takes_any_value()?;
    hash.hashes_keys()?;
    let group = GroupParams { group: Name::default(), goal, shape };
    Params::new(Common { kind, hash, recipe }, vec![group])
}

/// The key of a value. Recipes were [checked](Recipe::takes_any_value): every value has one.
#[inline]
pub(crate) fn key<'v>(recipe: &'v Recipe, value: &'v [u8]) -> Cow<'v, [u8]> {
    if recipe.is_plain() && recipe.null.is_none() {
        return Cow::Borrowed(value);
    }
    recipe.key_of_value(value).unwrap_or(Cow::Borrowed(value))
}

/// A sketch as it lies in memory, and what its directory entry needs besides.
pub(crate) struct Stored<'s> {
    pub params: &'s Params,
    pub words: &'s [u64],
    pub rows: u64,
    pub beside: Beside,
    pub about: &'s About,
}

impl Stored<'_> {
    /// Writes the file of this sketch.
    pub(crate) fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let shape = &self.params.groups[0].shape;
        let tally = format::seal(shape, self.words, self.rows, self.beside);
        format::write(
            out,
            self.params,
            &[tally],
            self.words,
            Extras { about: Some(self.about), ..Extras::default() },
        )
    }

    /// The bytes of the file of this sketch.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes).expect("what is written was checked, and memory takes all");
        bytes
    }

    /// Writes the file of this sketch under this name, whole or not at all.
    #[cfg(feature = "file")]
    pub(crate) fn save(&self, path: &std::path::Path) -> Result<()> {
        Ok(crate::whole::write(path, |mut out| self.write(&mut out))?)
    }
}

/// What is recorded about the file of two that are merged.
///
/// # Errors
/// Where a file does not take it: two of nearly the most may have more classes of values together.
pub(crate) fn merged_about(one: &About, other: &About) -> Result<About> {
    let (merged, _) = About::merged([one, other]);
    merged.encode().map(|_| merged)
}

/// The one sketch of a file, verified and copied.
pub(crate) struct Taken {
    pub params: Params,
    pub tally: Tally,
    pub words: Words,
    /// Kept for the file that is made of it.
    pub about: About,
}

/// Takes the one sketch of a file.
pub(crate) fn taken<B: Deref<Target = [u8]>>(file: &Container<B>) -> Result<Taken> {
    let params = file.params();
    if params.common.recipe.group.is_some() {
        return Err(Error::NotOneSet(NotOneSet::Groups));
    }
    params.common.makes_keys()?;
    params.common.recipe.takes_any_value()?;
    if file.heavy().is_some() || !file.journal().is_empty() {
        return Err(Error::NotOneSet(NotOneSet::More));
    }
    file.verify(0)?;
    let words = Words::copy_of(file.section(0))?;
    Ok(Taken { params: params.clone(), tally: file.tallies()[0], words, about: file.about().clone() })
}

/// A container of these bytes, which need not begin at a word.
pub(crate) fn container(bytes: &[u8]) -> Result<Container<Aligned>> {
    let mut words = Words::new(bytes.len().div_ceil(8))?;
    bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
    Container::open(Aligned { words, len: bytes.len() })
}

/// Bytes that begin at a word.
#[derive(Debug)]
pub(crate) struct Aligned {
    words: Words,
    len: usize,
}

impl Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }
}
