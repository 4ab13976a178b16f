//! Sketches that count, from the outside.

use std::collections::HashMap;
use std::fs;

use serde_json::Value;

use crate::support::{Folder, container};

/// Addresses of a power law, some groups and weights: `ip day bytes`.
fn access_log(folder: &Folder, rows: u64) -> HashMap<(String, String), u64> {
    folder.ok(&format!("generate ips --rows {rows} --distinct 3000 --skew 1.1 --seed 5 -o ips.txt -q"));
    let mut truth: HashMap<(String, String), u64> = HashMap::new();
    let mut log = String::from("ip day bytes\n");
    for (i, ip) in folder.text("ips.txt").lines().enumerate() {
        let (day, bytes) = (["mon", "tue"][i % 2], 1 + i as u64 * 7919 % 100);
        log += &format!("{ip} {day} {bytes}\n");
        *truth.entry((ip.into(), day.into())).or_default() += bytes;
    }
    folder.write("access.log", log);
    truth
}

const LOG: &str = "access.log --delimiter space --key ip";

fn heaviest(truth: &HashMap<(String, String), u64>, day: &str) -> (String, u64) {
    let of_day = truth.iter().filter(|((_, its), _)| its == day);
    let ((ip, _), weight) = of_day.max_by_key(|(_, weight)| **weight).unwrap();
    (ip.clone(), *weight)
}

#[test]
fn a_key_has_an_estimate_and_its_bound() {
    let folder = Folder::new();
    let truth = access_log(&folder, 20_000);
    folder.ok(&format!(
        "build {LOG} --kind count-min --weight bytes --epsilon 0.001 --delta 0.01 -o hits.tamis"
    ));
    let mut weights: HashMap<&str, u64> = HashMap::new();
    truth.iter().for_each(|((ip, _), weight)| *weights.entry(ip).or_default() += weight);
    let total: u64 = weights.values().sum();
    let (ip, weight) = weights.iter().max_by_key(|(_, weight)| **weight).unwrap();
    let answer = folder.run(&format!("query hits.tamis {ip}"));
    assert_eq!(answer.code, 0);
    let fields: Vec<&str> = answer.out.trim_end().split('\t').collect();
    let bound = total / 1000;
    assert_eq!((fields[0], fields[2]), (*ip, bound.to_string().as_str()));
    let estimate: u64 = fields[1].parse().unwrap();
    assert!((*weight..=weight + bound).contains(&estimate));
    assert!(answer.err.contains("truth ≤ estimate ≤ truth + "), "{}", answer.err);
    let json = folder.json(&format!("query hits.tamis {ip}"));
    assert_eq!((&json[0]["estimate"], &json[0]["bound"]), (&estimate.into(), &bound.into()));
    assert_eq!((&json[0]["total"], &json[0]["epsilon"]), (&total.into(), &0.001.into()));
    assert_eq!(json[0]["full"], false);

    let made = folder.json("inspect hits.tamis");
    let group = &made["groups"][0];
    assert_eq!(
        (&group["counters_per_row"], &group["depth"], &group["counter_bits"]),
        (&2719.into(), &5.into(), &64.into())
    );
    assert_eq!((&group["total"], &group["rows"]), (&total.into(), &20_000.into()));
    assert!(group["largest"].as_u64() >= Some(*weight) && group["counters_full"] == 0);
    assert_eq!(made["recipe"]["weight"]["column"]["name"], "bytes");

    // Nothing was ever counted: exit code 1.
    folder.write("none.txt", "");
    folder.ok("build none.txt --kind count-min -o none.tamis -q");
    let answer = folder.run("query none.tamis a");
    assert_eq!((answer.code, answer.out.as_str()), (1, "a\t0\t0\n"));
}

