//! Several files of filters at once, each with its own hash and its own keys: a record passes if one of them may have it.

use std::path::PathBuf;

use tamis::hash::Scheme;
use tamis::key::{Column, Recipe};
use tamis::params::Name;
use tamis::sizing::Kind;
use tamis_make::batch::{Keeps, KeyBatch};
use tamis_make::count_min;
use tamis_make::files::Mapped;
use tamis_make::foreign::{self, Said};
use tamis_make::rows::{Groups, KeyRows, OnBad};
use tamis_read::error::{Error, Result};

use super::{Refusal, expected};
use crate::ask::Filters;

/// A file that is asked besides the first.
#[derive(Debug, Clone)]
pub struct Also {
    /// What it is called.
    pub name: Name,
    /// Where it is.
    pub path: PathBuf,
    /// What is said of it, if it is of another system.
    pub said: Said,
    /// Its recipe, with the columns of the inputs.
    pub recipe: Recipe,
}

impl Also {
    /// Opens it.
    pub(super) fn open(&self) -> Result<Mapped> {
        let (file, _) = foreign::open_to_ask(&self.path, &self.said)?;
        let params = file.params();
        count_min::refuse(&self.path, params, count_min::OfSets::Filter)?;
        match params.common.recipe.record {
            Some(_) => Err(Error::input(&self.path, Refusal::Documents)),
            None => Ok(file),
        }
    }
}

/// The filters of such a file, which all threads share.
#[derive(Debug)]
pub(super) struct Other<'a> {
    also: &'a Also,
    filters: Filters<'a>,
    /// Its groups do not matter, whatever they are.
    recipe: Recipe,
    kind: Kind,
    hash: Scheme,
}

impl<'a> Other<'a> {
    pub(super) fn of(also: &'a Also, file: &'a Mapped) -> Result<Other<'a>> {
        let common = &file.params().common;
        let recipe = Recipe { group: None, ..also.recipe.clone() };
        Ok(Other { also, filters: Filters::of_file(file)?, recipe, kind: common.kind, hash: common.hash })
    }

    /// What it is called.
    pub(super) fn name(&self) -> &'a Name {
        &self.also.name
    }

    /// The columns of its keys.
    pub(super) fn columns(&self) -> Vec<Column> {
        self.recipe.columns()
    }

    pub(super) fn filters(&self) -> &Filters<'a> {
        &self.filters
    }

    /// Makes the keys of rows, in a thread.
    pub(super) fn rows(&self, on_bad: OnBad) -> KeyRows<'_, KeyBatch> {
        let keys = KeyBatch::new(Keeps { needs: self.filters.needs(), ..Keeps::default() });
        KeyRows::new(&self.recipe, self.hash, on_bad, Groups::One(0), keys)
    }

    /// What was found in it.
    pub(super) fn found(&self, admitted: u64, rated: Option<usize>) -> Result<OfFile> {
        let rate = rated.map(|threads| rate(&self.filters, self.kind, threads)).transpose()?.flatten();
        Ok(OfFile {
            name: self.also.name.clone(),
            path: self.also.path.clone(),
            kind: self.kind,
            hash: self.hash,
            admitted,
            rate,
        })
    }
}

/// The rate of the filters of a file, from the bits that are set; what layers let pass is not known.
pub(super) fn rate(filters: &Filters<'_>, kind: Kind, threads: usize) -> Result<Option<f64>> {
    if kind == Kind::Layered {
        return Ok(None);
    }
    let groups: Vec<usize> = (0..filters.len()).collect();
    let (rates, _) = expected::rates(filters, &groups, threads)?;
    Ok(Some(expected::of_any(filters, &groups, &rates).value))
}

/// What was found in one of several files.
#[derive(Debug, Clone)]
pub struct OfFile {
    /// What it is called.
    pub name: Name,
    /// Where it is.
    pub path: PathBuf,
    /// The kind of its filters.
    pub kind: Kind,
    /// Their hash.
    pub hash: Scheme,
    /// Records whose key may be in it.
    pub admitted: u64,
    /// Its rate of false positives; none where nobody will see it, or it is not known.
    pub rate: Option<f64>,
}
