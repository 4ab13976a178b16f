//! A file of exact keys of any bytes: as they are, and with their lengths and checksums put right,
//! so that what lies behind them is reached.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tamis_make::exact::fuzz(data));
