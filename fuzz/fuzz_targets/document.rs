//! The text of HTML and of Markdown.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tamis_read::fuzz::document(data));
