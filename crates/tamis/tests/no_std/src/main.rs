//! The sketches of tamis on a machine that has memory and nothing else: no standard library, an
//! allocator of its own, and no way to unwind. Ends with the number of the first check that fails,
//! and 0 if none does.
//!
//! `cargo run --manifest-path crates/tamis/tests/no_std/Cargo.toml`
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicUsize, Ordering};

use tamis::blocked::Blocked;
use tamis::bloom::Bloom;
use tamis::counting::Counting;
use tamis::countmin::CountMin;
use tamis::fuse::Fuse;
use tamis::hash::{murmur3, xxh3};
use tamis::layered::Layered;
use tamis::ribbon::{Ribbon, Widths};
use tamis::scalable::Scalable;
use tamis::{Error, Kind};

const MEMORY: usize = 8 << 20;

/// Gives out a piece of memory from the start to the end, and takes nothing back.
struct Bump {
    memory: UnsafeCell<[u8; MEMORY]>,
    used: AtomicUsize,
}

// SAFETY: every piece is given out once.
unsafe impl Sync for Bump {}

// SAFETY: pieces lie within the memory, are aligned as asked for, and do not overlap.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let base = self.memory.get() as usize;
        let mut piece = 0;
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            let start = (base + used).next_multiple_of(layout.align()) - base;
            piece = start;
            start.checked_add(layout.size()).filter(|end| *end <= MEMORY)
        });
        match taken {
            Ok(_) => (base + piece) as *mut u8,
            Err(_) => core::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: Bump = Bump { memory: UnsafeCell::new([0; MEMORY]), used: AtomicUsize::new(0) };

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: it ends the program.
    unsafe { _exit(101) }
}

// The start of the program and its end are the C library's.
#[link(name = "c")]
unsafe extern "C" {
    fn _exit(code: i32) -> !;
}

/// Unwinding never happens; the core library, which was compiled for it, names these.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() {}

#[unsafe(no_mangle)]
extern "C" fn main(_: i32, _: *const *const u8) -> i32 {
    match checks() {
        Ok(results) => results.iter().position(|sound| !sound).map_or(0, |at| at as i32 + 1),
        Err(_) => 100,
    }
}

fn checks() -> Result<Vec<bool>, Error> {
    let mut hashes: Vec<u64> = (0..2000u64).map(|key| xxh3(&key.to_le_bytes(), 0)).collect();
    let mut results = Vec::new();

    let mut blocked = Blocked::for_rate(2000, 0.01)?;
    blocked.insert_hashes(&hashes);
    results.push(hashes.iter().all(|&hash| blocked.contains_hash(hash)) && blocked.rate_now() < 0.02);
    let mut bloom = Bloom::for_rate(2000, 0.01)?;
    bloom.insert_hashes(&hashes);
    results.push(hashes.iter().all(|&hash| bloom.contains_hash(hash)) && bloom.rate_now() < 0.02);
    let mut counting = Counting::for_rate(2000, 0.01)?;
    counting.insert_hashes(&hashes);
    results.push(counting.remove_hashes(&hashes) == 2000 && counting.census().used == 0);
    let mut scalable = Scalable::new(100, 0.01)?;
    scalable.insert_hashes(&hashes, &mut [false; 2000])?;
    results.push(hashes.iter().all(|&hash| scalable.contains_hash(hash)) && scalable.layers().count() > 3);
    let mut layered = Layered::for_rate(100, 0.01, 2)?;
    layered.insert_keywords(&hashes[..3]);
    results.push(layered.contains_keywords(&hashes[..3]) && !layered.contains_keywords(&hashes[3..6]));
    let mut counts = CountMin::new(0.01, 0.01)?;
    counts.add_hashes(&hashes);
    counts.add_hash(hashes[0], 41);
    results.push(counts.estimate_hash(hashes[0]) >= 42 && counts.total() == 2041);
    let fuse = Fuse::build(&mut hashes, 8)?;
    results.push(hashes.iter().all(|&hash| fuse.contains_hash(hash)));
    let ribbon = Ribbon::build(&mut hashes, Widths { bits: 8, shorter: 0 })?;
    results.push(hashes.iter().all(|&hash| ribbon.contains_hash(hash)));

    let shape = Kind::Bloom.shape_for_rate(1_000_000, 0.01)?;
    results.push(shape.hashes() == 7 && murmur3(b"hello", 0) == 0x248b_fa47);
    // Memory that is not there is an error, not the end of the program.
    results.push(matches!(Blocked::for_rate(1 << 30, 0.01), Err(Error::Memory { .. })));
    Ok(results)
}
