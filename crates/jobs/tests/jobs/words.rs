//! Below the front ends no text spells an option: a refusal gives it as data, and each front end words it.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates below the front ends.
const CRATES: [&str; 7] = ["tamis", "read", "make", "jobs", "stream", "report", "lab"];

/// Names that lie on disk: version 1 of a stream's state called its fields as the command line did.
const ON_DISK: [(&str, &str); 1] = [("stream/src/state.rs", "--batch")];

#[test]
fn no_text_below_the_front_ends_spells_a_flag() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for name in CRATES {
        walk(&crates.join(name).join("src"), &mut files);
    }
    assert!(files.len() > 150, "only {} files were found", files.len());
    let mut wrong = Vec::new();
    for file in &files {
        let name = file.strip_prefix(crates).unwrap().to_str().unwrap().replace('\\', "/");
        let flags = literals(&fs::read_to_string(file).unwrap())
            .into_iter()
            .filter(|(_, text)| spells(text) && !ON_DISK.contains(&(&*name, &**text)));
        wrong.extend(flags.map(|(line, text)| format!("{name}:{line}: {text}")));
    }
    assert!(wrong.is_empty(), "give options as data (Help, Opt) in place of flags:\n{}", wrong.join("\n"));
}

#[test]
fn flags_are_found_in_literals_alone() {
    let source = r####"
        // "--comment" /* "--comment" */
        /* "--comment" /* "--nested" */ "--comment" */
        fn f<'a>(c: char) -> &'a str { let _ = ('"', '\'', b'"', "not a flag"); "a\" --one" }
        const TWO: &str = r#"give "--two""#;
        const THREE: &[u8] = b"(--three)";
        #[cfg(test)]
        mod tests { fn g() { let _ = "{ --test"; } }
        #[cfg(test)]
        use something;
        const FOUR: &str = "--four";
    "####;
    let found: Vec<String> =
        literals(source).into_iter().map(|(_, text)| text).filter(|text| spells(text)).collect();
    assert_eq!(found, [r#"a\" --one"#, r#"give "--two""#, "(--three)", "--four"]);
    assert!(!["a--b", "---", "-- ", "1 --2", "<!--x", "->"].into_iter().any(spells));
}

/// Whether two dashes begin a word somewhere in a text.
fn spells(text: &str) -> bool {
    text.match_indices("--").any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + 2..].chars().next();
        !before.is_some_and(|c| c.is_alphanumeric() || "-!".contains(c))
            && after.is_some_and(|c| c.is_ascii_lowercase())
    })
}

/// The sources in a folder, without those of tests.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests" || stem == "testing");
        match () {
            () if is_test => {}
            () if path.is_dir() => walk(&path, files),
            () if path.extension().is_some_and(|extension| extension == "rs") => files.push(path),
            () => {}
        }
    }
}

/// The string literals of a source as they stand there, with their lines; without those of tests.
fn literals(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut rest = source;
    // Within an item of tests: how deep in its braces, where they have begun.
    let mut test: Option<usize> = None;
    while let Some(c) = rest.chars().next() {
        let len = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => comment(rest),
            '#' if rest.starts_with("#[cfg(test)]") => {
                test = Some(0);
                "#[cfg(test)]".len()
            }
            '{' | '}' | ';' => {
                test = match (test, c) {
                    (Some(depth), '{') => Some(depth + 1),
                    (Some(0 | 1), '}') | (Some(0), ';') => None,
                    (Some(depth), '}') => Some(depth - 1),
                    (other, _) => other,
                };
                1
            }
            '\'' => character(rest),
            '"' | 'r' | 'b' | 'c' => match string(rest) {
                Some((text, len)) => {
                    if test.is_none() {
                        let before = &source[..source.len() - rest.len()];
                        found.push((before.matches('\n').count() + 1, text.to_owned()));
                    }
                    len
                }
                None => word(rest),
            },
            c if c.is_alphanumeric() || c == '_' => word(rest),
            c => c.len_utf8(),
        };
        rest = &rest[len..];
    }
    found
}

/// The length of the word that begins here, or of one character.
fn word(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    end.max(text.chars().next().map_or(0, char::len_utf8))
}

/// The length of a comment, which may hold others.
fn comment(text: &str) -> usize {
    let (mut at, mut depth) = (2, 1);
    while depth > 0 && at < text.len() {
        let rest = &text[at..];
        let (step, change) = match () {
            () if rest.starts_with("/*") => (2, 1),
            () if rest.starts_with("*/") => (2, -1),
            () => (rest.chars().next().map_or(1, char::len_utf8), 0),
        };
        at += step;
        depth += change;
    }
    at
}

/// The length of a character in quotes, or of the quote of a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((at, escaped))) => {
            let from = at + escaped.len_utf8();
            text[from..].find('\'').map_or(1, |end| from + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// The text of a string literal that begins here, and its length.
fn string(text: &str) -> Option<(&str, usize)> {
    let prefix = text.find(|c| !matches!(c, 'b' | 'c' | 'r'))?;
    let raw = text[..prefix].ends_with('r');
    if prefix > 2 {
        return None;
    }
    let fences = text[prefix..].find(|c| c != '#')?;
    let start = prefix + fences + 1;
    if !text[prefix + fences..].starts_with('"') || (fences > 0 && !raw) {
        return None;
    }
    if raw {
        let end = format!("\"{}", "#".repeat(fences));
        let len = text[start..].find(&end)?;
        return Some((&text[start..start + len], start + len + end.len()));
    }
    let mut escaped = false;
    let len = text[start..].find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    Some((&text[start..start + len], start + len + 1))
}
