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
fn a_strict_search_tells_of_documents_that_are_gone_or_lack_a_word() {
    let folder = library();
    folder.ok(&format!("build docs {INDEX} -o index.tamis"));
    // Times tell nothing: a document that was only touched is named by nothing.
    folder.shell("touch docs/*.*").succeeded("touch");
    let done = folder.run("search index.tamis alien --strict");
    assert!(done.code == 0 && !done.err.contains("changed after"), "{}", done.err);
    std::fs::remove_file(folder.path("docs/a.txt")).unwrap();
    folder.write("docs/b.html", "<p>rockets of it");
    folder.shell("touch -d 2001-01-01 docs/b.html").succeeded("touch");
    let done = folder.run("search index.tamis alien --strict");
    assert_eq!((done.code, &done.out[..]), (2, "docs/sub/d.htm\n"), "{}", done.err);
    for says in [
        "docs/a.txt: no such file",
        "cannot be checked",
        "2 documents of them read: 1 has the words, 1 not (named by chance, or changed since)",
        "1 document could not be read, and may have the words",
        "where the index was built",
    ] {
        assert!(done.err.contains(says), "{says}: {}", done.err);
    }
    let said: serde_json::Value = folder.run("search index.tamis alien --strict --json").out.parse().unwrap();
    assert_eq!(
        (&said["unreadable"], &said["lacking"]),
        (&serde_json::json!(["docs/a.txt"]), &serde_json::json!(["docs/b.html"]))
    );
    // Without it, what the index knows.
    assert_eq!(found(&folder, "alien").len(), 3);
    folder.ok("add index.tamis docs/b.html");
    assert_eq!(found(&folder, "rocket --strict"), ["docs/b.html"]);
}

#[test]
#[cfg(unix)]
fn what_is_no_regular_file_any_more_is_refused_and_nobody_waits_for_it() {
    let folder = library();
    folder.ok(&format!("build docs {INDEX} -o index.tamis"));
    folder.shell("rm docs/a.txt docs/b.html && mkfifo docs/a.txt && mkdir docs/b.html").succeeded("mkfifo");
    let done = folder.run("search index.tamis alien --strict");
    assert_eq!((done.code, &done.out[..]), (2, "docs/sub/d.htm\n"), "{}", done.err);
    for says in
        ["docs/a.txt: is no regular file now", "docs/b.html: is a folder now", "1 document of them read"]
    {
        assert!(done.err.contains(says), "{says}: {}", done.err);
    }
    // None can be opened: no table of nothing.
    folder.shell("rm -r docs").succeeded("rm");
    let done = folder.run("search index.tamis alien --strict");
    assert_eq!((done.code, &done.out[..]), (2, ""), "{}", done.err);
    assert!(
        done.err.contains("0 documents of them read") && done.err.contains("3 documents could not be read")
    );
}

#[test]
fn an_index_of_the_most_frequent_words_says_that_documents_are_missing() {
    let folder = Folder::new();
    folder.write("d/a.txt", "space space space alien alien rose");
    folder.write("d/b.txt", "rose rose ship ship space");
    folder.write("d/c.txt", "ship alien space rose");
    folder.ok("build d --record file --key :words,top=2 --group (file) --fpr 1e-6 -o t.tamis");
    for (words, documents) in [("rose", "d/b.txt\n"), ("rose rose ship ship space", "")] {
        for strict in [&[][..], &["--strict"]] {
            let done = folder.run_words(&[&["search", "t.tamis", words], strict].concat(), "");
            assert_eq!(
                (&done.out[..], done.code),
                (documents, i32::from(documents.is_empty())),
                "{}",
                done.err
            );
            assert!(
                done.err.contains("only the 2 most frequent words of each document (top=2)"),
                "{}",
                done.err
            );
        }
    }
    let said: serde_json::Value = folder.run("search t.tamis rose --json").out.parse().unwrap();
    assert_eq!(said["most_frequent_only"], 2);
    for verb in ["locate", "query"] {
        let done = folder.run(&format!("{verb} t.tamis rose"));
        assert!(done.err.contains("most frequent words"), "{verb}: {}", done.err);
    }
    // Words that are asked for are all asked, or refused.
    folder.run_words(&["query", "t.tamis", "rose ship space"], "").refused("query", 2, &["3 keywords"]);
    // The documents themselves have all of their words.
    folder.write("d/b.txt", "ship ship ship space space space rose");
    assert_eq!(folder.run("search t.tamis rose --strict").out, "d/b.txt\n");
    folder.ok("build d --record file --key :words --group (file) -o all.tamis");
    let done = folder.run("search all.tamis rose --json");
    assert!(
        !done.err.contains("most frequent") && done.out.contains("\"most_frequent_only\":null"),
        "{}",
        done.out
    );
    // A record of a layered filter is cut, too, and that is said.
    folder.ok("build d --record file --key :words,top=2 --kind layered --layers 2 -o l.tamis");
    let done = folder.run_words(&["query", "l.tamis", "alien space rose"], "");
    assert!(done.err.contains("only the most frequent keywords were asked"), "{}", done.err);
}

#[test]
fn no_text_after_code_that_names_a_script_is_lost() {
    let folder = Folder::new();
    folder
        .write("d/a.md", "# Manual\n\n    <script src=\"x.js\">\n    start();\n\nThen restart the server.\n");
    folder.write("d/b.md", "1. First\n\n        <style>\n\n2. Then restart the server `</style>`.\n");
    folder.write("d/c.html", "<p>exampl words <!-- note --!> restart the server</p>");
    folder.write("d/d.html", "<title>The <script> tag</title><p>restart the server</p>");
    folder.ok(&format!("build d {INDEX} --fpr 1e-6 -o index.tamis"));
    assert_eq!(found(&folder, "restart server"), ["d/a.md", "d/b.md", "d/c.html", "d/d.html"]);
    assert_eq!(found(&folder, "start"), ["d/a.md"]);
}

#[test]
fn documents_that_are_not_utf8_are_refused_or_left_out_and_counted() {
    let folder = library();
    folder.write("docs/latin.txt", b"space caf\xe9");
    folder.refused(
        &format!("build docs {INDEX} -o x.tamis"),
        1,
        &["latin.txt", "byte 10 is not UTF-8", "iconv", "--bad-rows skip"],
    );
    let done = folder.run(&format!("build docs {INDEX} --bad-rows skip -o index.tamis"));
    assert!(done.code == 0 && done.err.contains('1'), "{}", done.err);
    assert_eq!(found(&folder, "space").len(), 3);
}

#[test]
fn an_index_of_words_counts_keywords_and_not_rows() {
    let folder = library();
    folder.ok(&format!("build docs {INDEX} -o index.tamis"));
    let shown = folder.ok("inspect index.tamis");
    assert!(shown.contains("keywords") && !shown.contains("rows") && !shown.contains(" row"), "{shown}");
    folder.run("search index.tamis alien --json --print0").refused("search", 2, &["--print0", "--json"]);
    folder.run("locate index.tamis alien --json --print0").refused("locate", 2, &["--print0", "--json"]);
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
    folder.refused("search layered.tamis alien", 2, &["layered", "--kind blocked", "--each-keyword"]);
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
