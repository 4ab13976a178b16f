//! Files of other systems, of any bytes. No panic, and no memory on their word; what is read as a filter is written
//! again as it was, but for what its layout does not fix.

#![no_main]

use tamis_formats::{Layout, recognise, write};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = recognise(data);
    for layout in Layout::ALL {
        let Ok(found) = layout.read(data) else { continue };
        // What grew, and what counts, is read alone.
        let Some(filter) = found.filter() else { continue };
        let mut bytes = Vec::new();
        write(filter, &mut bytes).expect("a filter that was read can be written");
        if layout != Layout::HadoopCounting {
            let again = layout.read(&bytes).expect("what was written is read");
            assert_eq!(again.filter().map(|filter| &filter.words), Some(&filter.words));
        }
    }
});
