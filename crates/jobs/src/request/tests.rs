use serde_json::{Map, Value, json};
use tamis::hash::{ByBytes, Single};
use tamis::params::Name;
use tamis_read::refusal::{Fields, say};

use super::*;
use tamis_make::build::{Bits, FilterSizing, Layering, Sketches};
use tamis_make::plan::{Amount, Asked, PerKey, Size};

fn map(options: Value) -> Map<String, Value> {
    match options {
        Value::Object(map) => map,
        other => panic!("{other} has no options"),
    }
}

fn asked(options: Value) -> BuildJob {
    read(map(options.clone())).unwrap_or_else(|error| panic!("{options}: {error}"))
}

fn refused(options: Value) -> String {
    match asked(options.clone()).resolve() {
        Err(refusal) => say(&refusal, &Fields),
        Ok(_) => panic!("{options} is not refused"),
    }
}

fn made(options: Value) -> Sketches {
    asked(options.clone()).resolve().unwrap_or_else(|refusal| panic!("{options}: {refusal}")).job.sketches
}

/// Parameters of this kind, for one group.
fn params(kind: &str) -> Value {
    let keywords = if kind == "layered" { json!({"keywords": "tags:split=,"}) } else { json!({}) };
    let keys = if kind == "count-min" { json!({}) } else { json!({"keys": 10}) };
    let mut options = map(json!({"kind": kind, "layers": (kind == "layered").then_some(2)}));
    options.extend(map(keywords));
    options.extend(map(keys));
    let planned = asked(Value::Object(options)).without_table().unwrap();
    serde_json::to_value(planned).unwrap()
}