#[test]
fn groups_are_counted_apart() {
    let folder = Folder::new();
    let truth = access_log(&folder, 5_000);
    folder.ok(&format!(
        "build {LOG} --group day --kind count-min --conservative --weight bytes -o hits.tamis -q"
    ));
    let (ip, weight) = heaviest(&truth, "tue");
    let answer = folder.ok(&format!("query hits.tamis {ip} -q"));
    let lines: Vec<Vec<&str>> = answer.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.iter().map(|line| line[1]).collect::<Vec<_>>(), ["mon", "tue"]);
    assert_eq!(lines[1][2], weight.to_string(), "a sketch this wide makes no error here");
    let json = folder.json(&format!("query hits.tamis {ip}"));
    assert_eq!(json[0]["groups"][1]["group"], "tue");
    assert_eq!(folder.run("query hits.tamis nobody").out, "nobody\t\t0\t\n");
    let made = folder.json("inspect hits.tamis");
    assert_eq!(made["kind"], "count-min-conservative");
    assert_eq!(made["groups"].as_array().unwrap().len(), 2);
}

/// None missing, over builds, merges and additions; and the file's list is that of the data.
#[test]
fn top_lists_every_key_of_its_share() {
    let folder = Folder::new();
    let truth = access_log(&folder, 20_000);
    let how = "--group day --weight bytes";
    let listed = |json: &Value, day: usize| -> HashMap<String, u64> {
        let keys = json["groups"][day]["keys"].as_array().unwrap();
        let hit = |hit: &Value| (hit["key"].as_str().unwrap().to_owned(), hit["estimate"].as_u64().unwrap());
        keys.iter().map(hit).collect()
    };
    let complete = |json: &Value, share: f64| {
        for (number, day) in ["mon", "tue"].into_iter().enumerate() {
            let of_day: Vec<_> = truth.iter().filter(|((_, its), _)| its == day).collect();
            let total: u64 = of_day.iter().map(|(_, weight)| **weight).sum();
            let found = listed(json, number);
            for ((ip, _), weight) in of_day {
                if *weight as f64 >= share * total as f64 {
                    assert!(found[ip] >= *weight, "{ip}");
                }
            }
            let least = share * total as f64;
            assert!(found.values().all(|estimate| *estimate as f64 >= least * 0.999_999));
            assert!(found.len() > 5 && found.len() < 200, "{}", found.len());
        }
    };
    let of_data = folder.json(&format!("top {LOG} {how} --share 0.01"));
    complete(&of_data, 0.01);
    folder.ok(&format!("build {LOG} {how} --kind count-min --heavy 0.01 --epsilon 0.001 -o hits.tamis"));
    assert_eq!(folder.json("top hits.tamis")["groups"], {
        folder.json(&format!("top {LOG} {how} --share 0.01 --epsilon 0.001"))["groups"].clone()
    });
    complete(&folder.json("top hits.tamis --share 0.02"), 0.02);
    let few = folder.json("top hits.tamis --count 3");
    assert_eq!(few["groups"][0]["keys"].as_array().unwrap().len(), 3);
    let (ip, _) = heaviest(&truth, "mon");
    assert_eq!(few["groups"][0]["keys"][0]["key"], ip.as_str());
    assert!(folder.ok("top hits.tamis").contains(&ip));
    folder.refused("top hits.tamis --share 0.005", 1, &["0.01", "0.005", "--heavy"]);
    folder.refused("top hits.tamis --key ip", 2, &["--share and --count"]);

    // In two files, merged; and in one file, with the second half added.
    let log = folder.text("access.log");
    let lines: Vec<&str> = log.lines().collect();
    let (a, b) = (lines[..7001].join("\n"), [&lines[..1], &lines[7001..]].concat().join("\n"));
    folder.write("a.log", a);
    folder.write("b.log", b);
    for name in ["a", "b"] {
        folder.ok(&format!("build {name}.log --delimiter space --like hits.tamis -o {name}.tamis -q"));
    }
    folder.ok("merge a.tamis b.tamis -o m.tamis -q");
    complete(&folder.json("top m.tamis"), 0.01);
    assert_eq!(container(&folder.path("m.tamis")).data(), container(&folder.path("hits.tamis")).data());
    folder.ok("add a.tamis b.log --delimiter space -q");
    complete(&folder.json("top a.tamis"), 0.01);
    folder.ok("verify a.tamis");

    folder.ok(&format!("build {LOG} --kind count-min -o plain.tamis -q"));
    folder.refused("top plain.tamis", 1, &["keeps no keys", "--heavy"]);
    folder.ok(&format!("build {LOG} -o filter.tamis -q"));
    folder.refused("top filter.tamis", 1, &["count-min"]);
}

