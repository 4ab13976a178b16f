//! The sketch itself, over words that it owns or borrows.

use super::counters::{Counter, Placing, Rows, add_one, add_ones, add_weights, estimate, narrow};
use super::params::{self, MOST_DEPTH, epsilon_of};
use crate::error::{Conservative, Difference, Error, Result, ShapeFault};
use crate::hash::{Scheme, SparkCounts};
use crate::memory::Words;
use crate::sizing::Shape;

/// How a weight is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// To all counters of the key.
    Plain,
    /// Only as far as the smallest counter of the key asks for.
    Conservative,
}

/// A Count-Min sketch; see the [module](super) for the idea.
#[derive(Debug, Clone)]
pub struct CountMin<W> {
    words: W,
    rows: Rows,
    placing: Placing,
    update: Update,
    total: u64,
}

/// What the counters hold, as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Census {
    /// Counters that are not zero.
    pub used: u64,
    /// The largest value.
    pub largest: u64,
    /// Counters that stay at their largest possible value: what they should hold is not known.
    pub saturated: u64,
}

/// Adds the counters of other words, which have as many bits.
pub fn add_counters(words: &mut [u64], others: &[u64], width: u32) {
    fn add<C: Counter>(counters: &mut [C], others: &[C]) {
        for (counter, other) in counters.iter_mut().zip(others) {
            *counter = counter.plus(other.value());
        }
    }
    match width {
        32 => add::<u32>(bytemuck::cast_slice_mut(words), bytemuck::cast_slice(others)),
        _ => add(words, others),
    }
}

/// The counters in these words that are not zero.
pub(crate) fn counters_used(words: &[u64], width: u32) -> u64 {
    let used = match width {
        32 => bytemuck::cast_slice::<u64, u32>(words).iter().filter(|counter| **counter != 0).count(),
        _ => words.iter().filter(|counter| **counter != 0).count(),
    };
    used as u64
}

impl CountMin<Words> {
    /// An empty sketch of 64-bit counters whose estimates are at most ε times the total weight too
    /// high, except with a probability of δ.
    pub fn new(epsilon: f64, delta: f64) -> Result<Self> {
        Self::zeroed(params::shape(epsilon, delta, 64)?, Update::Plain)
    }

    /// An empty sketch of this shape.
    pub fn zeroed(shape: Shape, update: Update) -> Result<Self> {
        let bits = shape.bits();
        let words = usize::try_from(bits.div_ceil(64)).map_err(|_| Error::TooLarge { bits })?;
        CountMin::from_words(Words::new(words)?, shape, update, 0)
    }
}

impl<W: AsRef<[u64]>> CountMin<W> {
    /// A sketch in these words, to which weights were added that sum up to this total.
    pub fn from_words(words: W, shape: Shape, update: Update, total: u64) -> Result<Self> {
        let len = words.as_ref().len();
        match shape {
            Shape::CountMin { row, depth, counter_bits }
                if params::possible(&shape, 1.0) && len as u64 == shape.bits().div_ceil(64) =>
            {
                let rows = Rows { row, depth, counter_bits };
                Ok(CountMin { words, rows, placing: Placing::Drawn, update, total })
            }
            _ => Err(ShapeFault::CountMin { words: len, shape }.into()),
        }
    }

    /// The same, whose keys are placed by this hash.
    pub fn placed_by(self, hash: Scheme) -> Self {
        let placing = match hash {
            Scheme::SparkCounts(SparkCounts::Bytes) => Placing::SparkBytes,
            Scheme::SparkCounts(SparkCounts::Longs { seed }) => {
                Placing::SparkLongs(SparkCounts::factors(seed).take(self.rows.depth as usize).collect())
            }
            _ => Placing::Drawn,
        };
        CountMin { placing, ..self }
    }

    /// The words of the counters, row by row.
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// The words themselves, given back.
    pub fn into_words(self) -> W {
        self.words
    }

    /// Its shape.
    pub fn shape(&self) -> Shape {
        let Rows { row, depth, counter_bits } = self.rows;
        Shape::CountMin { row, depth, counter_bits }
    }

    /// How weights are added.
    pub fn update(&self) -> Update {
        self.update
    }

    /// The sum of all weights that were added: N. It saturates, too: 2⁶⁴ − 1 means that or more.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The largest value of a counter. One that has it is full: it should hold this much or more.
    pub fn most(&self) -> u64 {
        if self.rows.counter_bits == 32 { u64::from(u32::MAX) } else { u64::MAX }
    }

    /// Whether what the counters of a key gave is no estimate, because all of them are full. Others
    /// may have filled them: the truth may be anything up to the total. But for a probability of
    /// e^(−d), it is not less than [`most`](Self::most) less the [`bound`](Self::bound).
    pub fn is_full(&self, estimate: u64) -> bool {
        estimate == self.most()
    }

    /// The least estimate of a key that has this share of the total. No counter says more than it
    /// can: where it ran full, the key may have the share.
    pub fn least(&self, share: f64) -> u64 {
        super::least(share, self.total).min(self.most())
    }

    /// How far an estimate is above the truth at most, except with a probability of e^(−d): e·N/w. Where
    /// the total saturated, more than this.
    pub fn bound(&self) -> f64 {
        epsilon_of(self.rows.row) * self.total as f64
    }

    #[inline(always)]
    fn wide(&self) -> &[u64] {
        self.words.as_ref()
    }

    #[inline(always)]
    fn narrow(&self) -> &[u32] {
        narrow(self.wide(), self.rows)
    }

