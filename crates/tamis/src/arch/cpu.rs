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

/// Runs the work with the widest vectors there are, found at run time.
#[inline]
pub fn vectored<V: Vectored>(work: V) -> V::Output {
    // Without the standard library there is no way to ask the processor.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    {
        /// # Safety
        /// The processor must have these features.
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        unsafe fn with_avx2<V: Vectored>(work: V) -> V::Output {
            work.run()
        }
        let detected = std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("bmi1")
            && std::is_x86_feature_detected!("bmi2")
            && std::is_x86_feature_detected!("popcnt");
        if detected {
            // SAFETY: the features were just detected.
            return unsafe { with_avx2(work) };
        }
    }
    work.run()
}
