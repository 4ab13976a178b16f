//! Bloom filters in Parquet, of any bytes: a filter on its own, and a file that is looked at for its filters, and
//! written again with others. No panic, and no memory on the word of a file; what is written again reads as it did.

#![no_main]

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use tamis_formats::parquet::{SplitBlock, hash};
use tamis_jobs::parquet::inspect::inspect;
use tamis_read::Control;
use tamis_read::parquet::{Anatomy, FilterPlace};

/// Row groups of more rows are not read: a few bytes can stand for billions of nulls.
const MOST_ROWS: u64 = 100_000;

fuzz_target!(
    init: {
        // The reader catches the panics of the decoder that it uses; only panics in code of this project may end the
        // process.
        std::panic::set_hook(Box::new(|panic| {
            if panic.location().is_some_and(|at| ["crates/", "fuzz_targets/"].iter().any(|ours| at.file().contains(ours))) {
                eprintln!("{panic}");
                std::process::abort();
            }
        }));
    },
    |data: &[u8]| {
        if let Ok(filter) = SplitBlock::read(data) {
            assert!(data.starts_with(&filter.bytes()));
            let (rate, fill) = (filter.rate(), filter.fill());
            assert!((0.0..=1.0).contains(&rate) && (0.0..=1.0).contains(&fill));
            filter.contains_hash(hash(data));
        }
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(data).unwrap();
        let _ = inspect(&[file.path().to_str().unwrap().to_owned()], &[], 1, &Control::default());
        let _ = indexed(file.path());
    }
);

/// Reads columns, and writes the file again with a place for a filter in each.
fn indexed(path: &Path) -> tamis_read::Result<()> {
    let file = Anatomy::open(path)?;
    let mut places = HashMap::new();
    for group in 0..file.row_groups().min(4) {
        for column in 0..file.columns().len().min(4) {
            let chunk = file.chunk(group, column);
            let _ = chunk.dictionary_texts(|_| {});
            if chunk.rows() <= MOST_ROWS {
                let control = Control::default();
                let (mut values, mut members) = (HashSet::new(), HashSet::new());
                let decoded = chunk.values(&control, |value| _ = values.insert(hash(value)));
                let all = chunk
                    .members()
                    .and_then(|all| all.each(&control, |value| _ = members.insert(hash(value))));
                // Whoever finds a file damaged may do so before the other; who does not gives all that there is.
                assert!(decoded.is_err() || all.is_err() || values.is_subset(&members));
            }
            places.insert((group, column), FilterPlace { offset: 4 + group as u64, length: column as u32 });
        }
    }
    let (_, mut body) = file.body()?;
    let mut again = Vec::new();
    body.read_to_end(&mut again).unwrap();
    again.extend(file.end(&places)?);
    let mut copy = tempfile::NamedTempFile::new().unwrap();
    copy.write_all(&again).unwrap();
    let copy = Anatomy::open(copy.path()).expect("what is written again is read again");
    assert_eq!((copy.columns(), copy.row_groups()), (file.columns(), file.row_groups()));
    for (&(group, column), place) in &places {
        let found = copy.chunk(group, column).filter_place().unwrap();
        assert_eq!(found, Some((place.offset, Some(place.length.into()))));
    }
    Ok(())
}