    /// The counter of this number.
    #[inline(always)]
    fn counter(&self, place: u64) -> u64 {
        match self.rows.counter_bits {
            32 => u64::from(self.narrow()[place as usize]),
            _ => self.wide()[place as usize],
        }
    }

    /// The weight of the key with this hash: never below the truth, unless it [is
    /// full](Self::is_full).
    #[inline]
    pub fn estimate_hash(&self, hash: u64) -> u64 {
        let mut places = [0; MOST_DEPTH as usize];
        let places = &mut places[..self.rows.depth as usize];
        self.placing.each(hash, self.rows.row, places);
        places.iter().fold(u64::MAX, |least, &place| least.min(self.counter(place)))
    }

    /// The same for many keys, in `estimates`, one for each hash.
    ///
    /// # Panics
    /// Where the two slices differ in length.
    pub fn estimates(&self, hashes: &[u64], estimates: &mut [u64]) {
        assert_eq!(hashes.len(), estimates.len());
        estimate(self.wide(), (self.rows, &self.placing), hashes, estimates);
    }

    /// What the counters hold, as a whole.
    pub fn census(&self) -> Census {
        let (mut census, most) = (Census::default(), self.most());
        let mut see = |value: u64| {
            census.used += u64::from(value != 0);
            census.largest = census.largest.max(value);
            census.saturated += u64::from(value == most);
        };
        match self.rows.counter_bits {
            32 => self.narrow().iter().for_each(|&value| see(value.into())),
            _ => self.wide().iter().for_each(|&value| see(value)),
        }
        census
    }

    /// Whether the counters may be those of the total: in a plain sketch without a saturated counter those of a row sum
    /// up to it, in others to no more.
    pub fn is_consistent(&self) -> bool {
        if self.total == u64::MAX {
            return true;
        }
        let exact = self.update == Update::Plain && self.census().saturated == 0;
        let row = self.rows.row;
        (0..u64::from(self.rows.depth)).all(|number| {
            let sum: u128 = (number * row..(number + 1) * row).map(|at| u128::from(self.counter(at))).sum();
            sum == u128::from(self.total) || (!exact && sum < u128::from(self.total))
        })
    }

    /// How probably a key that never came has an estimate above zero.
    pub fn rate_now(&self) -> f64 {
        let row = self.rows.row;
        let share = |number: u64| {
            let used = (number * row..(number + 1) * row).filter(|&at| self.counter(at) != 0).count();
            used as f64 / row as f64
        };
        (0..u64::from(self.rows.depth)).map(share).product()
    }

    /// The inner product of two streams, the sum over all keys of the product of their weights: never
    /// below the truth, unless a counter is saturated, and at most e/w times the product of the two
    /// totals above it, except with a probability of e^(−d). With itself: the size of the self-join.
    pub fn inner_product<V: AsRef<[u64]>>(&self, other: &CountMin<V>) -> Result<u128> {
        self.same(other)?;
        if self.update == Update::Conservative {
            return Err(Conservative::InnerProduct.into());
        }
        let row = self.rows.row;
        let product = |number: u64| {
            let pairs = (number * row..(number + 1) * row).map(|at| (self.counter(at), other.counter(at)));
            pairs.fold(0u128, |sum, (a, b)| sum.saturating_add(u128::from(a) * u128::from(b)))
        };
        Ok((0..u64::from(self.rows.depth)).map(product).min().unwrap_or(0))
    }

    /// That two sketches have the same parameters.
    fn same<V: AsRef<[u64]>>(&self, other: &CountMin<V>) -> Result<()> {
        if (self.rows, self.update, &self.placing) == (other.rows, other.update, &other.placing) {
            return Ok(());
        }
        let both = [(self.shape(), self.update), (other.shape(), other.update)];
        Err(Error::Different(Difference::Counters(both)))
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> CountMin<W> {
    /// Adds the key with this hash, with this weight.
    #[inline]
    pub fn add_hash(&mut self, hash: u64, weight: u64) {
        let mut places = [0; MOST_DEPTH as usize];
        let (places, update) = (&mut places[..self.rows.depth as usize], self.update);
        self.placing.each(hash, self.rows.row, places);
        self.total = self.total.saturating_add(weight);
        let words = self.words.as_mut();
        match self.rows.counter_bits {
            32 => add_one::<u32>(bytemuck::cast_slice_mut(words), update, places, weight),
            _ => add_one(words, update, places, weight),
        }
    }

    /// Adds many keys, each once.
    pub fn add_hashes(&mut self, hashes: &[u64]) {
        self.total = self.total.saturating_add(hashes.len() as u64);
        let CountMin { words, rows, placing, update, total } = self;
        add_ones(words.as_mut(), (*rows, placing), (*update, *total), hashes);
    }

    /// Adds many keys, each with its weight.
    ///
    /// # Panics
    /// Where the two slices differ in length.
    pub fn add_weighted(&mut self, hashes: &[u64], weights: &[u64]) {
        assert_eq!(hashes.len(), weights.len());
        self.total = weights.iter().fold(self.total, |total, &weight| total.saturating_add(weight));
        let CountMin { words, rows, placing, update, total } = self;
        add_weights(words.as_mut(), (*rows, placing), (*update, *total), hashes, weights);
    }

    /// Adds what another sketch of the same parameters holds: the result is the sketch of both.
    pub fn merge<V: AsRef<[u64]>>(&mut self, other: &CountMin<V>) -> Result<()> {
        self.same(other)?;
        if self.update == Update::Conservative {
            return Err(Conservative::Merge.into());
        }
        add_counters(self.words.as_mut(), other.words(), self.rows.counter_bits);
        self.total = self.total.saturating_add(other.total);
        Ok(())
    }
}
