//! What is asked of a filter of records.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tamis::key::{Column, Field, Recipe};
use tamis::params::Name;
use tamis_read::Format;
use tamis_read::parquet::Codec;

use super::sizes::chosen;
use super::{NoMore, Reading, Refusal, destination, json, memory, reading, replace_columns, with_steps};
use crate::ask::Extent;
use crate::filter::{Also, Ask, Job};
use tamis_make::destination::Destination;
use tamis_make::foreign::Said;
use tamis_make::{exact, opt, spread};

/// What is asked of a filter of records.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilterJob {
    /// The file of filters.
    pub filters: PathBuf,
    /// Filters of keys that were removed since.
    pub removed: Option<PathBuf>,
    /// Files, globs, folders, `-`.
    pub inputs: Vec<String>,
    /// How they are read.
    #[serde(flatten)]
    pub reading: Reading,
    /// Other columns of the key than those of the file.
    #[serde(with = "json::several")]
    pub key: Vec<Field>,
    /// The group that is asked.
    pub group: Option<Name>,
    /// Whether the record's own group is asked, by this column or (an empty text) the stored one.
    pub own_group: Option<String>,
    /// The name of a column for the groups that a key may be in.
    pub tag: Option<String>,
    /// Whether records are asked for in the layers that their keywords reach, without the XOR layer.
    pub partial: bool,
    /// Whether the others pass.
    pub invert: bool,
    /// Whether records are only counted.
    pub count: bool,
    /// The file for the records that pass; `-` and nothing are standard output.
    pub output: Option<PathBuf>,
    /// Where the others go.
    pub rejected: Option<PathBuf>,
    /// How records are written, where the name of the output does not say it.
    #[serde(with = "reading::format")]
    pub output_format: Option<Format>,
    /// How pages of Parquet are compressed.
    #[serde(with = "reading::codec")]
    pub compression: Option<Codec>,
    /// Whether what passes is checked against the keys themselves.
    pub strict: bool,
    /// The memory for it.
    #[serde(with = "json::in_bytes")]
    pub memory: Option<u64>,
    /// What no field took.
    #[serde(flatten)]
    pub no_more: NoMore,
}

impl FilterJob {
    /// The file for the records that pass.
    pub fn destination(&self) -> Destination {
        destination(self.output.as_deref(), self.count)
    }

    /// The job that follows from it, of a file with this recipe.
    pub fn resolve(&self, stored: &Recipe) -> Result<Job, Refusal> {
        let column = self.own_group.as_deref().filter(|column| !column.is_empty());
        let column: Option<Field> = column.map(str::parse).transpose()?;
        let ask = match (&self.group, &self.own_group) {
            (Some(_), Some(_)) => return Err(Refusal::InPlaceOf(opt::GROUP, opt::OWN_GROUP)),
            (Some(name), None) => Ask::Group(name.clone()),
            (None, Some(_)) => Ask::Own,
            (None, None) => Ask::Any,
        };
        if self.strict && self.removed.is_some() {
            return Err(Refusal::InPlaceOf(opt::STRICT, opt::REMOVED));
        }
        // The keys beside the filters are whole records.
        if self.strict && self.partial {
            return Err(Refusal::InPlaceOf(opt::STRICT, opt::PARTIAL));
        }
        Ok(Job {
            filters: self.filters.clone(),
            said: Said::default(),
            name: Name::default(),
            also: Vec::new(),
            removed: self.removed.clone(),
            inputs: self.inputs.clone(),
            options: self.reading.options(),
            recipe: replace_columns(&with_steps(stored, &self.key)?, &self.key, column.as_ref())?,
            ask,
            extent: Extent::partial_if(self.partial),
            invert: self.invert,
            tag: self.tag.clone(),
            output: self.destination(),
            rejected: self.rejected.clone(),
            format: self.output_format,
            codec: self.compression,
            bad_rows: self.reading.bad_rows()?,
            threads: self.reading.threads()?,
            strict: self.strict.then(|| memory(self.memory, exact::MEMORY)).transpose()?,
        })
    }

    /// A file that is asked besides the first: with the same columns, and its own steps unless they are given. Where
    /// nothing is given, one that names no columns has those of the first.
    pub fn also(
        &self,
        first: &Recipe,
        name: Name,
        path: PathBuf,
        said: Said,
        stored: &Recipe,
    ) -> Result<Also, Refusal> {
        let given = [
            (self.strict, opt::STRICT),
            (self.removed.is_some(), opt::REMOVED),
            (self.partial, opt::PARTIAL),
            (self.group.is_some(), opt::GROUP),
            (self.own_group.is_some(), opt::OWN_GROUP),
            (self.reading.bad_rows_to.is_some(), opt::BAD_ROWS_TO),
        ];
        if let Some(other) = chosen(&given).first() {
            return Err(Refusal::InPlaceOf(opt::ALSO, *other));
        }
        let nameless = stored.key.iter().all(|field| field.column == Column::Line);
        let columns: Vec<Field>;
        let key = if self.key.is_empty() && nameless {
            columns = first
                .key
                .iter()
                .map(|field| Field { column: field.column.clone(), steps: Vec::new() })
                .collect();
            &columns
        } else {
            &self.key
        };
        let recipe = replace_columns(&with_steps(stored, key)?, key, None)?;
        Ok(Also { name, path, said, recipe })
    }

    /// Refuses what works on one machine only.
    pub fn refuse_spread(&self) -> Result<(), Refusal> {
        let given = chosen(&[
            (self.strict, opt::STRICT),
            (self.own_group.is_some(), opt::OWN_GROUP),
            (self.tag.is_some(), opt::TAG),
            (self.rejected.is_some(), opt::REJECTED),
            (self.removed.is_some(), opt::REMOVED),
            (self.compression.is_some(), opt::COMPRESSION),
        ]);
        if given.contains(&opt::REJECTED) {
            return Err(Refusal::RejectedOnOneMachine(given));
        }
        if !given.is_empty() {
            return Err(spread::Refusal::OneMachine(given).into());
        }
        if !self.count && self.destination() == Destination::Stdout {
            return Err(Refusal::FolderNeeded);
        }
        self.reading.refuse_spread()
    }
}
