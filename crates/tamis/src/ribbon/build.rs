//! Building a filter: layer by layer, each solves as many equations as its slots allow and
//! bumps the other keys to the next.
//!
//! The slots of a layer are cut into runs that have nothing to do with each other: they are filled in any
//! order, on any number of threads, and as many at a time as there is memory for their keys.

use super::Ribbon;
use super::band::Band;
use super::params::{Layer, Layout, RUN, Widths};
use super::place::{last_salt, mix, salt, start, unmix};
use super::sketch::bumped_by_all;
use crate::error::{Error, Result};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Seeds that are tried for all layers, and for the last one with each of them. Nearly every
/// one works for hashes that are spread evenly; so a build that fails for all has other causes.
const SEEDS: u64 = 64;

/// What a build takes from outside: the hashes, and somebody who works.
pub trait Supply {
    /// What may go wrong.
    type Error: From<Error>;

    /// Passes on all hashes of the set, each once, in any order and in any portions. It is asked again
    /// where not all of them are held at a time.
    fn read(&mut self, take: &mut (dyn FnMut(&[u64]) + Send)) -> Result<(), Self::Error>;

    /// Does `work` for each of these, in any order or at the same time.
    ///
    /// # Errors
    /// Where the work was ended.
    fn work(
        &mut self,
        runs: Vec<Run>,
        work: &(dyn Fn(Run) -> Solved + Sync),
    ) -> Result<Vec<Solved>, Self::Error>;
}

/// The keys that begin in one run of a layer's slots.
#[derive(Debug)]
pub struct Run {
    number: u64,
    keys: Vec<u64>,
}

/// A run whose equations are solved.
#[derive(Debug)]
pub struct Solved {
    number: u64,
    levels: Vec<u64>,
    table: Vec<u64>,
    /// The hashes that it has no slots for.
    bumped: Vec<u64>,
    /// Whether a key came twice.
    repeats: bool,
}

/// The hashes that a run of the first layer has about; and the bytes that it takes to solve one, beside
/// the filter: its keys, its equations, what comes of them.
pub fn run_needs(keys: u64, widths: Widths) -> (u64, u64) {
    let slots = keys.min(RUN);
    let keys = slots + slots / 8;
    (keys, 8 * keys + 12 * slots + slots / 8 * (u64::from(widths.bits) + 1) + keys)
}

/// Whether a set of this many keys is built in one run, for which a [`Supply`] has nothing to offer.
pub fn is_one_run(keys: u64) -> bool {
    keys <= RUN
}

/// Builds the filter of a set of this many distinct hashes in these words, which are as many as
/// [`words_needed`](super::words_needed) says, and returns its seed. At most about `held` hashes are
/// kept in memory at a time, but all those of a run.
///
/// # Errors
/// Those of the supply. [`Error::Seeds`] where the set cannot be built, [`Error::Repeats`] where hashes
/// came twice, [`Error::Shape`] where the words are others.
pub fn build_from<S: Supply>(
    supply: &mut S,
    keys: u64,
    widths: Widths,
    words: &mut [u64],
    held: u64,
) -> Result<u64, S::Error> {
    Ribbon::from_words(&*words, keys, widths, 0)?;
    let layout = Layout::new(keys, widths)?;
    Ok(match layout.split() {
        None => 0,
        Some((bumping, last)) => {
            Building { supply, bumping, last, words, held, keys }.with_some_seed(SEEDS)?
        }
    })
}

struct Building<'a, S> {
    supply: &'a mut S,
    bumping: &'a [Layer],
    last: &'a Layer,
    words: &'a mut [u64],
    held: u64,
    keys: u64,
}

