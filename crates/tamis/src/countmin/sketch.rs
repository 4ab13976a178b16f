//! The sketch itself, over words that it owns or borrows.

use alloc::vec::Vec;
use core::ops::Range;

use bytemuck::Pod;

use super::params::{self, MOST_DEPTH, epsilon_of};
use super::rows::{Add, DRAWN, Estimate};
use crate::arch::cpu::{has_vectors, vectored};
use crate::bloom::position;
use crate::error::{Conservative, Difference, Error, Result, ShapeFault};
use crate::hash::{Scheme, SparkCounts, place_of_bytes, place_of_long};
use crate::memory::{Words, prefetch};
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

/// The fields of its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rows {
    row: u64,
    depth: u32,
    counter_bits: u32,
}

impl Rows {
    #[inline(always)]
    fn counters(&self) -> usize {
        (self.row * u64::from(self.depth)) as usize
    }
}

/// How the counters of a key follow from its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Placing {
    /// Drawn from it.
    Drawn,
    /// As Spark has it for text.
    SparkBytes,
    /// As Spark has it for numbers: with a factor for each row.
    SparkLongs(Vec<u64>),
}

impl Placing {
    /// Gives the counters of a key, row after row, as numbers among all counters.
    #[inline(always)]
    fn each(&self, hash: u64, row: u64, places: &mut [u64]) {
        let numbered = (0..).zip(places).map(|(number, place)| (number, u64::from(number) * row, place));
        match self {
            Placing::Drawn => {
                numbered.for_each(|(number, start, place)| *place = start + position(hash, number, row));
            }
            Placing::SparkBytes => {
                numbered
                    .for_each(|(number, start, place)| *place = start + place_of_bytes(hash, number, row));
            }
            Placing::SparkLongs(factors) => numbered.zip(factors).for_each(|((_, start, place), &factor)| {
                *place = start + place_of_long(hash, factor, row);
            }),
        }
    }
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

/// A counter as it stands in the words.
pub(super) trait Counter: Pod + Ord {
    const MOST: Self;
    /// Adds, and stays at the most.
    fn plus(self, weight: u64) -> Self;
    /// The same where the sum is known to be below the most.
    fn plus_below(self, weight: u64) -> Self;
    fn value(self) -> u64;
}

impl Counter for u64 {
    const MOST: u64 = u64::MAX;

    #[inline(always)]
    fn plus(self, weight: u64) -> u64 {
        self.saturating_add(weight)
    }

    #[inline(always)]
    fn plus_below(self, weight: u64) -> u64 {
        self.wrapping_add(weight)
    }

    #[inline(always)]
    fn value(self) -> u64 {
        self
    }
}

impl Counter for u32 {
    const MOST: u32 = u32::MAX;

    #[inline(always)]
    fn plus(self, weight: u64) -> u32 {
        self.saturating_add(u32::try_from(weight).unwrap_or(u32::MAX))
    }

    #[inline(always)]
    fn plus_below(self, weight: u64) -> u32 {
        self.wrapping_add(weight as u32)
    }

    #[inline(always)]
    fn value(self) -> u64 {
        u64::from(self)
    }
}

/// The counters of the key with this hash in this many rows of this many counters: their numbers among
/// all counters.
#[inline(always)]
pub fn places(hash: u64, row: u64, depth: u32) -> impl Iterator<Item = u64> {
    (0..depth).map(move |number| u64::from(number) * row + position(hash, number, row))
}

/// Places that are asked for at a time: the counters of some keys.
const PLACES: usize = 64;

/// The places of many keys, batch by batch. While one batch is in use, the counters of the next
/// are on their way.
struct Batches<'h> {
    hashes: &'h [u64],
    placing: &'h Placing,
    row: u64,
    depth: usize,
    /// Keys in a batch.
    keys: usize,
    rings: [[u64; PLACES]; 2],
    /// The ring in use.
    used: usize,
    /// Keys whose places were asked for, and those of them that were given out.
    asked: usize,
    given: usize,
}

impl<'h> Batches<'h> {
    #[inline(always)]
    fn new(hashes: &'h [u64], rows: Rows, placing: &'h Placing, ask: impl Fn(usize)) -> Self {
        let depth = rows.depth as usize;
        let mut batches = Batches {
            hashes,
            placing,
            row: rows.row,
            depth,
            keys: (PLACES / depth).max(1),
            rings: [[0; PLACES]; 2],
            used: 0,
            asked: 0,
            given: 0,
        };
        batches.ask(ask);
        batches
    }

