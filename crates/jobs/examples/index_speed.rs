//! Milliseconds for the filters of a column of a Parquet file, without the copy of the file: the median of some rounds.
//! `clusters/formats/index-speed.py` runs it beside pyarrow, which reads the column.
//!
//! ```text
//! index_speed FILE COLUMN THREADS ROUNDS
//! ```
//!
//! Three numbers: the values are given to somebody who does nothing with them but look; they are hashed and their bits
//! set in a filter whose size is known beforehand, which is the least that an index can do; and the index.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;
use std::{env, error};

use tamis_formats::parquet::{SplitBlock, hash};
use tamis_jobs::parquet::index::make;
use tamis_make::parallel;
use tamis_read::Control;
use tamis_read::error::Result;
use tamis_read::parquet::Anatomy;

const RATE: f64 = 0.01;

fn main() -> Result<(), Box<dyn error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, column, threads, rounds] = &arguments[..] else {
        return Err("index_speed FILE COLUMN THREADS ROUNDS".into());
    };
    let (threads, rounds, control) = (threads.parse()?, rounds.parse()?, Control::default());
    let file = Anatomy::open(Path::new(file))?;
    let column = file.find(column)?;
    let groups = file.row_groups();
    let known: Vec<u64> = (0..groups)
        .map(|group| Ok(make(&file, (group, column), RATE, &control)?.0.values.number()))
        .collect::<Result<_>>()?;
    let median = |work: &(dyn Fn(usize) -> Result<()> + Sync)| -> Result<f64> {
        let mut times = Vec::new();
        for _ in 0..rounds {
            let start = Instant::now();
            parallel::each(threads, groups, work)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    };
    let looked = median(&|group| {
        let mut sum = 0;
        file.chunk(group, column).members()?.each(&control, |value| {
            sum += value.len() + usize::from(value.first().copied().unwrap_or(0));
        })?;
        black_box(sum);
        Ok(())
    })?;
    let floor = median(&|group| {
        let mut filter = SplitBlock::new(SplitBlock::bytes_for(known[group], RATE));
        file.chunk(group, column).members()?.each(&control, |value| filter.insert_hash(hash(value)))?;
        black_box(filter.bytes());
        Ok(())
    })?;
    let index = median(&|group| {
        black_box(make(&file, (group, column), RATE, &control)?);
        Ok(())
    })?;
    println!("{looked:.2} {floor:.2} {index:.2}");
    Ok(())
}
