//! Prefetching, and running a loop with the widest vectors that this processor has.
#![allow(unsafe_code)]

/// Asks for the cache line at `index` of `items`, which will be used soon.
#[inline(always)]
pub fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = items.as_ptr().wrapping_add(index);
        // SAFETY: a prefetch never faults, wherever the address points.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}

/// Work that is compiled once per instruction set. `run` must be `#[inline(always)]`, so that
/// it takes on the instruction set of the caller; the plain build is its scalar twin.
pub trait Vectored {
    /// What it gives.
    type Output;
    /// Does the work.
    fn run(self) -> Self::Output;
}

/// The vectors that a processor has, from none up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg(all(target_arch = "x86_64", feature = "std"))]
enum Level {
    Plain,
    Avx2,
    Avx512,
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
impl Level {
    /// That of this processor.
    #[inline]
    fn here() -> Level {
        use std::is_x86_feature_detected as has;
        let level = if !(has!("avx2") && has!("bmi1") && has!("bmi2") && has!("popcnt")) {
            Level::Plain
        } else if !(has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl")) {
            Level::Avx2
        } else {
            Level::Avx512
        };
        #[cfg(test)]
        let level = level.min(tests::MOST.get());
        level
    }
}

/// Whether [`vectored`] has any. Without them, whole products are faster than those that vectors have.
#[inline]
pub fn has_vectors() -> bool {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    return Level::here() > Level::Plain;
    #[cfg(not(all(target_arch = "x86_64", feature = "std")))]
    false
}

/// Runs the work with the widest vectors there are, found at run time.
#[inline]
pub fn vectored<V: Vectored>(work: V) -> V::Output {
    // Without the standard library there is no way to ask the processor.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn with_avx2<V: Vectored>(work: V) -> V::Output {
            work.run()
        }
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
        fn with_avx512<V: Vectored>(work: V) -> V::Output {
            work.run()
        }
        match Level::here() {
            // SAFETY: this processor has these vectors.
            Level::Avx512 => return unsafe { with_avx512(work) },
            // SAFETY: as above.
            Level::Avx2 => return unsafe { with_avx2(work) },
            Level::Plain => {}
        }
    }
    work.run()
}

#[cfg(all(test, target_arch = "x86_64", feature = "std"))]
mod tests {
    use super::{Level, Vectored, vectored};
    use crate::blocked::Blocked;
    use crate::bloom::Bloom;
    use crate::counting::Counting;
    use crate::countmin::{CountMin, Update, shape_by_hand};
    use crate::fuse::Fuse;
    use crate::testing::hashes;
    use std::cell::Cell;

    std::thread_local! {
        /// The widest vectors that tests of this thread use.
        pub(super) static MOST: Cell<Level> = const { Cell::new(Level::Avx512) };
    }

    /// What this gives, which must be the same with all vectors that this processor has.
    fn at_all_levels<T: PartialEq + std::fmt::Debug>(work: impl Fn() -> T) -> T {
        let [plain, avx2, avx512] = [Level::Plain, Level::Avx2, Level::Avx512].map(|level| {
            MOST.set(level);
            work()
        });
        assert!(plain == avx2 && avx2 == avx512, "vectors differ");
        plain
    }

    /// Bytes of a filter that no core keeps close by itself.
    const FAR: u64 = 4_500_000;

    /// Numbers of keys around those that are taken together, and thousands, of which most or few are found.
    fn sets() -> impl Iterator<Item = (Vec<u64>, Vec<u64>)> {
        [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 5000].into_iter().flat_map(|count| {
            let keys = hashes(0, count);
            let strangers = hashes(1 << 40, count);
            let most = [&keys[..], &strangers[..count / 8]].concat();
            [(keys.clone(), most), (keys, strangers)]
        })
    }

    fn all(probes: &[u64], contains: impl Fn(&[u64], &mut [bool])) -> Vec<bool> {
        let mut found = vec![false; probes.len()];
        contains(probes, &mut found);
        found
    }