    /// Asks for the counters of the next keys, into the ring that is not in use.
    #[inline(always)]
    fn ask(&mut self, ask: impl Fn(usize)) {
        let to = self.hashes.len().min(self.asked + self.keys);
        let ring = &mut self.rings[1 - self.used];
        for (&hash, places) in self.hashes[self.asked..to].iter().zip(ring.chunks_exact_mut(self.depth)) {
            self.placing.each(hash, self.row, places);
            places.iter().for_each(|&place| ask(place as usize));
        }
        self.asked = to;
    }

    /// The next keys; their places are then [known](Self::places).
    #[inline(always)]
    fn next(&mut self, ask: impl Fn(usize)) -> Option<Range<usize>> {
        let keys = self.given..self.asked;
        if keys.is_empty() {
            return None;
        }
        self.used = 1 - self.used;
        self.given = self.asked;
        self.ask(ask);
        Some(keys)
    }

    /// The places of each key of the batch, all of one key together.
    #[inline(always)]
    fn places(&self) -> core::slice::ChunksExact<'_, u64> {
        self.rings[self.used].chunks_exact(self.depth)
    }
}

/// Bytes of counters that a processor core keeps close by itself: there, asking costs more than it
/// gains.
const CLOSE: usize = 512 << 10;

/// How many keys ahead the counters of a key are asked for, where their number is known.
const AHEAD: usize = 16;

/// Visits the counters of keys, key by key in their order, in D rows: with the number of rows known to
/// the compiler, the places of a key stay in registers and none waits for another.
#[inline(always)]
fn visit<const D: usize, C, B: AsRef<[C]>>(
    counters: &mut B,
    row: u64,
    hashes: &[u64],
    mut visit: impl FnMut(&mut B, usize, &[u64; D]),
) {
    let draw = |hash| -> [u64; D] {
        core::array::from_fn(|number| number as u64 * row + position(hash, number as u32, row))
    };
    if size_of_val(counters.as_ref()) <= CLOSE {
        for (key, &hash) in hashes.iter().enumerate() {
            visit(counters, key, &draw(hash));
        }
        return;
    }
    let ask = |counters: &[C], hash| {
        let places = draw(hash);
        places.iter().for_each(|&place| prefetch(counters, place as usize));
        places
    };
    let mut ring = [[0; D]; AHEAD];
    for (places, &hash) in ring.iter_mut().zip(hashes) {
        *places = ask(counters.as_ref(), hash);
    }
    for key in 0..hashes.len() {
        let places = &mut ring[key % AHEAD];
        visit(counters, key, places);
        if let Some(&hash) = hashes.get(key + AHEAD) {
            *places = ask(counters.as_ref(), hash);
        }
    }
}

/// The length of a row, and whether all counters are close, where they are to be drawn for many keys together: with
/// vectors, and keys that fill them. Wide counters that are not close take longer to reach than to draw.
#[inline(always)]
fn by_rows<C>(rows: Rows, placing: &Placing, hashes: &[u64]) -> Option<(u32, bool)> {
    let close = rows.counters() * size_of::<C>() <= CLOSE;
    let pays = close || size_of::<C>() == 4;
    let can = hashes.len() >= DRAWN && *placing == Placing::Drawn && has_vectors();
    u32::try_from(rows.row).ok().filter(|_| pays && can).map(|row| (row, close))
}

/// Adds weights, key by key in their order, with which the total becomes this.
#[inline(always)]
fn add_all<C: Counter>(
    mut counters: &mut [C],
    (rows, placing): (Rows, &Placing),
    (update, total): (Update, u64),
    hashes: &[u64],
    weight: impl Fn(usize) -> u64,
) {
    macro_rules! add {
        ($depth:literal) => {
            visit::<$depth, C, _>(&mut counters, rows.row, hashes, |counters, key, places| {
                add_one(counters, update, places, weight(key));
            })
        };
    }
    // Only plain updates give the same in any order. No counter exceeds the total.
    let can = update == Update::Plain && total < C::MOST.value();
    let by_rows = by_rows::<C>(rows, placing, hashes).filter(|_| can);
    if let Some((row, close)) = by_rows {
        let depth = rows.depth;
        return match close {
            true => vectored(Add::<false, _, _> { counters, row, depth, hashes, weight }),
            false => vectored(Add::<true, _, _> { counters, row, depth, hashes, weight }),
        };
    }
    match (placing, rows.depth) {
        (Placing::Drawn, 3) => add!(3),
        (Placing::Drawn, 4) => add!(4),
        (Placing::Drawn, 5) => add!(5),
        (Placing::Drawn, 7) => add!(7),
        _ => add_any(counters, (rows, placing), update, hashes, weight),
    }
}

