//! Single keys against all groups.

use tamis::hash::{Scheme, murmur3};
use tamis::key::{BadValue, Maker};
use tamis::params::Name;
use tamis::sketch::Sketch;

use crate::error::Result;
use crate::output::Mapped;

/// Answers which groups a key may be in.
#[derive(Debug)]
pub struct Asker<'f> {
    file: &'f Mapped,
    sketches: Vec<Sketch<&'f [u64]>>,
    maker: Maker<'f>,
    /// Groups in the order for people.
    order: Vec<usize>,
}

impl<'f> Asker<'f> {
    /// Asks this file.
    pub fn new(file: &'f Mapped) -> Result<Self> {
        let groups = &file.params().groups;
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by(|&a, &b| groups[a].group.compare_naturally(&groups[b].group));
        Ok(Asker { file, sketches: file.sketches()?, maker: Maker::new(&file.params().common.recipe), order })
    }

    /// The groups that a key may be in. The parts of a compound key are separated by tabs.
    pub fn ask(&mut self, key: &[u8]) -> Result<Vec<&'f Name>, BadValue> {
        let params = self.file.params();
        let parts: Vec<Option<&[u8]>> = match params.common.recipe.key.len() {
            1 => vec![Some(key)],
            _ => key.split(|&byte| byte == b'\t').map(Some).collect(),
        };
        let bytes = self.maker.key(&parts)?;
        let hash = params.common.hash.identity(bytes);
        let has = |group: usize| match (&self.sketches[group], params.common.hash) {
            (Sketch::Bloom(filter), Scheme::Murmur3) => {
                let lanes: Vec<u32> = (0..filter.hashes()).map(|seed| murmur3(bytes, seed)).collect();
                filter.contains_lanes(&lanes)
            }
            (sketch, _) => sketch.contains_hash(hash),
        };
        Ok(self.order.iter().filter(|&&group| has(group)).map(|&group| &params.groups[group].group).collect())
    }
}
