//! The ten lines of the front page, as a program: a set of addresses, saved and asked again.
//!
//! `cargo run -p tamis --example emails`

#[rustfmt::skip] // the lines stand here as they stand on the front page
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?; // removed at the end; leave this out to keep the file
    std::env::set_current_dir(folder.path())?;
    let emails = ["ann@example.org", "bob@example.org", "cleo@example.org"];
    let keys = ["tt0111161".to_string(), "tt0068646".to_string()];
    let mut other = tamis::Filter::with_rate(1_000_000, 0.01)?;
    other.insert("dan@example.org");

    let mut seen = tamis::Filter::with_rate(1_000_000, 0.01)?;      // the default kind; a builder for the rest
    for e in &emails { seen.insert(e); }                            // impl AsRef<[u8]>: bytes, so that languages agree
    assert!(seen.contains("ann@example.org"));
    seen.merge(&other)?;                                             // an error that names the difference, never a panic
    println!("{} keys, rate {}", seen.estimated_len(), seen.rate());
    seen.save("emails.tamis")?;                                      // whole or not at all
    let file = tamis::File::open("emails.tamis")?;                   // memory map; recipe applied
    file.contains("ANN@example.org "); file.groups("ann@example.org");
    let some: tamis::Filter = keys.iter().collect();

    assert!(file.contains("dan@example.org") && some.contains("tt0111161"));
    println!("{file:#?}\n{some:#?}");
    Ok(())
}
