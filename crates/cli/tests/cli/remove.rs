//! Removal: `remove`, `stream --remove`, and the second filter of what was removed (`--removed`).

use serde_json::Value;

use crate::stream::{keys, lines};
use crate::support::Folder;

/// The keys of these numbers, one per line.
fn users(numbers: std::ops::Range<u32>) -> String {
    numbers.map(|number| format!("user{number}@example.org\n")).collect()
}

/// 3,000 keys, of which 300 go.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("users.txt", users(0..3000));
    folder.write("gone.txt", users(0..300));
    folder.write("left.txt", users(300..3000));
    folder.ok("build users.txt --kind counting -o users.tamis");
    folder
}

fn group(json: &Value) -> &Value {
    &json["groups"][0]
}

#[test]
fn what_was_removed_is_gone_and_the_rest_is_what_a_build_of_it_has() {
    let folder = folder();
    folder.ok("build left.txt --like users.tamis -o left.tamis");
    let done = folder.json("remove users.tamis gone.txt");
    assert_eq!((&done["removed"], &done["missing"]), (&300.into(), &0.into()));
    let shown = folder.json("inspect users.tamis");
    let (rows, removed) = (&group(&shown)["rows"], &group(&shown)["rows_removed"]);
    assert_eq!((rows, removed, &group(&shown)["counters_full"]), (&3000.into(), &300.into(), &0.into()));
    assert_eq!(group(&shown)["ones"], group(&folder.json("inspect left.tamis"))["ones"]);
    for name in ["users", "left"] {
        folder.ok(&format!("inspect {name}.tamis --raw-bits {name}.bits"));
    }
    assert!(folder.read("users.bits") == folder.read("left.bits"));
    folder.ok("verify users.tamis");
    let test = folder.json("test users.tamis left.txt --negatives gone.txt --random 20000");
    assert_eq!((&test["passed"], &test["false_negatives"]), (&true.into(), &0.into()));
    // It can be added to again, and merged.
    folder.ok("add users.tamis gone.txt");
    let json = folder.json("test users.tamis users.txt");
    assert_eq!((&json["false_negatives"], &json["keys"]), (&0.into(), &3000.into()));
    folder.ok("merge users.tamis left.tamis -o both.tamis");
    assert_eq!(group(&folder.json("inspect both.tamis"))["rows_removed"], 300);
    folder.ok("compare users.tamis left.tamis");
}

#[test]
fn a_removal_that_is_run_twice_changes_nothing() {
    let folder = folder();
    folder.ok("remove users.tamis gone.txt");
    let before = folder.read("users.tamis");
    folder.refused(
        "remove users.tamis gone.txt",
        1,
        &["users.tamis", "nothing was changed", "of 300 keys", "--missing skip"],
    );
    assert!(folder.read("users.tamis") == before);
    folder.write("some.txt", users(290..310));
    let done = folder.run("remove users.tamis some.txt --missing skip --json");
    let json: Value = done.out.parse().unwrap();
    assert_eq!((done.code, &json["removed"], &json["missing"]), (0, &10.into(), &10.into()));
    assert!(done.err.contains("skipped 10 keys that were not there"), "{}", done.err);
    folder.is_clean();
}

#[test]
fn a_key_of_two_rows_is_removed_twice_or_both_are_taken_once() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,g\nann,1\nann,1\nbob,1\nbob,2\n");
    folder.write("gone.csv", "who,g\nann,1\n");
    let build = "build rows.csv --key id --group g --kind counting";
    folder.ok(&format!("{build} -o twice.tamis"));
    folder.ok(&format!("{build} --distinct -o once.tamis"));
    for (file, found) in [("twice", 1), ("once", 0)] {
        folder.ok(&format!("remove {file}.tamis gone.csv --key who"));
        let json: Value = folder.run(&format!("query {file}.tamis ann --json")).out.parse().unwrap();
        assert_eq!(json[0]["groups"].as_array().unwrap().len(), found, "{file}");
    }
    // A group that is not there has no keys.
    folder.write("other.csv", "who,g\nann,7\n");
    folder.refused("remove twice.tamis other.csv --key who", 1, &["1 of 1 key"]);
    folder.ok("remove twice.tamis rows.csv --missing skip --distinct");
}

#[test]
fn a_counter_that_ran_full_is_told_and_stays() {
    let folder = Folder::new();
    folder.write("often.txt", "ann\n".repeat(20) + "bob\n");
    let done = folder.run("build often.txt --kind counting -o a.tamis");
    assert!(done.code == 0 && done.err.contains("8 counters ran full"), "{}", done.err);
    folder.write("gone.txt", "ann\n".repeat(20));
    folder.ok("remove a.tamis gone.txt");
    assert_eq!(folder.run("query a.tamis ann").code, 0);
    assert_eq!(group(&folder.json("inspect a.tamis"))["counters_full"], 8);
    // More than came can be taken from it, but no more is noted.
    folder.ok("remove a.tamis gone.txt");
    assert_eq!(group(&folder.json("inspect a.tamis"))["rows_removed"], 21);
}

