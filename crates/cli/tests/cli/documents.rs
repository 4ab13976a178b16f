//! Whole files as records, and the search for those that have all of some words.

use std::collections::BTreeSet;

use crate::support::{Dice, Folder};

const INDEX: &str = "--record file --key :words,stop=en,min=3,stem=en --group (file)";

/// Four documents, each in another form.
fn library() -> Folder {
    let folder = Folder::new();
    folder.write("docs/a.txt", "The aliens came from outer space in a ship.");
    folder.write(
        "docs/b.html",
        "<html><title>Space</title><p class='hidden'>An <b>al</b>ien &eacute;t&eacute;<script>var robot;</script><!-- garden -->",
    );
    folder.write(
        "docs/c.md",
        "# Gardens\n\nRoses need [space](http://alien.example/robot \"aliens\") to `grow`\n",
    );
    folder.write("docs/sub/d.htm", "<p>alien</p><p>garden</p>");
    folder
}

fn found(folder: &Folder, words: &str) -> Vec<String> {
    let done = folder.run(&format!("search index.tamis {words}"));
    assert_eq!(done.code, i32::from(done.out.is_empty()), "{words}: {}", done.err);
    done.out.lines().map(str::to_owned).collect()
}

#[test]
fn documents_are_found_by_all_of_their_words_in_any_form() {
    let folder = library();
    folder.ok(&format!("build docs {INDEX} --fpr 1e-6 -o index.tamis"));
    for (words, documents) in [
        ("space alien", &["docs/a.txt", "docs/b.html"][..]),
        ("Spaces the ALIENS", &["docs/a.txt", "docs/b.html"]),
        ("alien", &["docs/a.txt", "docs/b.html", "docs/sub/d.htm"]),
        ("garden rose growing", &["docs/c.md"]),
        ("été", &["docs/b.html"]),
        ("ships", &["docs/a.txt"]),
        ("robot", &[]),
        ("hidden", &[]),
        ("example", &[]),
        ("alien rose", &[]),
    ] {
        assert_eq!(found(&folder, words), documents, "{words}");
        assert_eq!(found(&folder, &format!("{words} --strict")), documents, "{words}");
    }
    let done = folder.run_words(&["search", "index.tamis", "of the space, an alien", "--json"], "");
    let said: serde_json::Value = done.succeeded("search").parse().unwrap();
    assert_eq!(said["words"], serde_json::json!(["space", "alien"]));
    assert_eq!(said["dropped"], serde_json::json!(["of", "the", "an"]));
    assert_eq!(said["all_documents"], 4);
    assert_eq!(folder.ok("search index.tamis rose --print0"), "docs/c.md\0");
    assert_eq!(folder.ok("locate index.tamis rose ship"), "docs/a.txt\ndocs/c.md\n");
    folder.refused("search index.tamis the of", 2, &["no word is left"]);
    let test = folder.json("test index.tamis docs");
    assert_eq!((&test["false_negatives"], &test["passed"]), (&0.into(), &true.into()));
}