    struct Sum<'a>(&'a [u64]);

    impl Vectored for Sum<'_> {
        type Output = u64;

        #[inline(always)]
        fn run(self) -> u64 {
            self.0.iter().fold(0, |sum, number| sum.wrapping_add(number.wrapping_mul(3)))
        }
    }

    #[test]
    fn work_gives_the_same_with_all_vectors() {
        let numbers = hashes(3, 1001);
        assert_eq!(at_all_levels(|| vectored(Sum(&numbers))), Sum(&numbers).run());
    }

    #[test]
    fn blocked_filters_are_the_same_with_all_vectors() {
        for (keys, probes) in sets() {
            for (lines, k) in [1, 2, 4, 8, 16, 32].map(|k| (97, k)).into_iter().chain([(FAR / 64, 8)]) {
                let (words, found) = at_all_levels(|| {
                    let mut filter = Blocked::zeroed(lines, k).unwrap();
                    filter.insert_hashes(&keys);
                    let found = all(&probes, |hashes, found| filter.contains_hashes(hashes, found));
                    (filter.into_words().to_vec(), found)
                });
                let mut filter = Blocked::zeroed(lines, k).unwrap();
                keys.iter().for_each(|&hash| filter.insert_hash(hash));
                assert_eq!(filter.words(), words);
                assert!(probes.iter().zip(found).all(|(&hash, found)| filter.contains_hash(hash) == found));
            }
        }
    }

    #[test]
    fn counting_filters_are_the_same_with_all_vectors() {
        let filters = [97, FAR / 256].into_iter().flat_map(|blocks| sets().map(move |set| (blocks, set)));
        for (blocks, (keys, probes)) in filters {
            let (words, found) = at_all_levels(|| {
                let mut filter = Counting::zeroed(blocks, 8).unwrap();
                filter.insert_hashes(&keys);
                filter.remove_hashes(&keys[..keys.len() / 3]);
                let found = all(&probes, |hashes, found| filter.contains_hashes(hashes, found));
                (filter.into_words().to_vec(), found)
            });
            let mut filter = Counting::zeroed(blocks, 8).unwrap();
            keys.iter().for_each(|&hash| filter.insert_hash(hash));
            keys[..keys.len() / 3].iter().for_each(|&hash| assert!(filter.remove_hash(hash)));
            assert_eq!(filter.words(), words);
            assert!(probes.iter().zip(found).all(|(&hash, found)| filter.contains_hash(hash) == found));
        }
    }

    #[test]
    fn bloom_filters_are_the_same_with_all_vectors() {
        for (keys, probes) in sets() {
            for (bits, k) in [(1, 1), (50_000, 1), (50_001, 7), (77_777, 20)] {
                let (words, found) = at_all_levels(|| {
                    let mut filter = Bloom::zeroed(bits, k).unwrap();
                    filter.insert_hashes(&keys);
                    let found = all(&probes, |hashes, found| filter.contains_hashes(hashes, found));
                    (filter.into_words().to_vec(), found)
                });
                let mut filter = Bloom::zeroed(bits, k).unwrap();
                keys.iter().for_each(|&hash| filter.insert_hash(hash));
                assert_eq!(filter.words(), words);
                assert!(probes.iter().zip(found).all(|(&hash, found)| filter.contains_hash(hash) == found));
            }
        }
    }

    #[test]
    fn counts_are_the_same_with_all_vectors() {
        for (keys, probes) in sets() {
            for (row, depth, bits) in
                [(1, 1, 64), (97, 4, 64), (2048, 5, 32), (FAR / 12, 3, 32), (FAR / 32, 4, 64)]
            {
                let shape = shape_by_hand(row, depth, bits).unwrap();
                let (words, estimates) = at_all_levels(|| {
                    let mut sketch = CountMin::zeroed(shape, Update::Plain).unwrap();
                    sketch.add_hashes(&keys);
                    sketch.add_weighted(&keys, &(0..keys.len() as u64).collect::<Vec<_>>());
                    let mut estimates = vec![0; probes.len()];
                    sketch.estimates(&probes, &mut estimates);
                    (sketch.into_words().to_vec(), estimates)
                });
                let mut sketch = CountMin::zeroed(shape, Update::Plain).unwrap();
                (0..).zip(&keys).for_each(|(weight, &hash)| sketch.add_hash(hash, weight + 1));
                assert_eq!(sketch.words(), words);
                assert!(probes.iter().zip(estimates).all(|(&hash, told)| sketch.estimate_hash(hash) == told));
            }
        }
    }

    #[test]
    fn fuse_filters_answer_the_same_with_all_vectors() {
        for (mut keys, probes) in sets() {
            for width in [1, 7, 8, 12, 16, 25, 26, 32] {
                let filter = Fuse::build(&mut keys, width).unwrap();
                let found =
                    at_all_levels(|| all(&probes, |hashes, found| filter.contains_hashes(hashes, found)));
                assert!(probes.iter().zip(found).all(|(&hash, found)| filter.contains_hash(hash) == found));
            }
        }
    }
}