#[test]
fn kinds_that_cannot_forget_name_the_one_that_can() {
    let folder = folder();
    for (kind, what) in [
        ("blocked", "keys share bits"),
        ("bloom", "keys share bits"),
        ("fuse", "static"),
        ("ribbon", "static"),
        ("count-min", "below the truth"),
    ] {
        folder.ok(&format!("build users.txt --kind {kind} -o other.tamis"));
        let before = folder.read("other.tamis");
        folder.refused("remove other.tamis gone.txt", 1, &[kind, what, "--kind counting", "--removed"]);
        assert!(folder.read("other.tamis") == before);
    }
}

#[test]
fn inputs_that_cannot_be_removed_are_refused_and_leave_the_file_as_it_was() {
    let folder = folder();
    let before = folder.read("users.tamis");
    folder.write("bad.csv", "mail,n\nx,1\n\"\",2\n");
    folder.refused("remove users.tamis none.txt", 1, &["none.txt"]);
    folder.refused("remove none.tamis gone.txt", 1, &["none.tamis"]);
    folder.refused("remove users.tamis users.tamis", 1, &["users.tamis"]);
    folder.refused("remove users.tamis bad.csv --key mail", 1, &["bad.csv, line 3"]);
    folder.refused("remove users.tamis bad.csv --key nobody", 1, &["nobody"]);
    assert_eq!(folder.run("remove users.tamis").code, 2);
    assert_eq!(folder.run("remove users.tamis gone.txt --missing perhaps").code, 2);
    assert!(folder.read("users.tamis") == before);
    // A damaged counter is not put under a checksum that matches.
    let mut damaged = before.clone();
    let at = damaged.len() - 5;
    damaged[at] ^= 1;
    folder.write("users.tamis", &damaged);
    folder.refused("remove users.tamis gone.txt", 1, &["damaged"]);
    assert!(folder.read("users.tamis") == damaged);
    folder.is_clean();
}

/// The flaw of the second filter, and what `test` says of it.
#[test]
fn a_second_filter_forgets_for_any_kind_and_what_it_misses_is_measured() {
    let folder = Folder::new();
    folder.write("users.txt", users(0..20_000));
    folder.write("gone.txt", users(0..2_000));
    folder.write("left.txt", users(2_000..20_000));
    folder.ok("build users.txt --fpr 0.02 -o users.tamis");
    folder.ok("build gone.txt --fpr 0.02 -o gone.tamis");
    let pair = "users.tamis --removed gone.tamis";
    let test = folder.json(&format!("test {pair} left.txt --random 10000"));
    let lost = &test["taken_for_removed"];
    let missed = lost["keys"].as_u64().unwrap();
    assert_eq!((&test["passed"], &test["false_negatives"]), (&true.into(), &missed.into()));
    assert!((200..600).contains(&missed) && lost["of"] == 18_000, "{lost}");
    assert!((lost["expected_keys"].as_f64().unwrap() - 360.0).abs() < 100.0, "{lost}");
    assert!(lost["rate_low"].as_f64().unwrap() < lost["rate"].as_f64().unwrap());
    // The records that pass are those that are left, less what is missed.
    let counts = folder.json(&format!("filter {pair} users.txt --count"));
    assert_eq!(counts["admitted"], 18_000 - missed);
    assert!((counts["expected_false_rejections"].as_f64().unwrap() - 360.0).abs() < 100.0);
    folder.ok(&format!("filter {pair} users.txt -o passed.txt --rejected not.txt"));
    let passed = folder.text("passed.txt");
    assert!(passed.lines().count() as u64 == 18_000 - missed && !passed.contains("user1999@"));
    assert_eq!(folder.text("not.txt").lines().count() as u64, 2_000 + missed);
    // One key at a time says the same.
    let asked = folder.run_with(&format!("query {pair}"), folder.read("users.txt"));
    assert_eq!(asked.out.lines().filter(|line| line.ends_with("\tyes")).count() as u64, 18_000 - missed);
    // With all of the data more is missed than the rate explains; the page says so, too.
    let done = folder.run(&format!("test {pair} users.txt --report page.html"));
    assert!(done.code == 1 && done.out.contains("give only the remaining data"), "{}", done.out);
    assert!(folder.text("page.html").contains("taken for removed"));
}

