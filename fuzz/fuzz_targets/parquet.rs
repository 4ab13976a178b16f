//! A Parquet file of any bytes: it is refused, or all of its columns can be scanned.

#![no_main]

use std::io::{Seek, Write};
use std::ops::Range;

use libfuzzer_sys::fuzz_target;
use tamis::key::Column;
use tamis_read::Control;
use tamis_read::{BadRow, Format, Options, RowResult, Sink, Sources};

/// More rows are not read: a few bytes can stand for billions of nulls.
const MOST_ROWS: u32 = 100_000;

struct Count(u32);

impl Sink for Count {
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        assert_eq!(values.len(), 1);
        self.0 += 1;
        // Any refusal ends the scan.
        if self.0 > MOST_ROWS { Err(BadRow::SecondRow.into()) } else { Ok(()) }
    }
}

fuzz_target!(
    init: {
        // The reader catches the panics of the decoder that it uses. libFuzzer's hook would end
        // the process at the first of them; only panics in code of this project may do that.
        std::panic::set_hook(Box::new(|panic| {
            let ours = panic.location().is_some_and(|at| at.file().contains("crates/"));
            if ours {
                eprintln!("{panic}");
                std::process::abort();
            }
        }));
    },
    |data: &[u8]| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(data).unwrap();
        file.rewind().unwrap();
        let inputs = [file.path().to_str().unwrap().to_owned()];
        let options = Options { format: Some(Format::Parquet), ..Options::default() };
        for number in 1..=8 {
            match Sources::open(&inputs, &options, &[Column::Number(number)]) {
                Ok(sources) => {
                    sources.explain();
                    let _ = sources.scan(vec![Count(0)], &Control::default());
                }
                // A file of no use at all need not be opened again for its other columns.
                Err(_) if number > 1 => {}
                Err(error) if error.to_string().contains("not a Parquet file") => break,
                Err(_) => {}
            }
        }
    }
);
