//! Counts the words of standard input, keeps the counts in a file, and asks it for the words that are
//! named as arguments. Run it again with the same file to count more.
//!
//! `cargo run -p tamis --example words -- words.tamis sieve drum < README.md`

use std::io::BufRead;
use std::path::Path;

use tamis::key::Step;
use tamis::{Counter, File};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((path, words)) = arguments.split_first() else {
        return Err("usage: words FILE.tamis [WORD]... < TEXT".into());
    };
    let mut counter = match Path::new(path).exists() {
        true => Counter::open(path)?,
        false => Counter::builder().epsilon(0.0001).steps([Step::Lower]).build()?,
    };
    for line in std::io::stdin().lock().lines() {
        counter.extend(line?.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()));
    }
    counter.save(path)?;

    let file = File::open(path)?;
    for word in words {
        println!("{word}: {}", file.estimate(word).unwrap_or(0));
    }
    println!("{} words; an estimate is at most {:.1} too high", counter.total(), counter.bound());
    Ok(())
}
