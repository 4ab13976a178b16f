//! Parts of a job that is spread over machines, of any content: no panic, and no memory on their word.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tamis_jobs::fuzz::parts(data));
