//! What a job is, as its state remembers it: named fields with values of their own, so that no name in
//! the program is part of what lies on disk.
//!
//! A field that is absent means the same as one that is `null`. So fields can be added for what jobs
//! can be asked later; whoever does not know such a field, and finds a value in it, has another job.
//! Where the meaning of a field changes, the [version](VERSION) does.
//!
//! What may be different when a run is continued is not part of it: threads, how often the state is
//! written, what becomes of bad rows, whether files are followed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tamis::hash::{Scheme, xxh3};
use tamis::key::{Field, Recipe};
use tamis::params::{Common, Goal, GroupParams, Name, Params};
use tamis::sizing::Kind;
use tamis_make::files;
use tamis_make::plan::{Counters, Size};
use tamis_make::resume::named;
use tamis_read::error::{Error, Result};
use tamis_read::{Delimiter, Quotes};

use super::job::{Counts, Job};
use super::learned::Sizing;
use super::refusal::Failed;
use super::role::Role;
use super::text::Named;
use super::window::{Pinned, shown};

/// Of state folders: of the identity, and of everything else that lies there.
pub(super) const VERSION: u32 = 2;

/// What must be the same when a later run goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// Of the state.
    version: u32,
    /// Of the `.tamis` files that are written.
    file_version: u32,
    train: Option<StoredStream>,
    query: Option<StoredStream>,
    remove: Option<StoredStream>,
    /// Where answers go.
    output: String,
    kind: Kind,
    /// With its seed.
    hash: Scheme,
    /// As the files have it.
    recipe: Recipe,
    /// With the columns of each stream.
    train_recipe: Option<Recipe>,
    query_recipe: Option<Recipe>,
    remove_recipe: Option<Recipe>,
    size: StoredSize,
    counts: Option<Counted>,
    /// The digest of the file whose keys are known from the start.
    from: Option<String>,
    /// Records in a batch, at most.
    batch: u64,
    /// Nanoseconds for which a batch gathers records.
    every_ns: Option<u64>,
    rebuild_above: Option<f64>,
    dialect: Dialect,
    window: Option<Pinned>,
}

/// A stream by its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum StoredStream {
    /// Files, globs and folders, by their absolute names.
    Files(Vec<String>),
    /// Standard input (`-`), a pipe, a socket or a topic.
    One(String),
}

/// How large sketches are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by")]
enum StoredSize {
    #[serde(rename = "parameters")]
    Parameters { digest: String },
    #[serde(rename = "rate")]
    Rate { keys: u64, rate: f64 },
    #[serde(rename = "bits-per-key")]
    BitsPerKey { keys: u64, bits: f64 },
    #[serde(rename = "bytes")]
    Bytes { keys: u64, bytes: u64 },
    #[serde(rename = "growing")]
    Growing { keys: u64, rate: f64 },
    #[serde(rename = "counters")]
    Counters { counters: u64, counter_bits: u32, rows: u32, epsilon: f64 },
}

/// Counts that are kept beside filters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Counted {
    output: String,
    kind: Kind,
    recipe: Recipe,
    size: StoredSize,
}

/// The dialect that was declared of the inputs; `null` where it is recognised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Dialect {
    format: Option<String>,
    delimiter: Option<String>,
    header: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    with_header: bool,
    /// `true` where nothing was said, `false` where they are ordinary characters, else their name.
    quotes: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comment: Option<char>,
}

impl StoredStream {
    fn of(stream: &Named) -> StoredStream {
        match stream {
            Named::Files(inputs) => {
                StoredStream::Files(inputs.iter().map(|input| named(Path::new(input))).collect())
            }
            Named::Stdin => StoredStream::One("-".into()),
            Named::Pipe(path) => StoredStream::One(named(path)),
            Named::Socket(address) => StoredStream::One(address.to_string()),
            Named::Kafka(topic) => StoredStream::One(topic.name()),
        }
    }
}

/// Parameters as their digest has them: field by field, so that a field which parameters have one day
/// does not make another job of those that lack it.
#[derive(Serialize)]
struct Digested<'a> {
    kind: Kind,
    hash: Scheme,
    recipe: &'a Recipe,
    groups: Vec<DigestedGroup<'a>>,
}

#[derive(Serialize)]
struct DigestedGroup<'a> {
    group: &'a Name,
    keys: u64,
    /// The rate; in sketches that count, the error.
    fpr: f64,
    slots: u64,
    width: u32,
    hashes: u32,
}

