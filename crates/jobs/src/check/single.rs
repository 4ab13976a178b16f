//! Records of which each has a key of its own, in few groups: as most tables have them. They need not be put in order.

use tamis_make::alone;

use super::gather::Record;

/// Records of each group, on average, with which it is worth it to put them together.
const MANY: usize = 64;

/// The first bits of hashes, which are the same in all records of a part.
const DONE: u32 = 8;

/// Whether no two records have the same hash, as far as it shows soon: that they do not is certain.
pub(super) fn each_is_alone(records: &[Record], table: &mut Vec<u32>) -> bool {
    let hashes = records.iter().map(|record| (record.hash << DONE, record.hash as u32));
    alone::each_is_alone(records.len(), hashes, table)
}

/// The hashes of each group, one after the other.
#[derive(Debug, Default)]
pub(super) struct ByGroup {
    hashes: Vec<u64>,
    /// Where those of each group end.
    ends: Vec<usize>,
}

impl ByGroup {
    /// Sorts records by their groups; false where these have too few of them.
    pub(super) fn sort(&mut self, records: &[Record]) -> bool {
        let most = records.len() / MANY;
        self.ends.clear();
        for record in records {
            let group = record.group as usize;
            if group >= self.ends.len() {
                if group >= most {
                    return false;
                }
                self.ends.resize(group + 1, 0);
            }
            self.ends[group] += 1;
        }
        let mut before = 0;
        for end in &mut self.ends {
            // Until its hashes are there, the end of a group is its beginning.
            before += std::mem::replace(end, before);
        }
        self.hashes.resize(records.len(), 0);
        for record in records {
            let end = &mut self.ends[record.group as usize];
            self.hashes[*end] = record.hash;
            *end += 1;
        }
        true
    }

    /// The groups that have records, and the hashes of each.
    pub(super) fn each(&self) -> impl Iterator<Item = (usize, &[u64])> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let groups = begins.zip(&self.ends).map(|(begin, &end)| &self.hashes[begin..end]);
        groups.enumerate().filter(|(_, hashes)| !hashes.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn groups_have_their_hashes(groups in prop::collection::vec(0..4u32, 0..2000)) {
            let record = |(hash, &group): (usize, &u32)| Record { hash: hash as u64, group, slot: 0 };
            let records: Vec<Record> = groups.iter().enumerate().map(record).collect();
            let mut sorted = ByGroup::default();
            let most = groups.iter().max().map_or(0, |group| *group as usize + 1);
            prop_assert_eq!(sorted.sort(&records), most <= groups.len() / MANY);
            if most <= groups.len() / MANY {
                for (group, hashes) in sorted.each() {
                    let of_group = records.iter().filter(|record| record.group as usize == group);
                    prop_assert_eq!(hashes, of_group.map(|record| record.hash).collect::<Vec<_>>());
                }
                prop_assert_eq!(sorted.each().map(|(_, hashes)| hashes.len()).sum::<usize>(), groups.len());
            }
        }
    }
}