#[test]
fn inner_products_are_bounded_and_need_equal_parameters() {
    let folder = Folder::new();
    folder.write("a.txt", "x\nx\nx\ny\ny\nz\n");
    folder.write("b.txt", "x\nx\ny\nw\n");
    for name in ["a", "b"] {
        folder.ok(&format!("build {name}.txt --kind count-min -o {name}.tamis -q"));
    }
    let product = folder.json("inner-product a.tamis b.tamis");
    assert_eq!(product["groups"][0]["estimate"], 3 * 2 + 2);
    assert!((product["groups"][0]["bound"].as_f64().unwrap() - 24.0 * 0.0001).abs() < 1e-9);
    assert_eq!(folder.json("inner-product a.tamis")["groups"][0]["estimate"], 9 + 4 + 1);
    assert!(folder.ok("inner-product a.tamis").contains("14"));
    folder.ok("build b.txt --kind count-min --width 100 --depth 5 -o c.tamis -q");
    folder.refused("inner-product a.tamis c.tamis", 1, &["27183", "100"]);
    folder.ok("build b.txt --kind count-min --conservative -o d.tamis -q");
    folder.refused("inner-product d.tamis", 1, &["conservative"]);
    folder.ok("build b.txt -o f.tamis -q");
    folder.refused("inner-product f.tamis", 1, &["count-min"]);
}

#[test]
fn a_plan_names_its_rule_and_can_be_built_from() {
    let folder = Folder::new();
    let plan = folder.json("plan --kind count-min --epsilon 0.0001 --delta 0.01 -o params.json");
    let rules = plan["rules"].as_array().unwrap();
    assert_eq!((&rules[0]["counters_per_row"], &rules[0]["depth"]), (&27183.into(), &5.into()));
    assert_eq!((&rules[1]["counters_per_row"], &rules[1]["depth"]), (&20000.into(), &7.into()));
    // What stands in saved parameters under the names of filters has names of its own here.
    assert_eq!((&plan["epsilon"], &plan["counter_bits"]), (&0.0001.into(), &64.into()));
    assert_eq!((&plan["counters_per_row"], &plan["depth"]), (&27183.into(), &5.into()));
    assert_eq!((&plan["bytes"], &plan["delta"]), (&(27183 * 5 * 8).into(), &(-5f64).exp().into()));
    assert!(plan.get("width").is_none() && plan.get("fpr").is_none() && plan["groups"][0] == "", "{plan}");
    let text = folder.ok("plan --kind count-min --epsilon 0.0001 --delta 0.01");
    assert!(text.contains("⌈e/ε⌉") && text.contains("⌈2/ε⌉") && text.contains("Spark"), "{text}");
    folder.write("a.txt", "x\nx\ny\n");
    folder.ok("build a.txt --params params.json -o a.tamis -q");
    folder.ok("build a.txt --kind count-min -o b.tamis -q");
    assert_eq!(folder.read("a.tamis"), folder.read("b.tamis"));
    folder.ok("build a.txt --like a.tamis -o c.tamis -q");
    assert_eq!(folder.read("a.tamis"), folder.read("c.tamis"));
    // With groups they are looked for; the widths may be given by hand.
    folder.write("g.csv", "k,g\na,1\nb,2\n");
    let plan = folder.json("plan g.csv --key k --group g --kind count-min --width 64 --depth 2 -o g.json");
    assert_eq!((&plan["groups"], &plan["bytes"]), (&["1", "2"].as_slice().into(), &(2 * 64 * 2 * 8).into()));
    folder.ok("build g.csv --params g.json -o g.tamis -q");
    assert_eq!(folder.json("inspect g.tamis")["groups"][0]["counters_per_row"], 64);
}

