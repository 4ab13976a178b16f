//! Single keys against all groups.

use tamis::key::{BadValue, Maker, Recipe, Step};
use tamis::layered::Answer;
use tamis::params::Name;
use tamis_read::error::Result;

use crate::ask::{Answers, Filters};
use crate::removed_keys::RemovedKeys;
use tamis_make::batch::{Keeps, KeyBatch};
use tamis_make::count_min::Promise;
use tamis_make::output::Mapped;
use tamis_make::rows::{Key, Take};

/// Answers which groups a key may be in.
#[derive(Debug)]
pub struct Asker<'f> {
    file: &'f Mapped,
    filters: Filters<'f>,
    maker: Maker<'f>,
    /// For keywords of a JSON list that are given as people write them: separated by commas.
    listed: Option<Recipe>,
    /// Groups in the order for people.
    order: Vec<usize>,
}

impl<'f> Asker<'f> {
    /// Asks this file.
    pub fn new(file: &'f Mapped) -> Result<Self> {
        let groups = &file.params().groups;
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by(|&a, &b| groups[a].group.compare_naturally(&groups[b].group));
        let recipe = &file.params().common.recipe;
        let is_json = |step: &Step| matches!(step, Step::Json(_));
        let listed = recipe.key.iter().any(|field| field.steps.iter().any(is_json)).then(|| {
            let mut listed = recipe.clone();
            let steps = listed.key.iter_mut().flat_map(|field| &mut field.steps);
            steps.filter(|step| is_json(step)).for_each(|step| *step = Step::Split(",".into()));
            listed
        });
        Ok(Asker { file, filters: Filters::of_file(file)?, maker: Maker::new(recipe), listed, order })
    }

    /// Passes over groups from which a key may have been removed.
    pub fn without(self, removed: &'f RemovedKeys) -> Result<Self> {
        Ok(Asker { filters: self.filters.without(removed)?, ..self })
    }

    /// The groups that a key may be in. The parts of a compound key, and the columns of a record's
    /// keywords, are separated by tabs.
    pub fn ask(&mut self, key: &[u8]) -> Result<Vec<&'f Name>, BadValue> {
        Ok(self.ask_records(key)?.whole)
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

    /// The same, with the groups of which a record may begin with these keywords.
    pub fn ask_records(&mut self, key: &[u8]) -> Result<Found<'f>, BadValue> {
        let key = self.batch_of(key)?;
        let groups = &self.file.params().groups;
        let mut found = Found::default();
        for &group in &self.order {
            match self.filters.answer(group, &key, 0) {
                Answer::Whole => found.whole.push(&groups[group].group),
                Answer::Part => found.part.push(&groups[group].group),
                Answer::No => {}
            }
        }
        Ok(found)
    }

    /// A batch of the one key that is given as text.
    pub(crate) fn batch_of(&mut self, key: &[u8]) -> Result<KeyBatch, BadValue> {
        let mut batch = KeyBatch::new(Keeps { needs: self.filters.needs(), ..Keeps::default() });
        self.put(key, &mut batch)?;
        Ok(batch)
    }

    /// Puts a key that is given as text into a batch.
    pub(crate) fn put(&mut self, key: &[u8], batch: &mut KeyBatch) -> Result<(), BadValue> {
        let bytes = &self.bytes_of(key)?[..];
        let hash = self.file.params().common.hash.identity(bytes);
        batch.take(Key { group: 0, hash, bytes, weight: 1 });
        Ok(())
    }

    /// The filters that are asked.
    pub(crate) fn filters(&self) -> &Filters<'f> {
        &self.filters
    }

    /// The numbers of the groups in the order for people.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// The bytes of a key that is given as text.
    fn bytes_of(&mut self, key: &[u8]) -> Result<Vec<u8>, BadValue> {
        let recipe = &self.file.params().common.recipe;
        let mut parts: Vec<Option<&[u8]>> = match recipe.key.len() {
            1 => vec![Some(key)],
            _ => key.split(|&byte| byte == b'\t').map(Some).collect(),
        };
        if recipe.of_keywords() {
            parts.resize(parts.len().max(recipe.key.len()), None); // the last columns may be left out
        }
        let mut by_commas;
        let bytes = match &self.listed {
            Some(listed) if !key.trim_ascii_start().starts_with(b"[") => {
                by_commas = Maker::new(listed);
                by_commas.key(&parts)?
            }
            _ => self.maker.key(&parts)?,
        };
        Ok(bytes.to_vec())
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

/// The groups that a key may be in.
#[derive(Debug, Clone, Default)]
pub struct Found<'f> {
    /// As a whole.
    pub whole: Vec<&'f Name>,
    /// As the first keywords of a record: of these the XOR layer could not be asked.
    pub part: Vec<&'f Name>,
}