impl<S: Supply> Building<'_, S> {
    /// Builds with the first of this many seeds that works.
    fn with_some_seed(&mut self, seeds: u64) -> Result<u64, S::Error> {
        let last = self.last;
        let mut band = Band::new(0..last.slots);
        for seed in (0..seeds).map(|seed| seed << 8) {
            // Those that the layers so far have bumped, once there are few enough.
            let mut left: Option<Vec<u64>> = None;
            for number in 0..self.bumping.len() {
                left = self.layer(number, seed, left)?;
            }
            let left = match left {
                Some(left) => left,
                None => {
                    let mut all = Vec::new();
                    self.each_left(self.bumping.len(), seed, &mut |hash| all.push(hash))?;
                    all
                }
            };
            // More than there are slots can never be put.
            let tries = if left.len() as u64 > last.slots { 0 } else { seeds };
            for seed in seed..seed + tries {
                if put_all(&mut band, &left, last, last_salt(seed)) {
                    band.solve(last, &mut self.words[last.table..last.end]);
                    return Ok(seed);
                }
            }
            refuse_repeats(left)?;
        }
        Err(Error::Seeds { keys: self.keys, seeds }.into())
    }

    /// Fills a layer from these hashes, or else from all that the layers before it have bumped; returns
    /// what it bumps itself, where that is not too much to hold.
    fn layer(
        &mut self,
        number: usize,
        seed: u64,
        left: Option<Vec<u64>>,
    ) -> Result<Option<Vec<u64>>, S::Error> {
        let layer = &self.bumping[number];
        let (salt, starts) = (salt(seed, number), layer.starts());
        let runs = layer.slots.div_ceil(RUN);
        // All runs have about as many keys. Some slots are empty, so that there are fewer than this.
        let of_a_run = |slots: u64| slots + slots / 8;
        let at_a_time = (self.held / of_a_run(layer.slots.min(RUN))).clamp(1, runs);
        // A fifteenth of the slots, and room for the keys of the next layer.
        let keep = left.is_some() || layer.slots / 3 <= self.held;
        let mut bumped = keep.then(Vec::new);
        for first in (0..runs).step_by(at_a_time as usize) {
            let some = first..runs.min(first + at_a_time);
            let room = |number: u64| of_a_run(slots_of(layer, number).count() as u64) as usize;
            let mut keys: Vec<Vec<u64>> = some.clone().map(|run| Vec::with_capacity(room(run))).collect();
            let mut sort = |hash: u64| {
                let key = mix(hash ^ salt);
                let run = start(key, starts) / RUN;
                if let Some(keys) = run.checked_sub(first).and_then(|at| keys.get_mut(at as usize)) {
                    keys.push(key);
                }
            };
            match &left {
                Some(left) => left.iter().for_each(|&hash| sort(hash)),
                None => self.each_left(number, seed, &mut sort)?,
            }
            let tasks = some.zip(keys).map(|(number, keys)| Run { number, keys }).collect();
            let solved = self.supply.work(tasks, &|run| solve(run, layer, salt))?;
            for Solved { number, levels, table, bumped: hashes, repeats } in solved {
                if repeats {
                    return Err(Error::Repeats.into());
                }
                let at = layer.buckets + (number * RUN / super::params::BUCKET / 32) as usize;
                self.words[at..at + levels.len()].copy_from_slice(&levels);
                let (at, _) = layer.block(number * RUN / 64);
                self.words[at..at + table.len()].copy_from_slice(&table);
                if let Some(bumped) = &mut bumped {
                    bumped.extend(hashes);
                }
            }
        }
        Ok(bumped)
    }

    /// Passes on the hashes that the first layers, this many, have bumped: their levels tell.
    fn each_left(
        &mut self,
        layers: usize,
        seed: u64,
        take: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(), S::Error> {
        let (words, before) = (&*self.words, &self.bumping[..layers]);
        self.supply.read(&mut |hashes| {
            hashes
                .iter()
                .filter(|&&hash| bumped_by_all(words, before, seed, hash))
                .for_each(|&hash| take(hash));
        })
    }
}

/// The slots of a run.
fn slots_of(layer: &Layer, run: u64) -> Range<u64> {
    run * RUN..layer.slots.min((run + 1) * RUN)
}

fn solve(run: Run, layer: &Layer, salt: u64) -> Solved {
    let Run { number, mut keys } = run;
    keys.sort_unstable();
    let slots = slots_of(layer, number);
    let buckets = ((slots.end - slots.start) / super::params::BUCKET).div_ceil(32) as usize;
    let mut levels = vec![0; buckets];
    let mut bumped = Vec::with_capacity(keys.len() / 14);
    let mut band = Band::new(slots.clone());
    band.bump(&keys, layer, &mut levels, &mut |key| bumped.push(unmix(key) ^ salt));
    let words = layer.block(slots.end / 64).0 - layer.block(slots.start / 64).0;
    let mut table = vec![0; words];
    band.solve(layer, &mut table);
    Solved { number, levels, table, bumped, repeats: keys.windows(2).any(|pair| pair[0] == pair[1]) }
}

/// Puts all keys, if that can be done with this salt.
pub(super) fn put_all(band: &mut Band, hashes: &[u64], layer: &Layer, salt: u64) -> bool {
    band.clear();
    hashes.iter().all(|&hash| band.put(mix(hash ^ salt), layer.starts()).1.is_some())
}

/// A key that is there twice can never be put.
fn refuse_repeats(mut hashes: Vec<u64>) -> Result<()> {
    let count = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    if hashes.len() < count { Err(Error::Repeats) } else { Ok(()) }
}

/// A set in memory, and nobody else who works.
struct Here<'a>(&'a [u64]);

impl Supply for Here<'_> {
    type Error = Error;

    fn read(&mut self, take: &mut (dyn FnMut(&[u64]) + Send)) -> Result<()> {
        take(self.0);
        Ok(())
    }

    fn work(&mut self, runs: Vec<Run>, work: &(dyn Fn(Run) -> Solved + Sync)) -> Result<Vec<Solved>> {
        Ok(runs.into_iter().map(work).collect())
    }
}

impl Ribbon<Vec<u64>> {
    /// Builds the filter of a set of hashes. Order and repetitions do not matter: the same set
    /// gives the same words and seed.
    ///
    /// The hashes are left each once, in an order of the filter's own; `hashes.len()` is then
    /// the number of keys. Needs about as much memory again as the hashes take, beside the table, and
    /// some megabytes.
    pub fn build(hashes: &mut Vec<u64>, widths: Widths) -> Result<Self> {
        build_within(SEEDS, hashes, widths)
    }
}

/// Builds with the first of this many seeds that works.
pub(super) fn build_within(seeds: u64, hashes: &mut Vec<u64>, widths: Widths) -> Result<Ribbon<Vec<u64>>> {
    loop {
        let keys = hashes.len() as u64;
        let layout = Layout::new(keys, widths)?;
        let mut words = vec![0; layout.words()];
        let seed = match layout.split() {
            None => Ok(0),
            Some((bumping, last)) => {
                let (supply, words) = (&mut Here(hashes), &mut words[..]);
                Building { supply, bumping, last, words, held: u64::MAX, keys }.with_some_seed(seeds)
            }
        };
        match seed {
            // Hashes need to be made distinct only where they are not.
            Err(Error::Repeats) => {
                hashes.sort_unstable();
                hashes.dedup();
            }
            seed => return Ribbon::from_words(words, keys, widths, seed?),
        }
    }
}