#[test]
fn full_counters_say_so() {
    let folder = Folder::new();
    folder.write("w.csv", "k,w\na,4294967000\na,1000\nb,5\n");
    let narrow = "--key k --weight w --kind count-min --counter-bits 32";
    let build = folder.run(&format!("build w.csv {narrow} -o a.tamis"));
    assert!(
        build.err.contains("5 counters ran full") && build.err.contains("--counter-bits 64"),
        "{}",
        build.err
    );
    assert_eq!(folder.ok("query a.tamis a b -q"), "a\tfull\t429496\nb\t5\t429496\n");
    assert!(folder.run("query a.tamis a b").err.contains("1 answer is `full`"));
    assert!(!folder.run("query a.tamis b").err.contains("full"));
    let inspect = folder.run("inspect a.tamis");
    assert!(inspect.err.contains("5 counters ran full"), "{}", inspect.err);
    assert!(inspect.out.contains("has no estimate"), "{}", inspect.out);
    assert_eq!(folder.json("inspect a.tamis")["groups"][0]["counters_full"], 5);
    folder.ok("verify a.tamis");
    folder.ok("build w.csv --key k --weight w --kind count-min -o b.tamis -q");
    assert!(folder.ok("query b.tamis a -q").starts_with("a\t4294968000\t"));
    assert!(!folder.ok("inspect b.tamis").contains("no estimate"));
}

/// It was said to have come "at least 4294967295" times; the counter is full of another key's weight.
#[test]
fn a_key_that_never_came_is_not_said_to_have_come_often() {
    let folder = Folder::new();
    folder.write("w.csv", "k,w\na,9000000000\n");
    let how = "--key k --weight w --kind count-min --counter-bits 32 --width 1 --depth 1";
    folder.ok(&format!("build w.csv {how} -o one.tamis -q"));
    let answer = folder.run("query one.tamis never-there");
    assert_eq!(answer.out, "never-there\tfull\t9000000000\n");
    assert!(answer.err.contains("anything up to the total"), "{}", answer.err);
    let json = &folder.json("query one.tamis never-there")[0];
    assert_eq!((&json["estimate"], &json["full"]), (&Value::Null, &true.into()));
    assert_eq!((&json["at_least"], &json["at_most"]), (&0.into(), &9_000_000_000_u64.into()));
}

/// Two keys of 70 % and of 27 % were listed with the same share: that of a full counter.
#[test]
fn keys_with_full_counters_are_listed_without_a_share() {
    let folder = Folder::new();
    folder.write("w.csv", "k,w\na,14000000000\nb,5400000000\nc,600000000\nd,0\n");
    let how = "--key k --weight w --kind count-min --counter-bits 32 --heavy 0.01";
    folder.ok(&format!("build w.csv {how} -o a.tamis -q"));
    let text = folder.ok("top a.tamis");
    for key in ["a", "b"] {
        let line = text.lines().find(|line| line.starts_with(&format!("{key} "))).unwrap();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((cells[1], cells[3]), ("full", "–"), "{text}");
    }
    assert!(text.contains("or with full counters"), "{text}");
    let keys = folder.json("top a.tamis")["groups"][0]["keys"].clone();
    assert_eq!(keys.as_array().unwrap().len(), 3);
    for (key, truth) in [(&keys[0], 14_000_000_000_u64), (&keys[1], 5_400_000_000)] {
        assert_eq!(
            (&key["estimate"], &key["share"], &key["full"]),
            (&Value::Null, &Value::Null, &true.into())
        );
        assert!(key["at_least"].as_u64().unwrap() <= truth && truth <= key["at_most"].as_u64().unwrap());
    }
    assert_eq!((&keys[2]["key"], &keys[2]["share"]), (&"c".into(), &0.03.into()));

    // The same of two files that are full only together.
    folder.write("half.csv", "k,w\na,3000000000\n");
    folder.ok("build half.csv --like a.tamis --heavy 0.01 -o half.tamis -q");
    folder.ok("build half.csv --like a.tamis --heavy 0.01 -o other.tamis -q");
    let merge = folder.run("merge half.tamis other.tamis -o m.tamis");
    assert!(merge.err.contains("5 counters ran full"), "{}", merge.err);
    let add = folder.run("add half.tamis half.csv");
    assert!(add.err.contains("5 counters ran full"), "{}", add.err);
}