/// Options that no build has together, and what is said of them.
#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn what_contradicts_itself_is_refused_with_the_reason_and_what_would_help() {
    let layered = |more: Value| {
        let mut options = map(json!({"kind": "layered", "keywords": "tags:split=,"}));
        options.extend(map(more));
        Value::Object(options)
    };
    let table = [
        (json!({"key": "a", "keywords": "b"}), "a key or keywords, not both: leave out key or keywords"),
        (
            json!({"conservative": true}),
            "conservative update: leave out conservative, or give kind=count-min",
        ),
        (json!({"conservative": true, "kind": "bloom"}), "only sketches that count"),
        (json!({"hash": "murmur3", "kind": "fuse"}), "bloom filters, not with fuse: leave out hash or kind"),
        (json!({"hash": "murmur3", "seed": 1}), "leave out seed"),
        (
            json!({"hash": "polynomial", "kind": "blocked"}),
            "polynomial goes with bloom filters, not with blocked",
        ),
        (json!({"hash": "siphash"}), "a file of 16 random bytes, or of 32 hexadecimal digits; give hash_key"),
        (json!({"hash_key": "0123456789abcdef"}), "give hash"),
        (json!({"hash": "siphash", "hash_key": "0123456789abcdef", "seed": 1}), "leave out seed"),
        (json!({"kind": "bloom", "hashes": 2, "bits": 100, "fpr": 0.1}), "give fpr or bits"),
        (json!({"kind": "bloom", "bits": 100, "bits_per_group": 100}), "give bits or bits_per_group"),
        (json!({"bits": 100, "size": 100}), "give size or bits"),
        (
            json!({"bits": 1050}),
            "cannot have exactly 1050 bits; the next number below is 1024: give bits=1024, or give kind=bloom",
        ),
        (json!({"bits": 100}), "cannot have exactly 100 bits: give kind=bloom"),
        (json!({"hashes": 3}), "1, 2, 4, 8, 16 or 32 hashes, not 3: leave out hashes, or give kind=bloom"),
        (json!({"kind": "fuse", "hashes": 2}), "3 hashes, not 2"),
        (json!({"kind": "bloom", "hashes": 65}), "1 to 64 hashes, not 65"),
        (json!({"kind": "bloom", "hashes": 0}), "1 to 64 hashes, not 0"),
        (json!({"kind": "bloom", "bits": 0}), "0 bits are too few"),
        (json!({"kind": "count-min", "hashes": 2}), "leave out hashes"),
        (
            json!({"kind": "bloom", "hash": "murmur3", "bits": 4294967297u64}),
            "cannot reach 4294967297 of them",
        ),
        (json!({"group": "g", "keys": 9, "bits": 2048}), "give fpr, bits_per_key or bits_per_group"),
        (json!({"params": params("bloom"), "hashes": 2, "bits": 9}), "leave out hashes and bits"),
        (json!({"kind": "layered"}), "records of keywords: give keywords=COLUMN:split=','"),
        (json!({"weight": "n"}), "a blocked filter does not count, so rows have no weight: leave out weight"),
        (json!({"layers": 2}), "blocked filters have no layers: leave out layers, or give kind=layered"),
        (json!({"key": "a", "group": "b:split=,"}), "make keywords: give keywords"),
        (json!({"key": ["a", "b:split=,"]}), "make keywords: give keywords"),
        (json!({"kind": "count-min", "fpr": 0.1}), "leave out fpr, or give epsilon and delta"),
        (json!({"kind": "count-min", "keys": 9, "size": 9}), "leave out size and keys"),
        (
            json!({"epsilon": 0.1}),
            "a blocked filter has no counters: leave out epsilon, or give kind=count-min",
        ),
        (json!({"kind": "fuse", "width": 9, "depth": 2}), "leave out width and depth"),
        (json!({"fpr": 0.1, "size": 100}), "sizes exclude each other: give fpr or size"),
        (json!({"fpr": 0.1, "size": 100, "bits_per_key": 9}), "give fpr, bits_per_key or size"),
        (json!({"kind": "count-min", "epsilon": 0.1, "width": 9}), "leave out epsilon or width"),
        (json!({"kind": "count-min", "delta": 0.1, "depth": 9}), "leave out delta or depth"),
        (json!({"fpr": 1.5}), "a rate lies between 0 and 1, both excluded, and 1.5 does not: give fpr=0.01"),
        (json!({"fpr": 0.0}), "a rate lies between"),
        (json!({"kind": "count-min", "epsilon": 1.0}), "an error lies between 0 and 1"),
        (json!({"kind": "count-min", "delta": 1.0}), "a probability lies between 0 and 1"),
        (json!({"kind": "count-min", "heavy": 1.0}), "a share lies between 0 and 1"),
        (json!({"keys": 0}), "0 keys are too few: give keys=N"),
        (json!({"size": 0}), "0 bytes are too few: give size=N"),
        (json!({"bits_per_key": 20000}), "between 0 and 10,000, and 20000 do not: give bits_per_key=10"),
        (json!({"bits_per_key": 0}), "between 0 and 10,000"),
        (json!({"kind": "count-min", "counter_bits": 16}), "64 bits or 32, not 16: give counter_bits=64 or"),
        (json!({"kind": "count-min", "depth": 1000}), "1 to 64 rows"),
        (json!({"threads": 0}), "1 to 1024 threads, not 0: give threads=N"),
        (json!({"threads": 2000}), "1 to 1024 threads"),
        (
            json!({"kind": "scalable"}),
            "for keys whose number is unknown, and these can be counted: give kind=blocked",
        ),
        (json!({"kind": "fuse", "fpr": 1e-12}), "2^-32"),
        (json!({"kind": "ribbon", "fpr": 1e-12}), "the lowest rate of a ribbon filter is 2^-32"),
        (json!({"kind": "ribbon", "hashes": 2}), "a ribbon filter has 1 hash, not 2"),
        (json!({"kind": "ribbon", "keys": 9}), "sized by its own keys, which are counted: leave out keys"),
        (json!({"kind": "fuse", "keys": 9}), "sized by its own keys, which are counted: leave out keys"),
        (
            json!({"distinct": true}),
            "a blocked filter holds each key once, however often it occurs: leave out",
        ),
        (json!({"kind": "count-min", "distinct": true}), "leave out distinct, or give kind=counting"),
        (layered(json!({"layers": 0})), "1 to 256 layers, not 0: give layers=N"),
        (layered(json!({"layers": 257})), "1 to 256 layers"),
        (layered(json!({"size": 1000})), "from the size of a layer: give layers=N"),
        (layered(json!({"keys": 9})), "which are not counted: give layers=N"),
        (layered(json!({"exact": true})), "leave out exact, or give kind=blocked"),
        (
            json!({"group": "g", "keys": 9, "size": 999}),
            "leave out keys, or give fpr, bits_per_key or bits_per_group",
        ),
        (json!({"heavy": 0.1}), "has no counts, and so no shares: leave out heavy, or give kind=count-min"),
        (
            json!({"kind": "count-min", "heavy": 0.001, "epsilon": 0.01}),
            "give a larger share, or give epsilon=0.0001",
        ),
        (json!({"kind": "count-min", "exact": true}), "leave out exact, or give heavy=SHARE"),
        (json!({"kind": "counting", "exact": true}), "would stay among them: leave out exact"),
        (json!({"params": params("blocked"), "fpr": 0.1}), "fix size, kind, hash and recipe: leave out fpr"),
        (json!({"params": params("blocked"), "null": "x", "kind": "bloom"}), "leave out kind and null"),
        (json!({"params": params("count-min"), "epsilon": 0.1}), "leave out epsilon"),
        (json!({"params": params("blocked"), "heavy": 0.1}), "leave out heavy"),
        (json!({"params": params("count-min"), "heavy": 0.00001}), "a share of 1e-5 is within the error"),
        (json!({"params": params("bloom"), "distinct": true}), "a bloom filter holds each key once"),
        (json!({"params": params("layered"), "exact": true}), "leave out exact"),
        (json!({"params": params("blocked"), "key": ["a", "b"]}), "has 1 part, and 2 columns were given"),
        (json!({"params": params("blocked"), "key": "a:upper"}), "apply to a: give the column alone"),
        (json!({"params": params("blocked"), "group": "g"}), "these filters have no groups: leave out group"),
        (json!({"params": params("count-min"), "weight": "n"}), "nothing is weighted here: leave out weight"),
    ];
    for (options, expected) in table {
        let said = refused(options.clone());
        assert!(said.contains(expected), "{options}: {said}");
    }
}