impl<'a> Digested<'a> {
    fn of(params: &'a Params) -> Digested<'a> {
        let Common { kind, hash, ref recipe } = params.common;
        let digested = |GroupParams { group, goal, shape }: &'a GroupParams| {
            let (keys, fpr) = match *goal {
                Goal::Rate { keys, fpr } => (keys, fpr),
                Goal::Error { epsilon } => (0, epsilon),
            };
            let (slots, width, hashes) = (shape.slots(), shape.width(), shape.hashes());
            DigestedGroup { group, keys, fpr, slots, width, hashes }
        };
        Digested { kind, hash, recipe, groups: params.groups.iter().map(digested).collect() }
    }

    fn digest(&self) -> Result<String> {
        Ok(format!("{:016x}", xxh3(&serde_json::to_vec(self).map_err(unwritable)?, 0)))
    }
}

impl StoredSize {
    fn of(sizing: &Sizing) -> Result<StoredSize> {
        Ok(match *sizing {
            Sizing::Params(ref params) => StoredSize::Parameters { digest: Digested::of(params).digest()? },
            Sizing::Keys(keys, Size::Fpr(rate)) => StoredSize::Rate { keys, rate },
            Sizing::Keys(keys, Size::BitsPerKey(bits)) => StoredSize::BitsPerKey { keys, bits },
            Sizing::Keys(keys, Size::Total(bytes)) => StoredSize::Bytes { keys, bytes },
            Sizing::Growing(keys, rate) => StoredSize::Growing { keys, rate },
            Sizing::Counters(Counters { epsilon, shape }) => StoredSize::Counters {
                counters: shape.slots(),
                counter_bits: shape.width(),
                rows: shape.hashes(),
                epsilon,
            },
        })
    }
}

impl Counted {
    fn of(counts: &Counts) -> Result<Counted> {
        Ok(Counted {
            output: counts.output.name(),
            kind: counts.common.kind,
            recipe: counts.common.recipe.clone(),
            size: StoredSize::of(&counts.sizing)?,
        })
    }
}

impl Identity {
    /// That of a job.
    pub(super) fn of(job: &Job) -> Result<Identity> {
        let from = match &job.from {
            Some(path) => Some(format!("{:032x}", files::open(path)?.digest())),
            None => None,
        };
        let stream = |role| job.inputs[role].as_ref().map(|input| StoredStream::of(&input.named));
        let recipe = |role| job.inputs[role].as_ref().map(|input| input.recipe.clone());
        let nanos = |every: Duration| u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        Ok(Identity {
            version: VERSION,
            // Of the files that it writes: a program that knows more versions goes on all the same.
            file_version: job
                .counts
                .iter()
                .map(|counts| &counts.common)
                .chain([&job.common])
                .map(Common::version)
                .fold(1, u32::max),
            train: stream(Role::Train),
            query: stream(Role::Query),
            remove: stream(Role::Remove),
            output: job.output.name(),
            kind: job.common.kind,
            hash: job.common.hash,
            recipe: job.common.recipe.clone(),
            train_recipe: recipe(Role::Train),
            query_recipe: recipe(Role::Query),
            remove_recipe: recipe(Role::Remove),
            size: StoredSize::of(&job.sizing)?,
            counts: job.counts.as_ref().map(Counted::of).transpose()?,
            from,
            batch: job.batch as u64,
            every_ns: job.every.map(nanos),
            rebuild_above: job.rebuild_above,
            dialect: Dialect {
                format: job.options.format.map(|format| format.name().to_owned()),
                delimiter: job.options.delimiter.map(|delimiter| match delimiter {
                    Delimiter::Byte(byte) => char::from(byte).to_string(),
                    Delimiter::Whitespace => "whitespace".to_owned(),
                }),
                header: !job.options.no_header,
                with_header: job.options.with_header,
                quotes: match job.options.quotes {
                    None => true.into(),
                    Some(Quotes::None) => false.into(),
                    Some(quotes) => quotes.name().into(),
                },
                comment: job.options.comment.map(char::from),
            },
            window: job.window.as_ref().map(|window| window.pinned()),
        })
    }

    /// As it lies on disk.
    pub(super) fn text(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map_err(unwritable)
    }
}

fn unwritable(error: serde_json::Error) -> Error {
    Failed::from(error).into()
}

