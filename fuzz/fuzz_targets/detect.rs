//! Recognising an input by its name and its first bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tamis_read::fuzz::detect(data));
