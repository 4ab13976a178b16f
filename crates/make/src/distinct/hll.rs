//! HyperLogLog: the number of distinct hashes in 16 KiB.
//!
//! Registers of the usual kind; the estimate is Ertl's improved raw one, which needs no
//! correction at either end. Merging takes the larger of each two registers.
//!
//! Flajolet et al., *HyperLogLog* (2007); Ertl, *New cardinality estimation algorithms for
//! HyperLogLog sketches* (2017).

const BITS: u32 = 14;
/// The registers of an estimator.
pub(crate) const REGISTERS: usize = 1 << BITS;
/// Ranks go from 0 (untouched) to this.
pub(crate) const LAST: usize = (64 - BITS + 1) as usize;

/// The register that a hash belongs to.
#[inline]
pub(crate) fn register(hash: u64) -> usize {
    (hash >> (64 - BITS)) as usize
}

/// The rank of a hash in its register.
#[inline]
pub(crate) fn rank(hash: u64) -> u8 {
    // The set bit keeps the count of zeros within the bits that are left.
    (hash << BITS | 1 << (BITS - 1)).leading_zeros() as u8 + 1
}

/// An estimator of the number of distinct hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hll {
    registers: Box<[u8; REGISTERS]>,
}

impl Default for Hll {
    fn default() -> Self {
        Hll { registers: Box::new([0; REGISTERS]) }
    }
}

impl Hll {
    /// The relative standard error of the estimate.
    pub const STANDARD_ERROR: f64 = 1.04 / 128.0;

    /// Sees a hash.
    #[inline]
    pub fn insert(&mut self, hash: u64) {
        let register = &mut self.registers[register(hash)];
        *register = (*register).max(rank(hash));
    }

    /// Sees all that the other has seen.
    pub fn merge(&mut self, other: &Hll) {
        for (mine, theirs) in self.registers.iter_mut().zip(other.registers.iter()) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// The registers that the hashes of one of `parts` equal ranges of hashes belong to, and the first
    /// of them. The number of parts is a power of two, and no greater than that of the registers.
    pub(super) fn window(&self, part: usize, parts: usize) -> (usize, &[u8]) {
        let len = REGISTERS / parts;
        (part * len, &self.registers[part * len..][..len])
    }

    /// Sees what registers from this one on have seen; false where there are no such registers.
    pub(super) fn merge_window(&mut self, first: usize, ranks: &[u8]) -> bool {
        let mine = first.checked_add(ranks.len()).and_then(|end| self.registers.get_mut(first..end));
        match mine {
            Some(mine) if ranks.iter().all(|&rank| usize::from(rank) <= LAST) => {
                mine.iter_mut().zip(ranks).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
                true
            }
            _ => false,
        }
    }

    /// How many distinct hashes it has seen, about.
    pub fn estimate(&self) -> f64 {
        Hll::estimate_of(&self.ranks())
    }

    /// How many registers have each rank: all that the estimate depends on.
    pub(super) fn ranks(&self) -> [u32; LAST + 1] {
        let mut counts = [0u32; LAST + 1];
        for &rank in self.registers.iter() {
            counts[usize::from(rank)] += 1;
        }
        counts
    }

    /// The keys to plan for: the estimate and three standard errors.
    pub(crate) fn planned(ranks: &[u32; LAST + 1]) -> u64 {
        (Hll::estimate_of(ranks) * Hll::MARGIN).ceil() as u64
    }

    /// By what an estimate is multiplied to plan for it.
    const MARGIN: f64 = 1.0 + 3.0 * Hll::STANDARD_ERROR;

    /// Whether this many keys to plan for can come of this many: their estimate is at most six standard errors
    /// too high. With hashes that nobody chose, one estimate in a billion is not.
    ///
    /// One key for each register can raise an estimate without limit, where the hash is known: a register holds
    /// the longest run of zeros, and a key with 50 of them is as easily made as any other.
    pub(crate) fn is_plausible(planned: u64, of: u64) -> bool {
        let highest = of as f64 * (1.0 + 6.0 * Hll::STANDARD_ERROR) * Hll::MARGIN;
        planned as f64 <= highest.ceil()
    }

    fn estimate_of(counts: &[u32; LAST + 1]) -> f64 {
        let m = REGISTERS as f64;
        let mut z = m * tau(1.0 - f64::from(counts[LAST]) / m);
        for rank in (1..LAST).rev() {
            z = 0.5 * (z + f64::from(counts[rank]));
        }
        z += m * sigma(f64::from(counts[0]) / m);
        m * m / (2.0 * std::f64::consts::LN_2 * z)
    }
}

fn sigma(x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut x, mut y, mut sum) = (x, 1.0, x);
    loop {
        x *= x;
        let before = sum;
        sum += x * y;
        y += y;
        if sum == before {
            return sum;
        }
    }
}

fn tau(x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut x, mut y, mut sum) = (x, 1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = sum;
        y *= 0.5;
        sum -= (1.0 - x) * (1.0 - x) * y;
        if sum == before {
            return sum / 3.0;
        }
    }
}