/// A field in which two jobs differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Its name; with those around it, where it is part of another: `size.keys`.
    pub field: String,
    /// Its value in the state.
    pub stored: Option<Value>,
    /// Its value in the job that is asked for.
    pub asked: Option<Value>,
}

/// The fields, in the order in which differences are named (what others follow from comes first), each
/// with what people call it, in the words of no front end.
const FIELDS: [(&str, &str); 50] = [
    ("version", "the version of the state"),
    ("file_version", "the version of .tamis files"),
    ("train", "the training stream"),
    ("query", "the query stream"),
    ("remove", "the stream of removals"),
    ("output", "the output"),
    ("window.length_ms", "the window"),
    ("window.slide_ms", "the slide"),
    ("window.time", "the column of times"),
    ("window.time_unit", "the unit of times"),
    ("window.lateness_ms", "the allowed lateness"),
    ("window.late", "what happens to late rows"),
    ("window.ahead_ms", "how far ahead of the clock rows may be"),
    ("kind", "the kind"),
    ("hash.name", "the hash"),
    ("hash.seed", "the seed"),
    ("hash.check", "the check value of the secret hash key"),
    ("recipe", "the recipe"),
    ("train_recipe", "the recipe of the training stream"),
    ("query_recipe", "the recipe of the query stream"),
    ("remove_recipe", "the recipe of the stream of removals"),
    ("size.by", "the way of sizing"),
    ("size.digest", "the digest of the parameters"),
    ("size.keys", "the number of keys"),
    ("size.rate", "the rate"),
    ("size.bits", "bits per key"),
    ("size.bytes", "the size"),
    ("size.counters", "the number of counters"),
    ("size.counter_bits", "bits of a counter"),
    ("size.rows", "rows of counters"),
    ("size.epsilon", "epsilon"),
    ("counts.output", "the output of counts"),
    ("counts.kind", "the kind of the counts"),
    ("counts.recipe", "the recipe of the counts"),
    ("counts.size.by", "the way of sizing the counts"),
    ("counts.size.digest", "the digest of the parameters of the counts"),
    ("counts.size.counters", "the number of counters of the counts"),
    ("counts.size.counter_bits", "bits of a counter of the counts"),
    ("counts.size.rows", "rows of counters of the counts"),
    ("counts.size.epsilon", "epsilon of the counts"),
    ("from", "the digest of the file to start with"),
    ("batch", "the size of a batch"),
    ("every_ns", "the time of a batch"),
    ("rebuild_above", "the rate to rebuild above"),
    ("dialect.format", "the format"),
    ("dialect.delimiter", "the delimiter"),
    ("dialect.header", "the header"),
    ("dialect.quotes", "quotes"),
    ("dialect.with_header", "whether there is a header line"),
    ("dialect.comment", "the sign of comments"),
];

/// What people call a field; its name, if nothing better is known.
fn words(field: &str) -> &str {
    FIELDS.iter().find(|(name, _)| *name == field).map_or(field, |(_, words)| words)
}

/// The fields of fields by their full names. What makes keys is one value.
fn leaves<'a>(name: &str, value: &'a Value, into: &mut BTreeMap<String, &'a Value>) {
    match value {
        Value::Null => {}
        Value::Object(fields) if !name.ends_with("recipe") && !name.ends_with(".time") => {
            for (field, value) in fields {
                let name = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
                leaves(&name, value, into);
            }
        }
        value => {
            into.insert(name.into(), value);
        }
    }
}

/// Where a stored job and another are not the same.
pub(super) fn differences(stored: &Value, asked: &Value) -> Vec<Difference> {
    let [mut then, mut now] = [BTreeMap::new(), BTreeMap::new()];
    leaves("", stored, &mut then);
    leaves("", asked, &mut now);
    let mut names: Vec<&String> = then.keys().chain(now.keys()).collect();
    let rank = |name: &str| FIELDS.iter().position(|(field, _)| *field == name).unwrap_or(FIELDS.len());
    names.sort_by_key(|name| (rank(name), *name));
    names.dedup();
    let of = |fields: &BTreeMap<String, &Value>, name: &str| fields.get(name).map(|value| (*value).clone());
    let mut found: Vec<Difference> = Vec::new();
    for field in names.into_iter().filter(|name| then.get(*name) != now.get(*name)) {
        // Of what one job alone has, or is made in another way, the first field says it all.
        let whole = field.split_once('.').map(|(whole, _)| format!("{whole}."));
        let said = whole.is_some_and(|whole| {
            let has = |fields: &BTreeMap<String, &Value>| fields.keys().any(|name| name.starts_with(&whole));
            let way = format!("{whole}by");
            let apart = !has(&then) || !has(&now) || then.get(&way) != now.get(&way);
            apart && found.iter().any(|earlier| earlier.field.starts_with(&whole))
        });
        if !said {
            found.push(Difference { field: field.clone(), stored: of(&then, field), asked: of(&now, field) });
        }
    }
    found
}

