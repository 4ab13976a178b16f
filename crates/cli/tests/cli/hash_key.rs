//! `--hash siphash --hash-key FILE`: a secret that no file, request or message holds.

use std::fs;

use crate::support::Folder;

/// Sixteen bytes that can be looked for.
const KEY: &[u8; 16] = b"\x01secret\x02of\x03tests";

/// A folder with two keys, numbers to learn and numbers to ask, of which half were learned.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("key", KEY);
    folder.write("other", "000102030405060708090a0b0c0d0e0f\n");
    let numbers = |range: std::ops::Range<u32>| range.map(|n| format!("{n}\n")).collect::<String>();
    folder.write("learned.txt", numbers(0..1000));
    folder.write("asked.txt", numbers(500..1500));
    folder
}

#[test]
fn every_verb_works_with_the_key_and_none_that_hashes_without() {
    let folder = folder();
    folder.ok("build learned.txt --exact --hash siphash --hash-key key -o f.tamis");
    folder.ok("build learned.txt --kind counting --hash siphash --hash-key key -o n.tamis");
    folder.ok("build learned.txt --kind count-min --heavy 0.0005 --hash siphash --hash-key key -o c.tamis");
    folder.ok("dedup learned.txt --hash siphash --hash-key key --state s.tamis -o first.txt");
    folder.ok("build learned.txt asked.txt --group (file) --hash siphash --hash-key key -o l.tamis");
    folder.ok("build learned.txt --keys 2000 --hash siphash --hash-key key -o st.tamis");
    let lines = [
        "query f.tamis 7",
        "filter f.tamis asked.txt --count",
        "filter f.tamis asked.txt --strict -o passed.txt",
        "test f.tamis learned.txt --random 1000",
        "add st.tamis asked.txt",
        "remove n.tamis learned.txt",
        "build asked.txt --like c.tamis -o like.tamis",
        "dedup asked.txt --state s.tamis -o first.txt",
        "query c.tamis 7",
        "top c.tamis -n 2",
        "verify c.tamis",
        "locate l.tamis 7",
        "merge c.tamis like.tamis -o m.tamis",
        "stream --train asked.txt --query learned.txt --from st.tamis --state folder -o answers.txt",
    ];
    for line in lines {
        // To a question the exit code 1 says no, as with grep.
        let code = if line.starts_with("query") || line.starts_with("locate") { 2 } else { 1 };
        folder.refused(line, code, &["secret key", "which was not given", "--hash-key FILE"]);
        folder.refused(
            &format!("{line} --hash-key other"),
            code,
            &["another one was given", "--hash-key FILE"],
        );
    }
    for line in lines {
        folder.ok(&format!("{line} --hash-key key"));
    }
    assert_eq!(fs::read_to_string(folder.path("passed.txt")).unwrap().lines().count(), 500);
    assert_eq!(fs::read_to_string(folder.path("first.txt")).unwrap().lines().count(), 1500);
    // What asks for no key needs none.
    folder.ok("build asked.txt --like st.tamis --hash-key key -o st2.tamis");
    for line in [
        "inspect c.tamis --json",
        "verify st.tamis",
        "compare st.tamis st.tamis",
        "merge st.tamis st2.tamis -o m.tamis",
    ] {
        folder.ok(line);
    }
}

#[test]
fn the_key_stands_in_no_file_and_in_no_message() {
    let folder = folder();
    let hex: String = KEY.iter().map(|byte| format!("{byte:02x}")).collect();
    let said = [
        "build learned.txt --exact --hash siphash --hash-key key -o f.tamis --report f.html",
        "plan learned.txt --hash siphash --hash-key key -o p.json --json",
        "inspect f.tamis --json --hash-key key",
        "test f.tamis learned.txt --random 100 --hash-key key --report t.html --json",
        "dedup learned.txt --hash siphash --hash-key key --state s.tamis -o first.txt",
        "stream --train learned.txt --keys 2000 --hash siphash --hash-key key --state folder --log json --query asked.txt -o answers.txt",
        "query f.tamis 1 --hash-key other",
    ]
    .map(|line| {
        let done = folder.run(line);
        (line.to_owned(), format!("{}{}", done.out, done.err).into_bytes())
    });
    let mut seen = said.to_vec();
    let mut folders = vec![folder.path("")];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.ends_with("key") => {}
                false => seen.push((path.display().to_string(), fs::read(&path).unwrap())),
            }
        }
    }
    assert!(seen.len() > said.len() + 8, "{}", seen.len());
    for (name, bytes) in seen {
        let holds = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        assert!(!holds(KEY) && !holds(&KEY[..8]) && !holds(&KEY[8..]), "{name} holds the key");
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        assert!(
            !text.contains(&hex[..16]) && !text.contains(&hex[16..]),
            "{name} holds the key in hexadecimal"
        );
    }
}

