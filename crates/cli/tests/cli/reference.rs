//! The reference of verbs, docs/reference/verbs.md, is what `--help` says. After a change of help, write it again
//! with `TAMIS_REWRITE=1 cargo test -p tamis-cli reference`.

use std::path::PathBuf;
use std::{env, fs};

use crate::support::Folder;

const ABOVE: &str = "# Verbs

What `tamis VERB --help` says of every verb. A test holds this page against the program.
";

/// The subcommands that a page of help lists, each with what it does.
fn listed(help: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let list = help.split_once("\nCommands:\n").map_or("", |(_, after)| after);
    for line in list.lines().take_while(|line| !line.is_empty()) {
        match line.strip_prefix("  ").filter(|line| !line.starts_with(' ')) {
            Some(line) => {
                let (name, what) = line.split_once(' ').unwrap_or((line, ""));
                all.push((name.into(), what.trim().into()));
            }
            // A text that goes on below.
            None => {
                if let Some((_, what)) = all.last_mut() {
                    what.push(' ');
                    what.push_str(line.trim());
                }
            }
        }
    }
    all.retain(|(name, _)| name != "help");
    all
}

/// The sections of these subcommands and of theirs.
fn sections(folder: &Folder, above: &str, verbs: &[(String, String)], out: &mut String) {
    for (verb, _) in verbs {
        let name = format!("{above}{verb}");
        let help = folder.ok(&format!("{name} --help"));
        let level = if above.is_empty() { "##" } else { "###" };
        let text: Vec<&str> = help.lines().map(str::trim_end).collect();
        *out += &format!("\n{level} tamis {name}\n\n```text\n{}\n```\n", text.join("\n").trim_end());
        sections(folder, &format!("{name} "), &listed(&help), out);
    }
}

#[test]
fn the_reference_of_verbs_is_what_help_says() {
    let folder = Folder::new();
    let verbs = listed(&folder.ok("--help"));
    assert!(verbs.len() > 20, "{verbs:?}");
    let mut page = format!("{ABOVE}\n| verb | what it does |\n|---|---|\n");
    for (verb, what) in &verbs {
        page += &format!("| [`{verb}`](#tamis-{verb}) | {} |\n", what.replace('|', "\\|"));
    }
    sections(&folder, "", &verbs, &mut page);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/verbs.md");
    if env::var_os("TAMIS_REWRITE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap();
    assert!(
        written == page,
        "docs/reference/verbs.md is not what --help says: TAMIS_REWRITE=1 cargo test -p tamis-cli reference"
    );
}
