use serde_json::{Map, Value, json};
use tamis_jobs::request::{Malformed, read};
use tamis_read::refusal::{Fields, say};

use super::*;

fn map(options: Value) -> Map<String, Value> {
    match options {
        Value::Object(map) => map,
        other => panic!("{other} has no options"),
    }
}

fn asked(options: Value) -> StreamJob {
    let request: Result<StreamJob, Malformed> = read(map(options.clone()));
    request.unwrap_or_else(|error| panic!("{options}: {error}"))
}

/// The job, and what is told of it.
fn resolved(options: Value) -> (Job, Vec<String>) {
    let mut told = Vec::new();
    let job = asked(options.clone()).resolve(&mut |note| told.push(say(note, &Fields)));
    (job.unwrap_or_else(|error| panic!("{options}: {error}")), told)
}

fn refused(options: Value) -> String {
    match asked(options.clone()).resolve(&mut |_| ()) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{options} is not refused"),
    }
}

/// Options that no stream has together, and what is said of them.
#[test]
fn what_contradicts_itself_is_refused_with_the_reason_and_what_would_help() {
    let train = |more: Value| {
        let mut options = map(json!({"train": ["a.txt"]}));
        options.extend(map(more));
        Value::Object(options)
    };
    let table = [
        (json!({}), "no stream: train names what is learned, query what is asked"),
        (json!({"query": ["a"]}), "nothing is learned: give train, or from=FILE.tamis to ask what it knows"),
        (train(json!({"query": ["-"], "remove": ["-"]})), "can be one stream, not several"),
        (train(json!({"output": "x"})), "without query nothing is answered: leave out output"),
        (train(json!({"counts": "x"})), "without query nothing is answered: leave out counts"),
        (train(json!({"every": "0ms"})), "every takes a time above zero"),
        (train(json!({"slide": "1h"})), "slide goes with window: leave out slide"),
        (train(json!({"window": "1h", "late": "drop"})), "late goes with time: leave out late"),
        (train(json!({"remove_key": "id"})), "remove_key goes with remove: leave out remove_key"),
        (train(json!({"params": "p", "from": "f"})), "leave out params or from"),
        (
            train(json!({"kind": "scalable", "size": "1MB"})),
            "a filter that grows has no size: give fpr, or keys=N",
        ),
        (train(json!({"kind": "bloom"})), "give keys=N or params=FILE, or let it grow (kind=scalable)"),
        (
            train(json!({"query": ["q"], "counts": "x", "hash": "murmur3", "keys": 9})),
            "counts need xxh3: leave out counts, or hash=murmur3",
        ),
        (
            train(json!({"keys": 9, "size": "1MB", "key": "a", "group": "b"})),
            "a total size is shared by the keys of each group, which a stream does not know: size by fpr",
        ),
    ];
    for (options, says) in table {
        let said = refused(options.clone());
        assert!(said.contains(says), "{options}: {said}");
    }
}

#[test]
fn what_is_not_said_follows_from_the_streams() {
    let (job, told) = resolved(json!({"train": ["a.txt"], "query": ["b.txt"]}));
    assert_eq!((job.common.kind, job.output, job.every), (Kind::Scalable, Target::Stdout, None));
    assert_eq!((job.batch, told.len()), (100_000, 0));
    let (job, told) = resolved(json!({"train": ["-"], "rebuild_above": 0.1}));
    assert_eq!((job.common.kind, job.output), (Kind::Scalable, Target::Nowhere));
    assert_eq!(job.every, Some(Duration::from_secs(1)));
    assert!(told[0].ends_with("so the filters grow instead (kind=scalable)"), "{told:?}");
    let (job, told) = resolved(json!({"train": ["a.txt"], "window": "12s", "batch": 7}));
    assert_eq!((job.common.kind, job.every), (Kind::Blocked, Some(Duration::from_millis(500))));
    assert_eq!(told, ["a window is planned for 1,048,576 distinct keys; keys=N changes it"]);
}

/// Filters beside counts have neither the weights nor the update of the counts.
#[test]
fn each_stream_and_each_sketch_has_the_columns_that_are_its_own() {
    let (job, _) = resolved(json!({
        "train": ["a.csv"], "query": ["b.txt"], "remove": ["c.csv"], "output": "seen", "counts": "hits",
        "kind": "counting", "keys": 9, "conservative": true, "delimiter": 59,
        "key": "user:trim", "group": "day", "weight": "bytes", "query_key": "(line)", "remove_key": "gone",
    }));
    let recipes = ByRole::of(|role| job.inputs[role].as_ref().unwrap().recipe.to_string());
    assert_eq!(recipes[Role::Train], "key user:trim, group day, weight bytes");
    assert_eq!(recipes[Role::Query], "key (line):trim");
    assert_eq!(recipes[Role::Remove], "key gone:trim, group day");
    let options = ByRole::of(|role| job.inputs[role].as_ref().unwrap().options.clone());
    assert_eq!(
        (options[Role::Train].delimiter, options[Role::Query].format),
        (Some(b';'.into()), Some(Format::Lines))
    );
    assert_eq!((job.common.kind, job.common.recipe.weight), (Kind::Counting, None));
    let counts = job.counts.unwrap();
    assert_eq!(counts.common.kind, Kind::CountMinConservative);
    assert_eq!(counts.common.recipe.to_string(), "key user:trim, group day, weight bytes");
}

#[test]
fn a_request_is_read_from_json_and_written_to_it() {
    let text = json!({
        "train": ["a.txt"], "every": "1.5s", "window": "7d", "time": "at:ms", "late": "drop",
        "kafka": ["security.protocol=ssl"], "lost": "go-on", "state": "run",
    });
    let request = asked(text);
    assert_eq!(asked(serde_json::to_value(&request).unwrap()), request);
    let wrong: Result<StreamJob, Malformed> = read(map(json!({"train": ["a"], "trian": ["b"]})));
    assert_eq!(wrong.unwrap_err().to_string(), "trian: there is no option \"trian\"");
}

#[test]
fn a_secret_is_not_shown() {
    let request = asked(json!({"kafka": ["sasl.password=hunter2"]}));
    assert!(!format!("{request:?}").contains("hunter2"));
}