#[test]
fn each_kind_is_made_with_what_goes_with_it() {
    let size = FilterSizing::Counted(Size::Fpr(0.01).into());
    let bits = |kind: Bits, seed: u64, sizing: FilterSizing| {
        move |made: &Sketches| {
            matches!(made, Sketches::Bits { kind: k, hash: Single::Xxh3 { seed: s }, sizing: z }
                if (*k, *s, *z) == (kind, seed, sizing))
        }
    };
    assert!(bits(Bits::Blocked, 0, size)(&made(json!({}))));
    assert!(bits(Bits::Bloom, 7, size)(&made(json!({"kind": "bloom", "seed": 7}))));
    let planned = FilterSizing::Planned(9, Size::BitsPerKey(8.0).into());
    assert!(bits(Bits::Blocked, 0, planned)(&made(json!({"keys": 9, "bits_per_key": 8}))));
    let total = FilterSizing::Counted(Size::Total(2000).into());
    assert!(bits(Bits::Blocked, 0, total)(&made(json!({"size": "2KB"}))));
    let published = made(json!({"hash": "murmur3", "fpr": 0.5}));
    let rate = FilterSizing::Counted(Size::Fpr(0.5).into());
    assert!(matches!(published, Sketches::Published { hash: ByBytes::Murmur3, sizing } if sizing == rate));
    let by_hand = made(json!({"hash": "murmur3", "hashes": 2, "bits": 100, "keys": 39}));
    let sizing = FilterSizing::Planned(39, Asked { amount: Amount::Bits(100), hashes: Some(2) });
    assert!(matches!(by_hand, Sketches::Published { sizing: other, .. } if other == sizing));
    let seeded = made(json!({"hash": "polynomial", "seed": 7}));
    assert!(matches!(seeded, Sketches::Published { hash: ByBytes::Polynomial { seed: 7 }, .. }));
    let each = made(json!({"kind": "bloom", "group": "g", "bits_per_group": 100}));
    assert!(bits(
        Bits::Bloom,
        0,
        FilterSizing::Counted(Asked { amount: Amount::BitsEach(100), hashes: None })
    )(&each));
    let layered = made(json!({"kind": "layered", "keywords": "t:split=,", "bits_per_key": 5}));
    let Sketches::Layered { sizing: Layering::Following(each, None), .. } = layered else {
        panic!("{layered:?}")
    };
    assert_eq!(each, PerKey::Bits(5.0));
    let counting = made(json!({"kind": "counting", "distinct": true}));
    assert!(matches!(counting, Sketches::Counting { distinct: true, .. }));
    let counts = made(json!({"kind": "count-min", "heavy": 0.0001}));
    assert!(matches!(counts, Sketches::Counts { counters, .. } if counters.epsilon == 0.00001));
    let given = made(json!({"params": params("bloom")}));
    assert!(matches!(given, Sketches::Given(_)));
}

