//! Passes on each line of standard input the first time that it comes, in memory that does not grow
//! with the input.
//!
//! `seq 1 100 | cat - <(seq 1 100) | cargo run -p tamis --example first -- 1000000`
//!
//! The number is that of the different lines to expect. About one new line in a thousand is taken for
//! one that was seen.

use std::io::{self, BufRead, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let expected = std::env::args().nth(1).map_or(Ok(1_000_000), |number| number.parse())?;
    let mut seen = tamis::Filter::with_rate(expected, 0.001)?;
    let (mut input, mut output) = (io::stdin().lock(), io::BufWriter::new(io::stdout().lock()));
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if seen.insert(&line) {
            output.write_all(&line)?;
        }
        line.clear();
    }
    output.flush()?;
    eprintln!("{seen:?}");
    Ok(())
}