/// For people.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: &Option<Value>| match value {
            Some(value) => self.shown(value),
            None => "nothing".into(),
        };
        write!(f, "{} is {} there and {} here", words(&self.field), show(&self.stored), show(&self.asked))
    }
}

impl Difference {
    /// A value as people write it.
    fn shown(&self, value: &Value) -> String {
        let text = match value.as_i64() {
            Some(millis) if self.field.ends_with("_ms") => Some(shown(millis)),
            Some(nanos) if self.field.ends_with("_ns") => {
                Some(format!("{:?}", Duration::from_nanos(nanos.unsigned_abs())))
            }
            _ if self.field.ends_with("recipe") => {
                Recipe::deserialize(value).ok().map(|recipe| recipe.to_string())
            }
            _ if self.field.ends_with(".time") => {
                Field::deserialize(value).ok().map(|field| field.to_string())
            }
            _ => None,
        };
        text.map_or_else(|| value.to_string(), |text| format!("\"{text}\""))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::PathBuf;
    use std::time::SystemTime;

    use tamis::params::Common;

    use super::super::job::{Input, Lost};
    use super::super::net::Idle;
    use super::super::role::ByRole;
    use super::super::sink::Target;
    use super::super::window::{By, Event, Late, Window};
    use super::*;
    use tamis_make::rows::BadRows;
    use tamis_read::{Format, Options};

    /// A small one, with batches of this size.
    pub(in super::super) fn job(batch: u64) -> Identity {
        let mut identity = Identity::of(&smallest()).unwrap();
        identity.batch = batch;
        identity
    }

    fn input(named: Named, recipe: &Recipe) -> Input {
        Input { named, recipe: recipe.clone(), options: Options::default() }
    }

    fn smallest() -> Job {
        let recipe = Recipe::lines();
        let files = Named::Files(vec!["/in/a.txt".into()]);
        Job {
            inputs: ByRole::of(|role| (role == Role::Train).then(|| input(files.clone(), &recipe))),
            follow: false,
            options: Options::default(),
            common: Common { kind: Kind::Scalable, hash: Scheme::DEFAULT, recipe },
            sizing: Sizing::Growing(1000, 0.01),
            counts: None,
            from: None,
            batch: 100,
            every: None,
            output: Target::Nowhere,
            rebuild_above: None,
            window: None,
            state: None,
            commit_every: Duration::ZERO,
            reconnect: None,
            lost: Lost::Stop,
            idle: Idle::default(),
            kafka: Default::default(),
            bad_rows: BadRows::Fail,
            threads: 1,
        }
    }

    /// With all that a job can have, also what does not go together.
    fn largest() -> Job {
        let recipe: Recipe = serde_json::from_str(
            r#"{"key":[{"column":{"name":"user"},"steps":["trim","lower"]}],"group":{"column":{"number":2}},"null":"none"}"#,
        )
        .unwrap();
        let event = Event {
            time: "at:ms".parse().unwrap(),
            lateness: Duration::from_secs(60),
            late: Late::Drop,
            ahead: Some(Duration::from_secs(3600)),
        };
        let (day, hour) = (Duration::from_secs(86_400), Duration::from_secs(3600));
        let shape = tamis::sizing::Shape::CountMin { row: 14, depth: 5, counter_bits: 64 };
        let common = Common { kind: Kind::Blocked, hash: Scheme::Xxh3 { seed: u64::MAX }, recipe };
        let inputs = ByRole::of(|role| {
            Some(match role {
                Role::Train => input(Named::Files(vec!["/in/a.txt".into()]), &common.recipe),
                Role::Query => input(Named::Stdin, &Recipe::lines()),
                Role::Remove => input(Named::Pipe("/in/gone".into()), &common.recipe),
            })
        });
        let counts = Counts {
            common: Common { kind: Kind::CountMinConservative, ..common.clone() },
            sizing: Sizing::Counters(Counters { epsilon: 0.2, shape }),
            output: Target::File("/out/hits.txt".into()),
        };
        Job {
            inputs,
            options: Options {
                format: Some(Format::Csv),
                delimiter: Some(b';'.into()),
                no_header: true,
                quotes: Some(Quotes::None),
                ..Options::default()
            },
            common,
            sizing: Sizing::Keys(20, Size::Fpr(0.01)),
            counts: Some(counts),
            batch: 2,
            every: Some(Duration::from_millis(1500)),
            output: Target::File(PathBuf::from("/out/seen.txt")),
            rebuild_above: Some(0.05),
            window: Some(Window::new(day, Some(hour), By::Event(event), SystemTime::now).unwrap()),
            ..smallest()
        }
    }

    /// What lies on disk: a change here is a new version, and must be read in its old form or refused.
    #[test]
    fn the_text_of_an_identity_stays_what_it_is() {
        let small = r#"{"version":2,"file_version":1,"train":["/in/a.txt"],"query":null,"remove":null,"output":"nowhere","kind":"scalable","hash":{"name":"xxh3","seed":0},"recipe":{"key":[{"column":"line"}]},"train_recipe":{"key":[{"column":"line"}]},"query_recipe":null,"remove_recipe":null,"size":{"by":"growing","keys":1000,"rate":0.01},"counts":null,"from":null,"batch":100,"every_ns":null,"rebuild_above":null,"dialect":{"format":null,"delimiter":null,"header":true,"quotes":true},"window":null}"#;
        let large = concat!(
            r#"{"version":2,"file_version":1,"train":["/in/a.txt"],"query":"-","remove":"/in/gone","#,
            r#""output":"/out/seen.txt","kind":"blocked","hash":{"name":"xxh3","seed":18446744073709551615},"#,
            r#""recipe":{"key":[{"column":{"name":"user"},"steps":["trim","lower"]}],"group":{"column":{"number":2}},"null":"none"},"#,
            r#""train_recipe":{"key":[{"column":{"name":"user"},"steps":["trim","lower"]}],"group":{"column":{"number":2}},"null":"none"},"#,
            r#""query_recipe":{"key":[{"column":"line"}]},"#,
            r#""remove_recipe":{"key":[{"column":{"name":"user"},"steps":["trim","lower"]}],"group":{"column":{"number":2}},"null":"none"},"#,
            r#""size":{"by":"rate","keys":20,"rate":0.01},"#,
            r#""counts":{"output":"/out/hits.txt","kind":"count-min-conservative","#,
            r#""recipe":{"key":[{"column":{"name":"user"},"steps":["trim","lower"]}],"group":{"column":{"number":2}},"null":"none"},"#,
            r#""size":{"by":"counters","counters":70,"counter_bits":64,"rows":5,"epsilon":0.2}},"#,
            r#""from":null,"batch":2,"every_ns":1500000000,"rebuild_above":0.05,"#,
            r#""dialect":{"format":"csv","delimiter":";","header":false,"quotes":false},"#,
            r#""window":{"length_ms":86400000,"slide_ms":3600000,"time":{"column":{"name":"at"}},"time_unit":"ms","lateness_ms":60000,"late":"drop","ahead_ms":3600000}}"#,
        );
        for (job, text) in [(smallest(), small), (largest(), large)] {
            assert_eq!(serde_json::to_string(&Identity::of(&job).unwrap()).unwrap(), text);
        }
        for (sizing, text) in [
            (Sizing::Keys(9, Size::BitsPerKey(9.5)), r#"{"by":"bits-per-key","keys":9,"bits":9.5}"#),
            (Sizing::Keys(9, Size::Total(4096)), r#"{"by":"bytes","keys":9,"bytes":4096}"#),
        ] {
            assert_eq!(serde_json::to_string(&StoredSize::of(&sizing).unwrap()).unwrap(), text);
        }
    }

    fn said(stored: &Job, asked: &Job) -> Vec<String> {
        let value = |job| serde_json::to_value(Identity::of(job).unwrap()).unwrap();
        differences(&value(stored), &value(asked)).iter().map(ToString::to_string).collect()
    }

    /// As state folders have had it: of the text of the parameters, in which nothing else may come to stand.
    #[test]
    fn the_digest_of_parameters_stays_what_it_was() {
        let recipe = Recipe { group: Some("g".parse().unwrap()), ..Recipe::lines() };
        let name = |bytes: &[u8]| Name(bytes.to_vec());
        let shape = Kind::Blocked.shape_for_rate(1000, 0.01).unwrap();
        let filters = vec![GroupParams::filter(name(b"a"), 1000, 0.01, shape)];
        let common = Common { kind: Kind::Blocked, hash: Scheme::DEFAULT, recipe: recipe.clone() };
        let filters = Params::new(common, filters).unwrap();
        let shape = tamis::countmin::shape(0.01, 0.1, 32).unwrap();
        let goal = Goal::Error { epsilon: 0.01 };
        let counts = [b"a".as_slice(), b"\xff"].map(|group| GroupParams { group: name(group), goal, shape });
        let common = Common { kind: Kind::CountMin, hash: Scheme::Xxh3 { seed: 7 }, recipe };
        let counts = Params::new(common, counts.to_vec()).unwrap();
        for (params, digest) in [(filters, "09014d191e86cfcd"), (counts, "761a13bd0610324d")] {
            assert_eq!(Digested::of(&params).digest().unwrap(), digest);
        }
    }

    #[test]
    fn every_difference_is_named_with_both_values() {
        let job = largest();
        assert_eq!(said(&job, &job), [""; 0]);
        let mut other = largest();
        other.batch = 3;
        other.common.hash = Scheme::Xxh3 { seed: 7 };
        other.inputs[Role::Train] = Some(input(Named::Files(vec!["/in/a.txt".into()]), &Recipe::lines()));
        other.sizing = Sizing::Keys(21, Size::Fpr(0.01));
        other.every = Some(Duration::from_secs(1));
        other.options.delimiter = None;
        let names = [
            "the seed is 18446744073709551615 there and 7 here",
            "the recipe of the training stream is \"key user:trim,lower, group 2, null \"none\"\" there and \"key (line)\" here",
            "the number of keys is 20 there and 21 here",
            "the size of a batch is 2 there and 3 here",
            "the time of a batch is \"1.5s\" there and \"1s\" here",
            "the delimiter is \";\" there and nothing here",
        ];
        assert_eq!(said(&job, &other), names);
    }

    /// Not each field of a window that is not there.
    #[test]
    fn of_what_one_job_alone_has_the_first_field_is_named() {
        let plain = Job { window: None, counts: None, ..largest() };
        let names = [
            "the window is \"24h\" there and nothing here",
            "the output of counts is \"/out/hits.txt\" there and nothing here",
        ];
        assert_eq!(said(&largest(), &plain), names);
        let growing = Job { sizing: Sizing::Growing(5, 0.5), ..largest() };
        assert_eq!(said(&largest(), &growing), ["the way of sizing is \"rate\" there and \"growing\" here"]);
    }

    #[test]
    fn what_may_change_is_no_part_of_it() {
        let job = smallest();
        let other = Job {
            bad_rows: BadRows::Skip,
            follow: true,
            threads: 7,
            commit_every: Duration::from_secs(9),
            reconnect: Some(Duration::from_secs(1)),
            lost: Lost::GoOn,
            idle: Idle::Never,
            ..smallest()
        };
        assert_eq!(Identity::of(&job).unwrap(), Identity::of(&other).unwrap());
    }

    #[test]
    fn a_field_of_a_later_program_is_another_job_where_it_has_a_value() {
        let job = serde_json::to_value(job(5)).unwrap();
        let mut later = job.clone();
        later["nap"] = Value::Null;
        assert_eq!(differences(&later, &job), []);
        later["nap"] = 3.into();
        assert_eq!(differences(&later, &job)[0].to_string(), "nap is 3 there and nothing here");
    }

    /// Each in its place: a name that no identity has would never be used.
    #[test]
    fn all_fields_have_words() {
        let mut fields = BTreeMap::new();
        let of = |job| serde_json::to_value(Identity::of(job).unwrap()).unwrap();
        let (large, small) = (of(&largest()), of(&smallest()));
        leaves("", &large, &mut fields);
        leaves("", &small, &mut fields);
        for field in fields.keys() {
            assert_ne!(words(field), field, "{field}");
        }
    }
}