/// It was said that no estimate is below the truth, where a full counter was.
#[test]
fn a_test_counts_keys_with_full_counters_apart() {
    let folder = Folder::new();
    folder.write("w.csv", "k,w\na,14000000000\nb,5400000000\nc,600000000\nd,1\n");
    let how = "--key k --weight w --kind count-min --counter-bits 32";
    folder.ok(&format!("build w.csv {how} -o a.tamis -q"));
    let text = folder.ok("test a.tamis w.csv");
    assert!(text.contains("2 of 4 keys have only full counters"), "{text}");
    let group = folder.json("test a.tamis w.csv")["groups"][0].clone();
    assert_eq!((&group["full"], &group["below"], &group["over"]), (&2.into(), &0.into(), &0.into()));
    assert_eq!((&group["mean_error"], &group["largest_error"]), (&0.0.into(), &0.into()));
    // Counters that are full of another key's weight are over the bound, whatever they should hold:
    // of 2,000 keys in 272 counters some share the heavy one's.
    let light: String = (0..2000).map(|key| format!("{key},1\n")).collect();
    folder.write("light.csv", format!("k,w\na,5000000000\n{light}"));
    folder.ok(&format!("build light.csv {how} --width 272 --depth 1 -o light.tamis -q"));
    let group = folder.json("test light.tamis light.csv")["groups"][0].clone();
    let (full, over) = (group["full"].as_u64().unwrap(), group["over"].as_u64().unwrap());
    assert!(over > 0 && full == over + 1, "{group}");
    folder.ok(&format!("build w.csv {how} --width 1 --depth 1 -o one.tamis -q"));
    let text = folder.ok("test one.tamis w.csv");
    assert!(
        text.contains("4 of 4 keys have only full counters") && !text.contains("below the truth"),
        "{text}"
    );
}

#[test]
fn a_total_that_ran_full_is_said_to_be_at_least_that() {
    let folder = Folder::new();
    folder.write("w.csv", "k,w\na,18446744073709551615\nb,9000000000000000000\n");
    folder.ok("build w.csv --key k --weight w --kind count-min --heavy 0.1 -o a.tamis -q");
    let text = folder.ok("inspect a.tamis");
    assert!(text.contains("at least 18,446,744,073,709,551,615") && text.contains("unknown"), "{text}");
    let answer = folder.run("query a.tamis a b");
    assert_eq!(answer.out, "a\tfull\tunknown\nb\t9000000000000000000\tunknown\n");
    assert!(answer.err.contains("the bound is unknown") && !answer.err.contains("truth +"), "{}", answer.err);
    let json = folder.json("query a.tamis b");
    assert_eq!((&json[0]["bound"], &json[0]["total_full"]), (&Value::Null, &true.into()));
    assert_eq!(
        (&json[0]["at_least"], &json[0]["at_most"]),
        (&0.into(), &9_000_000_000_000_000_000_u64.into())
    );
    let text = folder.ok("top a.tamis");
    assert!(text.contains("Total weight at least") && !text.contains("48.7"), "{text}");
    assert!(folder.ok("test a.tamis w.csv").contains("no bound is known"));
    assert!(folder.ok("inner-product a.tamis").contains("unknown"));
}

/// 20 counters were said to have run full where there are 10, and the bound was `163P`.
#[test]
fn a_self_join_counts_its_full_counters_once_and_writes_its_bound_out() {
    let folder = Folder::new();
    folder.write("w.csv", "k,w\na,14000000000\nb,5400000000\nc,600000000\n");
    let how = "--key k --weight w --kind count-min --counter-bits 32";
    folder.ok(&format!("build w.csv {how} -o a.tamis -q"));
    fs::copy(folder.path("a.tamis"), folder.path("b.tamis")).unwrap();
    let join = folder.run("inner-product a.tamis");
    assert!(join.err.contains("10 counters ran full"), "{}", join.err);
    // 0.0001 of the square of 20,000,000,000.
    assert!(join.out.contains("40,000,000,000,000,000"), "{}", join.out);
    assert!(!join.out.contains("truth ≤ estimate"), "{}", join.out);
    // Two full counters and one that is not, squared.
    assert!(join.out.contains("37,253,488,130,239,234,050"), "{}", join.out);
    assert_eq!(folder.json("inner-product a.tamis a.tamis")["groups"][0]["counters_full"], 10);
    assert_eq!(folder.json("inner-product a.tamis b.tamis")["groups"][0]["counters_full"], 20);
}

