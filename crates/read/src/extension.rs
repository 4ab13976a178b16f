//! The end of a file's name, which says what is in it.

use std::path::Path;

use crate::reader::Compression;
use crate::remote::Address;

/// The last part of the name, in lower case, without that of a compression; empty where there is none.
pub fn extension(path: &Path) -> String {
    let path = Address::of(path).map_or(path, |address| Path::new(address.without_question()));
    let plain = match Compression::of_name(path) {
        Some(_) => path.with_extension(""),
        None => path.to_owned(),
    };
    let name = plain.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.rsplit_once('.').map_or(String::new(), |(_, extension)| extension.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_is_what_stands_before_that_of_a_compression() {
        for (name, found) in [
            ("a.csv", "csv"),
            ("d.x/a.CSV.gz", "csv"),
            ("a.ndjson.ZST", "ndjson"),
            ("a.b.tsv.xz", "tsv"),
            (".csv", "csv"),
            ("a.gz", ""),
            ("a", ""),
            ("..", ""),
            ("a.csv/", "csv"),
            ("a.csv.lz4", "lz4"),
            ("https://host/a.tsv.gz?t=1.x", "tsv"),
        ] {
            assert_eq!(extension(Path::new(name)), found, "{name}");
        }
    }
}