#[test]
fn a_key_and_its_hash_go_together() {
    let folder = folder();
    let build = "build learned.txt -o f.tamis";
    folder.refused(&format!("{build} --hash siphash"), 2, &["--hash-key FILE"]);
    folder.refused(&format!("{build} --hash-key key"), 2, &["--hash siphash"]);
    folder.refused(&format!("{build} --hash murmur3 --hash-key key"), 2, &["--hash siphash"]);
    folder.refused(&format!("{build} --hash siphash --hash-key key --seed 1"), 2, &["leave out --seed"]);
    folder.refused(
        &format!("{build} --hash siphash --hash-key asked.txt"),
        2,
        &["16 random bytes", "asked.txt"],
    );
    folder.refused(&format!("{build} --hash siphash --hash-key none"), 2, &["none: no such file"]);
    folder.refused("dedup learned.txt --hash-key key --count", 2, &["--hash siphash"]);
    folder.refused("build learned.txt -o key --hash siphash --hash-key key", 2, &["key: is an input"]);
    assert_eq!(fs::read(folder.path("key")).unwrap(), KEY);
    // Nobody reads it in a message.
    let digits = "0123456789abcdef0123456789ABCDEF";
    let said = folder.run(&format!("{build} --hash siphash --hash-key {digits}"));
    assert!(
        said.code == 2 && said.err.contains("put it into a file") && !said.err.contains("0123"),
        "{}",
        said.err
    );
    folder.ok(build);
    for line in ["query f.tamis 7", "build asked.txt --like f.tamis -o like.tamis"] {
        let done = folder.run(&format!("{line} --hash-key key"));
        assert!(done.err.contains("--hash-key key was not used"), "{}", done.err);
    }
}

#[test]
fn files_of_one_key_merge_and_those_of_others_do_not() {
    let folder = folder();
    let build = |input: &str, key: &str, output: &str| {
        folder.ok(&format!("build {input} --keys 2000 --hash siphash --hash-key {key} -o {output}"));
    };
    build("learned.txt", "key", "a.tamis");
    build("asked.txt", "key", "b.tamis");
    build("asked.txt", "other", "c.tamis");
    folder.ok("build learned.txt asked.txt --keys 2000 --hash siphash --hash-key key -o both.tamis");
    folder.ok("merge a.tamis b.tamis -o merged.tamis");
    let read = |name: &str| fs::read(folder.path(name)).unwrap();
    assert_eq!(read("merged.tamis"), read("both.tamis"));
    folder.refused("merge a.tamis c.tamis -o no.tamis", 1, &["siphash", "check value"]);
    folder.ok("dedup learned.txt --hash siphash --hash-key key --state s.tamis -o first.txt");
    folder.refused(
        "dedup asked.txt --hash siphash --hash-key other --state s.tamis -o first.txt",
        1,
        &["another one was given"],
    );
    folder.refused("dedup asked.txt --seed 7 --hash-key key --state s.tamis -o first.txt", 2, &["siphash"]);
    let stream = "stream --train learned.txt --keys 2000 --hash siphash --state folder --hash-key";
    folder.ok(&format!("{stream} key"));
    let differ = ["another job", "the check value of the secret hash key is"];
    folder.refused(&format!("{stream} other"), 1, &differ);
}

/// A key in a folder of inputs was once learned as a row of them.
#[test]
fn a_key_among_the_inputs_is_no_row() {
    let folder = folder();
    fs::create_dir(folder.path("in")).unwrap();
    folder.write("in/a.txt", "1\n");
    folder.write("in/key", "000102030405060708090a0b0c0d0e0f\n");
    let secret = "--hash siphash --hash-key in/key";
    let told = ["in/key: this is the file of --hash-key", "another folder"];
    for line in ["build in -o f.tamis", "build in/* -o f.tamis", "plan in -o p.json", "dedup in -o first.txt"]
    {
        folder.refused(&format!("{line} {secret}"), 2, &told);
    }
    folder.refused(&format!("stream --train in --keys 9 --state s {secret}"), 2, &told);
    folder.ok(&format!("build in/a.txt -o f.tamis {secret}"));
    folder.refused("test f.tamis in/a.txt --negatives in --hash-key in/key", 2, &told);
    folder.refused("filter f.tamis in --hash-key in/key --count", 2, &told);
}