#[test]
fn a_second_filter_that_does_not_go_with_the_first_is_refused() {
    let folder = folder();
    folder.ok("build users.txt -o users.tamis");
    folder.write("t.csv", "id,g\na,1\n");
    folder.ok("build gone.txt --seed 5 -o seed.tamis");
    folder.ok("build gone.txt --kind count-min -o counts.tamis");
    folder.ok("build t.csv --key id --group g -o groups.tamis");
    folder.ok("build t.csv --key id:lower -o steps.tamis");
    for (file, says) in [
        ("seed.tamis", "--seed"),
        ("counts.tamis", "count-min"),
        ("groups.tamis", "groups"),
        ("steps.tamis", "steps"),
        ("none.tamis", "none.tamis"),
        ("gone.txt", "not a tamis file"),
    ] {
        folder.refused(&format!("query users.tamis --removed {file} x"), 2, &[file, says]);
        folder.refused(&format!("filter users.tamis --removed {file} users.txt --count"), 1, &[file, says]);
        folder.refused(&format!("test users.tamis --removed {file} users.txt"), 1, &[file, says]);
    }
    assert_eq!(folder.run("filter users.tamis --removed seed.tamis --strict users.txt").code, 2);
    folder.refused("test counts.tamis --removed seed.tamis users.txt", 2, &["--removed"]);
}

#[test]
fn a_stream_of_removals_takes_away_what_the_training_stream_brought() {
    let folder = folder();
    let line = "stream --train users.txt --remove gone.txt --query users.txt --kind counting --keys 3000";
    let done = folder.json(&format!("{line} --batch 5000 --state run -o seen.txt"));
    assert_eq!((&done["removed"], &done["missing"], &done["rows"]), (&300.into(), &0.into(), &3000.into()));
    let seen = folder.text("seen.txt");
    assert!(folder.text("left.txt").lines().all(|user| seen.contains(user)));
    assert!(seen.lines().count() < 2740, "{}", seen.lines().count());
    folder.ok("remove users.tamis gone.txt");
    assert!(folder.read("run/filter.tamis") == folder.read("users.tamis"));
    // It goes on from there: they are gone already.
    folder.write("gone2.txt", users(250..350));
    let more = folder.run("stream --from run/filter.tamis --remove gone2.txt --state more --json");
    let json: Value = more.out.parse().unwrap();
    assert_eq!(json["removed"].as_u64().unwrap() + json["missing"].as_u64().unwrap(), 100);
    assert!(json["missing"].as_u64().unwrap() >= 40 && more.err.contains("were not there"), "{}", more.err);
}

/// In batches of any size, with groups, the answers are those of a multiset.
#[test]
fn answers_between_removals_are_those_of_a_multiset() {
    let folder = Folder::new();
    let (rows, mut gone) = (keys(2_000, 600, 3), keys(1_500, 600, 3));
    gone.reverse(); // some come before what they remove
    let asked = keys(2_000, 900, 9);
    let grouped = |keys: &[String]| -> Vec<String> {
        keys.iter().map(|key| format!("{key},{}", key.len() % 3)).collect()
    };
    folder.write("rows.csv", lines(&grouped(&rows)));
    folder.write("gone.csv", lines(&grouped(&gone)));
    folder.write("ask.csv", lines(&grouped(&asked)));
    folder.ok("stream --train rows.csv --remove gone.csv --query ask.csv --batch 2 --keys 900 --fpr 1e-9 \
         --kind counting --key 1 --group 2 --delimiter , --no-header -o out.txt");
    let mut held = std::collections::HashMap::<&String, u32>::new();
    let mut expected = Vec::new();
    for batch in 0..1_000 {
        let at = 2 * batch;
        rows[at..at + 2].iter().for_each(|key| *held.entry(key).or_default() += 1);
        for key in gone.iter().skip(at).take(2) {
            let times = held.entry(key).or_default();
            *times = times.saturating_sub(1);
        }
        let mut seen: Vec<&String> = Vec::new();
        for key in &asked[at..at + 2] {
            if held.get(key).is_some_and(|times| *times > 0) && !seen.contains(&key) {
                seen.push(key);
                expected.push(format!("{key}\t{}", key.len() % 3));
            }
        }
    }
    assert!(expected.len() > 50);
    assert_eq!(folder.text("out.txt").lines().collect::<Vec<_>>(), expected);
}

#[test]
fn streams_of_removals_that_cannot_be_are_refused() {
    let folder = folder();
    let line = "stream --train users.txt --remove gone.txt";
    for kind in ["", "--keys 100", "--kind bloom --keys 100", "--kind count-min"] {
        folder.refused(&format!("{line} {kind}"), 2, &["cannot be removed", "--kind counting"]);
    }
    folder.refused(&format!("{line} --kind counting"), 2, &["--keys N"]);
    folder.refused("stream --remove gone.txt --kind counting --keys 9", 2, &["--train"]);
    folder.refused("stream --train - --remove - --kind counting --keys 9", 2, &["standard input"]);
    folder.refused("stream --train users.txt --remove none.txt --kind counting --keys 9", 1, &["none.txt"]);
    assert_eq!(folder.run("stream --train users.txt --remove-key a --kind counting --keys 9").code, 2);
    // Another stream of removals is another job.
    let counting = format!("{line} --kind counting --keys 3000 --state run");
    folder.ok(&counting);
    folder.refused(&counting.replace("gone.txt", "left.txt"), 1, &["another job", "the stream of removals"]);
}
