//! A set of 64-bit hashes that is written like a log and put in order now and then.
//!
//! A hash table of millions of keys costs a cache miss and a walk of the page table per key; a
//! log costs neither, and sorting it later is several times cheaper. Sorted, it also leads
//! through a filter from one end to the other.

/// Fresh hashes up to this many are not worth ordering.
const FRESH: usize = 1 << 16;

/// A set of hashes.
#[derive(Debug, Clone, Default)]
pub struct HashLog {
    /// Distinct and ascending up to `sorted`, then in the order of arrival.
    hashes: Vec<u64>,
    sorted: usize,
}

impl HashLog {
    /// Adds a hash; whether it is time to [`settle`](Self::settle).
    #[inline]
    pub fn push(&mut self, hash: u64) -> bool {
        self.hashes.push(hash);
        self.fresh() >= self.sorted.max(FRESH)
    }

    /// Hashes that came since it was last settled.
    pub fn fresh(&self) -> usize {
        self.hashes.len() - self.sorted
    }

    /// Distinct hashes when it was last settled.
    pub fn settled(&self) -> usize {
        self.sorted
    }

    /// Puts all in order, each once.
    pub fn settle(&mut self) {
        if self.fresh() == 0 {
            return;
        }
        let mut fresh = self.hashes.split_off(self.sorted);
        fresh.sort_unstable();
        fresh.dedup();
        fresh.shrink_to_fit(); // many groups with few keys each must not keep room for all their rows
        if self.sorted == 0 {
            self.hashes = fresh;
        } else {
            self.hashes = union(&self.hashes, &fresh);
        }
        self.sorted = self.hashes.len();
    }

    /// Adds all of another, settled both.
    pub fn merge(&mut self, mut other: HashLog) {
        self.settle();
        other.settle();
        self.hashes = if self.hashes.is_empty() { other.hashes } else { union(&self.hashes, &other.hashes) };
        self.sorted = self.hashes.len();
    }

    /// The hashes, ascending, each once.
    pub fn into_hashes(mut self) -> Vec<u64> {
        self.settle();
        self.hashes
    }

    /// The hashes, ascending, each once; settle first.
    pub fn hashes(&self) -> &[u64] {
        debug_assert_eq!(self.fresh(), 0);
        &self.hashes[..self.sorted]
    }
}

/// What is in either of two ascending lists, ascending, each once.
fn union(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        all.push(x.min(y));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    all.extend_from_slice(&a[i..]);
    all.extend_from_slice(&b[j..]);
    all
}
