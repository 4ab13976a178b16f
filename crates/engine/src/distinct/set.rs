//! A set of 64-bit hashes.

/// A set of hashes: open addressing by their highest bits, so that walking it goes through them
/// nearly in order, and what is built from it is written nearly in sequence.
#[derive(Debug, Clone, Default)]
pub struct HashSet64 {
    /// A power of two of slots, or none; 0 is an empty slot.
    slots: Vec<u64>,
    len: usize,
    zero: bool,
}

impl HashSet64 {
    /// The number of hashes.
    pub fn len(&self) -> usize {
        self.len + usize::from(self.zero)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a hash; whether it is new.
    #[inline]
    pub fn insert(&mut self, hash: u64) -> bool {
        if hash == 0 {
            return !std::mem::replace(&mut self.zero, true);
        }
        if self.len * 8 >= self.slots.len() * 5 {
            self.grow();
        }
        let new = place(&mut self.slots, hash);
        self.len += usize::from(new);
        new
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots = vec![0; (self.slots.len() * 2).max(16)];
        for &hash in self.slots.iter().filter(|&&hash| hash != 0) {
            place(&mut slots, hash);
        }
        self.slots = slots;
    }

    /// The hashes, each once.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.zero.then_some(0).into_iter().chain(self.slots.iter().copied().filter(|&hash| hash != 0))
    }
}

#[inline(always)]
fn place(slots: &mut [u64], hash: u64) -> bool {
    let mask = slots.len() - 1;
    let mut at = (hash >> (64 - slots.len().trailing_zeros())) as usize;
    loop {
        let slot = &mut slots[at & mask];
        if *slot == hash {
            return false;
        }
        if *slot == 0 {
            *slot = hash;
            return true;
        }
        at += 1;
    }
}