#[test]
fn a_strict_search_tells_of_documents_that_are_gone_or_changed() {
    let folder = library();
    folder.ok(&format!("build docs {INDEX} -o index.tamis"));
    std::fs::remove_file(folder.path("docs/a.txt")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    folder.write("docs/b.html", "<p>rockets of it");
    let done = folder.run("search index.tamis alien --strict");
    assert_eq!((done.code, &done.out[..]), (0, "docs/sub/d.htm\n"), "{}", done.err);
    for says in ["docs/a.txt", "cannot be checked", "docs/b.html: was changed after the index"] {
        assert!(done.err.contains(says), "{says}: {}", done.err);
    }
    let said = folder.json("search index.tamis alien --strict");
    assert_eq!(
        (&said["unreadable"], &said["changed"]),
        (&serde_json::json!(["docs/a.txt"]), &serde_json::json!(["docs/b.html"]))
    );
    // Without it, what the index knows.
    assert_eq!(found(&folder, "alien").len(), 3);
    folder.ok("add index.tamis docs/b.html");
    assert_eq!(found(&folder, "rocket --strict"), ["docs/b.html"]);
}

/// An independent model: its own cutting of text into words, and sets.
#[test]
fn no_document_that_has_all_words_is_missing() {
    let folder = Folder::new();
    let mut dice = Dice(7);
    let mut model: Vec<(String, BTreeSet<String>)> = Vec::new();
    for number in 0..60 {
        let signs = [" ", "\n", ", ", ". ", "-", "\u{2014}", "\u{a0}", "/"];
        let mut text = String::new();
        for _ in 0..1 + dice.below(40) {
            let word = format!("w{}", dice.below(60) * dice.below(60) / 60);
            text += if dice.below(2) == 0 { &word } else { "" };
            text += if dice.below(9) == 0 { "É" } else { "" };
            text += signs[dice.below(signs.len() as u64) as usize];
        }
        text += "all";
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: BTreeSet<String> = words.map(str::to_lowercase).collect();
        let name = format!("docs/{number:02}.txt");
        folder.write(&name, &text);
        model.push((name, words));
    }
    for kind in ["blocked --fpr 0.2", "fuse", "counting"] {
        folder.ok(&format!(
            "build docs --record file --key :words,lower --group (file) --kind {kind} -o index.tamis"
        ));
        let vocabulary: Vec<String> = model.iter().flat_map(|(_, words)| words).cloned().collect();
        for _ in 0..25 {
            let count = 1 + dice.below(3) as usize;
            let words: Vec<&str> =
                (0..count).map(|_| &vocabulary[dice.below(vocabulary.len() as u64) as usize][..]).collect();
            let has = |(_, of): &&(String, BTreeSet<String>)| words.iter().all(|word| of.contains(*word));
            let expected: Vec<String> = model.iter().filter(has).map(|(name, _)| name.clone()).collect();
            let found_loosely = found(&folder, &words.join(" "));
            assert!(expected.iter().all(|name| found_loosely.contains(name)), "{kind}: {words:?}");
            assert_eq!(
                found(&folder, &format!("{} --strict", words.join(" "))),
                expected,
                "{kind}: {words:?}"
            );
        }
    }
}

#[test]
fn an_index_does_not_depend_on_threads_and_splits() {
    let folder = library();
    folder.ok(&format!("build docs {INDEX} --threads 1 -o one.tamis"));
    folder.ok(&format!("build docs {INDEX} --threads 4 -o four.tamis"));
    assert!(folder.read("one.tamis") == folder.read("four.tamis"));
    folder.ok(&format!("plan docs {INDEX} -o params.json"));
    for (part, inputs) in [("x", "docs/c.md docs/a.txt"), ("y", "docs/sub docs/b.html")] {
        folder.ok(&format!("build {inputs} --params params.json -o {part}.tamis"));
    }
    folder.ok("merge y.tamis x.tamis -o merged.tamis");
    assert!(folder.read("one.tamis") == folder.read("merged.tamis"));
    // Compressed, a document has the same words.
    folder.shell("cp -r docs packed && gzip packed/*.* packed/sub/*").succeeded("gzip");
    folder.ok("build packed --record file --key :words,lower --group (file):before-last=.,after-first=/ -o packed.tamis");
    folder.ok("build docs --record file --key :words,lower --group (file):after-first=/ -o plain.tamis");
    let groups = |file: &str| folder.json(&format!("inspect {file}"))["groups"].clone();
    assert_eq!(groups("packed.tamis"), groups("plain.tamis"));
}

#[test]
fn documents_are_records_of_a_layered_filter() {
    let folder = library();
    folder.ok(
        "build docs --record file --key :words,stop=en,stem=en --kind layered --layers 3 -o layered.tamis",
    );
    let test = folder.json("test layered.tamis docs");
    assert_eq!((&test["false_negatives"], &test["passed"]), (&0.into(), &true.into()));
    assert_eq!(folder.run_words(&["query", "layered.tamis", "Alien garden"], "").code, 0);
    assert_eq!(folder.run_words(&["query", "layered.tamis", "rocket engine"], "").code, 1);
    folder.refused("search layered.tamis alien", 2, &["not single words", "--each-keyword"]);
    folder.refused(
        "build docs --record file --key :words --kind layered --each-keyword -o x.tamis",
        2,
        &["layered"],
    );
}

#[test]
fn rows_of_a_table_can_be_searched_too() {
    let folder = Folder::new();
    folder.write(
        "films.csv",
        "title,plot\nHeat,\"A heist, a cop\"\nUp,A house flies\nDog,A cop and his house\n",
    );
    folder.ok("build films.csv --keywords plot:words,lower --each-keyword --group title -o films.tamis");
    assert_eq!(folder.ok("search films.tamis Cop house"), "Dog\n");
    folder.refused("search films.tamis cop --strict", 2, &["no whole files", "--strict"]);
    // Each keyword that is asked alone is a key; several are not one.
    assert_eq!(folder.run("query films.tamis heist").code, 0);
    folder.run_words(&["query", "films.tamis", "a cop"], "").refused("query", 2, &["2 keywords"]);
    folder.ok("build films.csv --keywords plot:words,lower --each-keyword --kind count-min --epsilon 0.01 --delta 0.01 -o counts.tamis");
    let counted = folder.json("query counts.tamis cop");
    assert!(counted.to_string().contains("2"), "{counted}");
    folder.refused("search counts.tamis cop", 2, &["counts"]);
}

#[test]
fn what_is_no_document_is_refused_with_the_reason() {
    let folder = library();
    let build = |input: &str, more: &str| format!("build {input} {INDEX} {more} -o x.tamis");
    folder.write("wide.txt", b"\xff\xfea\0b\0");
    folder.refused(&build("wide.txt", ""), 1, &["wide.txt", "UTF-16"]);
    folder.write("nul.txt", b"space\0alien");
    folder.refused(&build("nul.txt", ""), 1, &["nul.txt", "byte 6 is NUL"]);
    folder.write("late.txt", [&b"word ".repeat(20_000)[..], b"\0"].concat());
    folder.refused(&build("late.txt", ""), 1, &["late.txt", "NUL"]);
    folder.write("picture.html", b"\x89PNG\r\n");
    folder.refused(&build("picture.html", ""), 1, &["picture.html", "a picture"]);
    for text in ["", "the of and", "\u{feff}"] {
        folder.write("empty.txt", text);
        folder.refused(&build("empty.txt docs", ""), 1, &["empty.txt", "no keywords", "--bad-rows skip"]);
    }
    let done = folder.run(&build("empty.txt docs", "--bad-rows skip"));
    assert!(done.code == 0 && done.err.contains('1'), "{}", done.err);
    assert!(!folder.path("y.tamis").exists());
    for (option, says) in
        [("--delimiter ,", "--delimiter"), ("--format csv", "--format"), ("--comment #", "--comment")]
    {
        folder.refused(&build("docs", option), 1, &["one record", says]);
    }
    folder.refused(
        "build docs --record file --key title:words -o x.tamis",
        2,
        &["no column title", "--record"],
    );
    folder.refused("build docs --record file --each-keyword -o x.tamis", 2, &["no step makes keywords"]);
    folder.refused(&build("docs", "--on local[1]"), 2, &["cluster", "--record"]);
    folder.ok(&build("docs", ""));
    folder.refused("filter x.tamis docs/a.txt", 1, &["whole file"]);
    folder.refused("build docs --key :stop=en,words -o y.tamis", 2, &["concern keywords"]);
}
