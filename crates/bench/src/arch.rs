//! The peer that is written in C++: the only room with unsafe code.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ops::Range;

unsafe extern "C" {
    fn boost_new(keys: u64, rate: f64) -> *mut c_void;
    fn boost_free(filter: *mut c_void);
    fn boost_bits(filter: *const c_void) -> u64;
    fn boost_clear(filter: *mut c_void);
    fn boost_insert(filter: *mut c_void, from: u64, end: u64);
    fn boost_count(filter: *const c_void, from: u64, end: u64) -> u64;
}

/// A filter of Boost.Bloom: `fast_multiblock32<8>`, its fastest.
pub struct Boost(*mut c_void);

impl Boost {
    pub fn new(keys: u64, rate: f64) -> Self {
        // SAFETY: it has no conditions; without memory it ends the program.
        Boost(unsafe { boost_new(keys, rate) })
    }

    pub fn bits(&self) -> u64 {
        // SAFETY: the filter lives as long as this.
        unsafe { boost_bits(self.0) }
    }

    pub fn clear(&mut self) {
        // SAFETY: as above, and nobody else has it.
        unsafe { boost_clear(self.0) }
    }

    pub fn insert(&mut self, numbers: Range<u64>) {
        // SAFETY: as above.
        unsafe { boost_insert(self.0, numbers.start, numbers.end) }
    }

    pub fn count(&self, numbers: Range<u64>) -> u64 {
        // SAFETY: as above.
        unsafe { boost_count(self.0, numbers.start, numbers.end) }
    }
}

impl Drop for Boost {
    fn drop(&mut self) {
        // SAFETY: it is freed once.
        unsafe { boost_free(self.0) }
    }
}