#[test]
fn values_that_are_none_are_refused_by_name() {
    let table = [
        (json!({"fpr": "small"}), "fpr is a number, not string \"small\"", true),
        (json!({"keys": -1}), "keys: integer `-1` is not a non-negative integer", false),
        (json!({"key": 7}), "key is the name of a column, or a list of names, not integer `7`", true),
        (json!({"key": "a:shout"}), "key: unknown step \"shout\"", false),
        (json!({"kind": "cuckoo"}), "kind: unknown kind \"cuckoo\"", false),
        (
            json!({"hash": "md5"}),
            "hash: it is \"xxh3\" or \"siphash\" or \"murmur3\" or \"polynomial\" or \"spark-v1\" or \"spark-v2\" or \
             \"guava-64\" or \"guava-32\" or \"hadoop-murmur\" or \"hadoop-jenkins\" or \"dcso\" or \"datasketches\" or \
             \"redis\", not \"md5\"",
            false,
        ),
        (json!({"bad_rows": "drop"}), "bad_rows: it is \"fail\" or \"skip\", not \"drop\"", false),
        (json!({"format": "xml"}), "format: it is \"lines\" or \"csv\"", false),
        (json!({"size": "2XB"}), "size: unknown unit \"XB\"", false),
        (json!({"params": {"kind": "blocked"}}), "params: invalid parameters", false),
        (json!({"fpr": 0.1, "rate": 0.1}), "rate: there is no option \"rate\"", false),
    ];
    for (options, expected, wrong_type) in table {
        let malformed = read::<BuildJob>(map(options.clone())).unwrap_err();
        assert!(malformed.to_string().contains(expected), "{options}: {malformed}");
        assert_eq!(malformed.wrong_type, wrong_type, "{options}");
    }
}

/// What goes to another machine means the same there.
#[test]
fn a_request_comes_back_from_its_json() {
    let build = asked(json!({
        "inputs": ["a.csv"], "key": ["email:trim,lower", "2"], "group": "city", "null": "-", "format": "csv",
        "delimiter": 59, "bad_rows": "skip", "kind": "counting", "seed": 9, "fpr": 0.3, "keys": 5, "distinct": true,
    }));
    let json = serde_json::to_value(&build).unwrap();
    assert_eq!(serde_json::from_str::<BuildJob>(&json.to_string()).unwrap(), build);
    assert_eq!(read::<BuildJob>(map(json)).unwrap(), build);
    let given = asked(json!({"params": params("bloom"), "keywords": []}));
    let json = serde_json::to_value(&given).unwrap();
    assert_eq!(read::<BuildJob>(map(json)).unwrap(), given);
    let test = TestJob { filters: "f.tamis".into(), random: Some(9), ..TestJob::default() };
    let json = serde_json::to_value(&test).unwrap();
    assert_eq!(read::<TestJob>(map(json)).unwrap(), test);
    let filter =
        FilterJob { group: Some(Name(vec![0xff])), own_group: Some(String::new()), ..FilterJob::default() };
    let json = serde_json::to_value(&filter).unwrap();
    assert_eq!(read::<FilterJob>(map(json)).unwrap(), filter);
    let plan: PlanJob = read(map(json!({"bits": 5, "chart": "c.svg"}))).unwrap();
    let json = serde_json::to_value(&plan).unwrap();
    assert_eq!(read::<PlanJob>(map(json)).unwrap(), plan);
}