#[test]
fn estimates_are_tested_against_exact_counts() {
    let folder = Folder::new();
    access_log(&folder, 10_000);
    for how in ["", "--conservative", "--group day", "--weight bytes --counter-bits 32"] {
        folder.ok(&format!("build {LOG} --kind count-min {how} --epsilon 0.002 -o c.tamis -q"));
        let test = folder.json("test c.tamis access.log --delimiter space --report page.html");
        assert_eq!(test["passed"], true, "{how}: {test}");
        assert!(test["groups"].as_array().unwrap().iter().all(|group| group["below"] == 0));
        assert!(folder.text("page.html").contains("Error against rank"));
        // Rows that were never counted.
        let more = folder.text("access.log") + &"10.0.0.0 mon 999999\n".repeat(300);
        folder.write("more.log", more);
        let test = folder.run("test c.tamis more.log --delimiter space");
        assert_eq!(test.code, 1, "{how}");
        assert!(test.out.contains("FAILED"), "{}", test.out);
    }
    folder.refused("test c.tamis access.log --random 10", 2, &["--random"]);
    // Thousands are set apart, and where nothing is, there is no error either: it was -0.0.
    folder.write("w.csv", "k,w\na,5000\nb,10\n");
    folder.ok("build w.csv --key k --weight w --kind count-min --width 1 --depth 1 -o one.tamis -q");
    assert!(folder.ok("test one.tamis w.csv").contains(" 2,505.0 "));
    folder.write("none.csv", "k,w\n");
    folder.ok("build none.csv --key k --weight w --kind count-min -o none.tamis -q");
    let text = folder.ok("test none.tamis none.csv");
    assert!(text.contains('–') && !text.contains("-0"), "{text}");
    assert!(folder.json("test none.tamis none.csv")["groups"][0]["mean_error"].is_null());
}

#[test]
fn a_tiny_number_is_not_written_out_in_zeros() {
    let folder = Folder::new();
    folder.write("keys.txt", "a\nb\n");
    for how in ["--delta 1e-300", "--heavy 1e-300 --epsilon 0.01"] {
        let done = folder.run(&format!("build keys.txt --kind count-min {how} -o y.tamis"));
        assert!(done.code > 0 && done.err.contains("1e-300") && done.err.len() < 300, "{}", done.err);
    }
}

#[test]
fn what_cannot_be_counted_is_refused_with_the_reason() {
    let folder = Folder::new();
    folder.write("a.csv", "k,w\na,1\nb,-5\n");
    folder.write("b.csv", "k,w\na,1\nb,1.5\n");
    folder.write("c.csv", "k,w\na,99999999999999999999\n");
    folder.write("d.csv", "k,w\na,\n");
    folder.write("keys.txt", "a\nb\n");
    let build = |file: &str| format!("build {file} --key k --weight w --kind count-min -o x.tamis");
    folder.refused(&build("a.csv"), 1, &["a.csv, line 3", "\"-5\"", "negative", "--bad-rows skip"]);
    folder.refused(&build("b.csv"), 1, &["b.csv, line 3", "\"1.5\"", "not an integer"]);
    folder.refused(&build("c.csv"), 1, &["c.csv, line 2", "above"]);
    folder.refused(&build("d.csv"), 1, &["d.csv, line 2", "weight"]);
    folder.ok(&format!("{} --bad-rows skip", build("a.csv")));
    assert_eq!(folder.json("inspect x.tamis")["groups"][0]["rows"], 1);
    // Rounded, it is one.
    folder.ok("build b.csv --key k --weight w:round --kind count-min -o x.tamis -q");
    assert_eq!(folder.json("inspect x.tamis")["groups"][0]["total"], 3);
    folder.refused(&build("a.csv --weight nothing").replace("--weight w ", ""), 1, &["nothing"]);

    folder.ok("build keys.txt --kind count-min -o counts.tamis -q");
    folder.ok("build keys.txt --kind count-min-conservative -o order.tamis -q");
    folder.ok("build keys.txt --kind count-min --counter-bits 32 -o narrow.tamis -q");
    folder.ok("build keys.txt --kind count-min --width 9 -o small.tamis -q");
    folder.ok("build keys.txt -o filter.tamis -q");
    folder.refused("filter counts.tamis keys.txt", 1, &["counts.tamis", "ask them with query or top"]);
    folder.refused("compare counts.tamis counts.tamis", 1, &["inner-product"]);
    folder.refused("dedup keys.txt --state counts.tamis -o out.txt", 1, &["counts.tamis"]);
    folder.refused("merge order.tamis order.tamis -o m.tamis", 1, &["order", "--conservative"]);
    folder.refused("merge counts.tamis narrow.tamis -o m.tamis", 1, &["32", "64"]);
    folder.refused("merge counts.tamis small.tamis -o m.tamis", 1, &["27183", "9 counters"]);
    folder.refused("merge counts.tamis filter.tamis -o m.tamis", 1, &["count-min", "blocked"]);
    folder.refused("merge counts.tamis order.tamis -o m.tamis", 1, &["order.tamis", "conservative"]);
    assert_eq!(folder.run("query counts.tamis").code, 1, "no keys on standard input");
}