/// The same for any number of rows, and however keys are placed.
#[inline(always)]
fn add_any<C: Counter>(
    counters: &mut [C],
    (rows, placing): (Rows, &Placing),
    update: Update,
    hashes: &[u64],
    weight: impl Fn(usize) -> u64,
) {
    let mut batches = Batches::new(hashes, rows, placing, |place| prefetch(counters, place));
    while let Some(keys) = batches.next(|place| prefetch(counters, place)) {
        for (key, places) in keys.zip(batches.places()) {
            add_one(counters, update, places, weight(key));
        }
    }
}

/// Adds the weight of the key with these places.
#[inline(always)]
fn add_one<C: Counter>(counters: &mut [C], update: Update, places: &[u64], weight: u64) {
    match update {
        Update::Plain => {
            for &place in places {
                let counter = &mut counters[place as usize];
                *counter = counter.plus(weight);
            }
        }
        Update::Conservative => raise(counters, places, weight),
    }
}

/// The conservative update of a key with these places.
#[inline(always)]
fn raise<C: Counter>(counters: &mut [C], places: &[u64], weight: u64) {
    let target = smallest(counters, places).plus(weight);
    for &place in places {
        let counter = &mut counters[place as usize];
        *counter = target.max(*counter);
    }
}

#[inline(always)]
fn smallest<C: Counter>(counters: &[C], places: &[u64]) -> C {
    places.iter().fold(C::MOST, |least, &place| least.min(counters[place as usize]))
}

#[inline(always)]
fn estimate_all<C: Counter>(
    mut counters: &[C],
    (rows, placing): (Rows, &Placing),
    hashes: &[u64],
    estimates: &mut [u64],
) {
    macro_rules! estimate {
        ($depth:literal) => {
            visit::<$depth, C, _>(&mut counters, rows.row, hashes, |counters, key, places| {
                estimates[key] = smallest(counters, places).value();
            })
        };
    }
    if let Some((row, close)) = by_rows::<C>(rows, placing, hashes) {
        let depth = rows.depth;
        return match close {
            true => vectored(Estimate::<false, _> { counters, row, depth, hashes, estimates }),
            false => vectored(Estimate::<true, _> { counters, row, depth, hashes, estimates }),
        };
    }
    match (placing, rows.depth) {
        (Placing::Drawn, 3) => estimate!(3),
        (Placing::Drawn, 4) => estimate!(4),
        (Placing::Drawn, 5) => estimate!(5),
        (Placing::Drawn, 7) => estimate!(7),
        _ => estimate_any(counters, (rows, placing), hashes, estimates),
    }
}

#[inline(always)]
fn estimate_any<C: Counter>(
    counters: &[C],
    (rows, placing): (Rows, &Placing),
    hashes: &[u64],
    estimates: &mut [u64],
) {
    let ask = |place| prefetch(counters, place);
    let mut batches = Batches::new(hashes, rows, placing, ask);
    while let Some(keys) = batches.next(ask) {
        for (estimate, places) in estimates[keys].iter_mut().zip(batches.places()) {
            *estimate = smallest(counters, places).value();
        }
    }
}

/// The counters of 32 bits in these words.
#[inline(always)]
fn narrow(words: &[u64], rows: Rows) -> &[u32] {
    &bytemuck::cast_slice(words)[..rows.counters()]
}

// Whatever holds the words, loops over slices of hashes are compiled once.

fn estimate(words: &[u64], (rows, placing): (Rows, &Placing), hashes: &[u64], estimates: &mut [u64]) {
    match rows.counter_bits {
        32 => estimate_all(narrow(words, rows), (rows, placing), hashes, estimates),
        _ => estimate_all(words, (rows, placing), hashes, estimates),
    }
}

fn add_ones(words: &mut [u64], placed: (Rows, &Placing), how: (Update, u64), hashes: &[u64]) {
    add(words, placed, how, hashes, |_| 1);
}

fn add_weights(
    words: &mut [u64],
    placed: (Rows, &Placing),
    how: (Update, u64),
    hashes: &[u64],
    weights: &[u64],
) {
    add(words, placed, how, hashes, |key| weights[key]);
}

#[inline(always)]
fn add(
    words: &mut [u64],
    (rows, placing): (Rows, &Placing),
    how: (Update, u64),
    hashes: &[u64],
    weight: impl Fn(usize) -> u64,
) {
    match rows.counter_bits {
        32 => {
            let counters: &mut [u32] = &mut bytemuck::cast_slice_mut(words)[..rows.counters()];
            add_all(counters, (rows, placing), how, hashes, weight);
        }
        _ => add_all(words, (rows, placing), how, hashes, weight),
    }
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