#[test]
fn plans_that_contradict_themselves_are_refused() {
    let table = [
        (json!({"kind": "count-min", "fpr": 0.1, "bits": 9}), "leave out fpr and bits"),
        (json!({"epsilon": 0.1, "keys": 9}), "has no counters: leave out epsilon"),
        (json!({"kind": "count-min", "chart": "c.svg"}), "which counters do not have: leave out chart"),
        (json!({"inputs": ["a"], "chart": "c.svg"}), "without a table: leave out chart"),
        (json!({"inputs": ["a"], "keys": 9}), "are counted: leave out keys, or leave out the table"),
        (json!({"inputs": ["a"], "fpr": 0.1, "bits": 9}), "sizes exclude each other: give fpr or bits"),
        (json!({"inputs": ["a"], "kind": "scalable"}), "for keys whose number is unknown"),
        (json!({"kind": "count-min", "group": "g"}), "found in a table: name a table, or leave out group"),
        (json!({"kind": "layered", "keys": 9}), "give fpr, bits_per_key, bits or size"),
        (json!({"kind": "layered", "fpr": 0.1}), "give keys=N and layers=N"),
        (json!({"kind": "layered", "fpr": 0.1, "keys": 9, "layers": 2, "group": "g"}), "found in a table"),
        (json!({"kind": "layered", "fpr": 0.1, "keys": 9, "layers": 2, "output": "p.json"}), "of keywords"),
        (json!({"fpr": 0.1, "bits": 9, "output": "p.json"}), "or for a number of keys: give keys=N"),
        (json!({"fpr": 0.1, "output": "p.json"}), "one more is needed"),
        (json!({"keys": 9, "fpr": 0.1, "group": "g", "output": "p.json"}), "found in a table"),
    ];
    for (options, expected) in table {
        let plan: PlanJob = read(map(options.clone())).unwrap();
        let said = say(&plan.resolve().unwrap_err(), &Fields);
        assert!(said.contains(expected), "{options}: {said}");
    }
}

#[test]
fn what_works_on_one_machine_is_not_spread() {
    let told = |refused: Result<(), Refusal>| say(&refused.unwrap_err(), &Fields);
    let build = asked(json!({"exact": true, "heavy": 0.1}));
    assert!(
        told(build.refuse_spread(&[(true, opt::EXPLAIN)])).contains("leave out exact, heavy and explain, or")
    );
    assert!(told(asked(json!({"threads": 2})).refuse_spread(&[])).contains("leave out threads"));
    asked(json!({"fpr": 0.1})).refuse_spread(&[(false, opt::EXPLAIN)]).unwrap();
    let filter = |options: Value| read::<FilterJob>(map(options)).unwrap().refuse_spread();
    assert!(
        told(filter(json!({"strict": true, "tag": "t"})))
            .contains("leave out strict and tag, or leave out on")
    );
    assert!(told(filter(json!({"rejected": "r"}))).contains("a second run with the selection inverted"));
    assert!(told(filter(json!({}))).contains("give output=FOLDER or count"));
    filter(json!({"count": true})).unwrap();
}

fn deduplicated(options: Value) -> tamis_read::error::Result<crate::dedup::Job> {
    let request: DedupJob = read(map(options.clone())).unwrap_or_else(|error| panic!("{options}: {error}"));
    request.resolve(None)
}

#[test]
fn a_dedup_remembers_keys_or_has_a_filter_and_never_both() {
    use crate::dedup::{Kept, Remember, Room};
    let remember = |options| deduplicated(options).unwrap().remember;
    assert_eq!(remember(json!({"strict": true, "memory": "1MB"})), Remember::Keys { memory: 1_000_000 });
    let kept = Kept { path: "s.tamis".into(), commit_every: std::time::Duration::from_millis(500) };
    let filter = Remember::Filter { room: Room::Bytes(64_000), state: Some(kept) };
    assert_eq!(remember(json!({"size": "64KB", "state": "s.tamis", "commit_every": "500ms"})), filter);
    for more in [json!({"state": "s.tamis"}), json!({"size": 1000})] {
        let mut options = map(json!({"strict": true}));
        options.extend(map(more));
        assert!(deduplicated(Value::Object(options)).is_err());
    }
}