#[test]
fn a_damaged_sketch_is_found() {
    let folder = Folder::new();
    folder.write("keys.txt", "a\na\na\nb\n");
    folder.ok("build keys.txt --kind count-min --width 16 --depth 2 --heavy 0.5 -o a.tamis -q");
    let good = folder.read("a.tamis");
    for at in (0..good.len()).step_by(7) {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        folder.write("b.tamis", &bytes);
        assert_eq!(folder.run("verify b.tamis").code, 1, "byte {at}");
    }
    for length in [0, 100, 127, good.len() / 2, good.len() - 1] {
        fs::write(folder.path("b.tamis"), &good[..length]).unwrap();
        assert_eq!(folder.run("verify b.tamis").code, 1, "{length} bytes");
        assert_eq!(folder.run("top b.tamis").code, 1, "{length} bytes");
    }
}

#[test]
fn explaining_shows_the_weight_of_rows() {
    let folder = Folder::new();
    folder.write("a.csv", "k,day,w\nx,mon,5\ny,tue,0\nz,mon,-1\n");
    let how = "build a.csv --kind count-min --key k --weight w --explain --bad-rows skip";
    let rows = folder.json(how);
    assert_eq!(rows["first_rows"][0]["weight"], 5);
    assert!(rows["first_rows"][2]["bad"].as_str().unwrap().contains("negative"));
    let text = folder.ok(&format!("{how} --group day"));
    assert!(text.contains("→ weight") && text.contains("weight w"), "{text}");
}

/// A share had to be guessed, and one that was too large found nothing and told nothing.
#[test]
fn the_most_frequent_keys_are_listed_without_a_share() {
    let folder = Folder::new();
    let rows = (1..=40).flat_map(|key: u32| (0..key).map(move |row| format!("k{key},{}\n", row % 2)));
    folder.write("t.csv", format!("k,g\n{}", rows.collect::<String>()));
    let listed = |line: &str| {
        let top = folder.json(line);
        let groups = top["groups"].as_array().unwrap().clone();
        let keys = |group: &Value| -> Vec<String> {
            group["keys"].as_array().unwrap().iter().map(|key| key["key"].as_str().unwrap().into()).collect()
        };
        (top["share"].is_null(), groups.iter().map(keys).collect::<Vec<_>>())
    };
    assert_eq!(
        listed("top t.csv --key k -n 3"),
        (true, vec![vec!["k40".into(), "k39".into(), "k38".into()]])
    );
    let (_, groups) = listed("top t.csv --key k --group g --count 1");
    assert_eq!(groups, [["k39"], ["k40"]].map(|keys| keys.map(String::from).to_vec()).to_vec());
    assert_eq!(listed("top t.csv --key k -n 99").1[0].len(), 40);
    assert!(folder.ok("top t.csv --key k -n 3").contains("3 keys with the largest estimates"));
    // 40 of 820 rows.
    let text = folder.ok("top t.csv --key k --share 0.1");
    assert!(text.contains("largest estimated share is 4.878 %: --share 0.048 lists it"), "{text}");
    assert_eq!(listed("top t.csv --key k --share 0.048").1, [["k40"]]);
    folder.ok("build t.csv --key k --kind count-min --heavy 0.04 -o h.tamis -q");
    let text = folder.ok("top h.tamis --share 0.5");
    assert!(text.contains("--share 0.048 lists it"), "{text}");
}
