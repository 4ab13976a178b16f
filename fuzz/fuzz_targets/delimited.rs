//! Delimited text: both ways to read it agree, and so do chunks of any size.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tamis_read::fuzz::delimited(data));
