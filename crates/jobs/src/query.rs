//! Single keys against all groups.

use tamis::key::BadValue;
use tamis::layered::Answer;
use tamis::params::Name;
use tamis::sizing::Kind;
use tamis_read::error::Result;

use crate::ask::{Answers, Extent, Filters, NoLayers};
use crate::removed_keys::RemovedKeys;
use tamis_make::batch::{Keeps, KeyBatch};
use tamis_make::count_min::Promise;
use tamis_make::files::Mapped;
use tamis_make::rows::{Key, Take};

/// Answers which groups a key may be in.
#[derive(Debug)]
pub struct Asker<'f> {
    file: &'f Mapped,
    filters: Filters<'f>,
    /// Groups in the order for people.
    order: Vec<usize>,
}

impl<'f> Asker<'f> {
    /// Asks this file.
    pub fn new(file: &'f Mapped) -> Result<Self> {
        Ok(Asker { file, filters: Filters::of_file(file)?, order: file.params().natural_order() })
    }

    /// Passes over groups from which a key may have been removed.
    pub fn without(self, removed: &'f RemovedKeys) -> Result<Self> {
        Ok(Asker { filters: self.filters.without(removed)?, ..self })
    }

    /// Asks for this much of records.
    pub fn asked_for(self, extent: Extent) -> Result<Self, NoLayers> {
        extent.check(self.file.params().common.kind)?;
        Ok(Asker { filters: self.filters.asked_for(extent), ..self })
    }

    /// The groups that a key may be in. The parts of a compound key, and the columns of a record's
    /// keywords, are separated by tabs.
    pub fn ask(&mut self, key: &[u8]) -> Result<Vec<&'f Name>, BadValue> {
        Ok(self.ask_records(key)?.groups)
    }

    /// How often a key came, in all groups, by sketches that count; none of filters.
    pub fn ask_counts(&mut self, key: &[u8]) -> Result<Vec<Count<'f>>, BadValue> {
        let key = self.batch_of(key)?;
        let (params, mut answers, mut estimate) = (self.file.params(), Answers::default(), [0]);
        let mut counts = Vec::new();
        for &at in &self.order {
            if let Some(sketch) = self.filters.counter(at) {
                answers.estimates(&self.filters, &key, at, &mut estimate);
                let ([estimate], group) = (estimate, &params.groups[at]);
                counts.push(Count {
                    group: &group.group,
                    estimate,
                    full: sketch.is_full(estimate),
                    promise: Promise::of(group, sketch.total()),
                });
            }
        }
        Ok(counts)
    }

    /// The same, with what else is to be said of a record of keywords.
    pub fn ask_records(&mut self, key: &[u8]) -> Result<Found<'f>, BadValue> {
        let key = self.batch_of(key)?;
        let groups = &self.file.params().groups;
        let has = |group: &&usize| self.filters.has(**group, &key, 0);
        let found: Vec<&Name> = self.order.iter().filter(has).map(|&at| &groups[at].group).collect();
        let in_layers = |&group: &usize| self.filters.answer(group, &key, 0) == Answer::Part;
        Ok(Found {
            only_partial: found.is_empty() && self.order.iter().any(in_layers),
            layers_asked: match self.filters.extent() {
                Extent::Record => 0,
                Extent::Partial => self.layers().min(key.keywords(0).len() as u32),
            },
            groups: found,
        })
    }

    /// The layers of the filters, without the XOR layer; 0 where there are none.
    pub fn layers(&self) -> u32 {
        let params = self.file.params();
        match params.common.kind {
            Kind::Layered => params.groups.iter().map(|group| group.shape.layers()).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// A batch of the one key that is given as text.
    fn batch_of(&mut self, key: &[u8]) -> Result<KeyBatch, BadValue> {
        let mut batch = self.batch();
        self.put(&self.file.params().common.recipe.key_of_cells(key)?, &mut batch);
        Ok(batch)
    }

    /// An empty batch of keys for these filters.
    pub(crate) fn batch(&self) -> KeyBatch {
        KeyBatch::new(Keeps { needs: self.filters.needs(), ..Keeps::default() })
    }

    /// Puts a key into a batch, by its bytes.
    pub(crate) fn put(&self, bytes: &[u8], batch: &mut KeyBatch) {
        let hash = self.file.params().common.hash.identity(bytes);
        batch.take(Key { group: 0, hash, bytes, weight: 1 });
    }

    /// The filters that are asked.
    pub(crate) fn filters(&self) -> &Filters<'f> {
        &self.filters
    }

    /// The numbers of the groups in the order for people.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }
}

/// How often a key came in a group.
#[derive(Debug, Clone, Copy)]
pub struct Count<'f> {
    /// The group.
    pub group: &'f Name,
    /// The smallest of its counters: never below the truth, unless they ran full.
    pub estimate: u64,
    /// Whether they did: this is no estimate then, and the truth may be anything up to the total.
    pub full: bool,
    /// What is promised of it.
    pub promise: Promise,
}

/// The groups that a key may be in, and how they were asked.
#[derive(Debug, Clone, Default)]
pub struct Found<'f> {
    /// The groups.
    pub groups: Vec<&'f Name>,
    /// A record that is in no group, while each of its keywords may be at its place in one: it would be
    /// found if it were asked partially.
    pub only_partial: bool,
    /// How many layers were asked, from the first, in place of all and the XOR layer; 0 where the whole
    /// record was.
    pub layers_asked: u32,
}
