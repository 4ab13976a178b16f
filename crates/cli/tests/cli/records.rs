//! Lookups of records, through the program, against Sharma's algorithms written down naively: Algorithm 3
//! inserts, 4 looks up, 5 detects false positives. The model has its own tables, keywords and positions (from
//! docs/format.md, sections 8, 12 and 13b) and shares nothing with the sketches.

use std::collections::HashSet;

use serde_json::Value;
use tamis::hash::xxh3;

use crate::golden::shared;
use crate::support::{Dice, Folder};

type Record = Vec<String>;

/// Position j of a hash in m bits.
fn position(hash: u64, j: u64, m: u64) -> u64 {
    let s = hash.wrapping_add((j + 1).wrapping_mul(0xa076_1d64_78bd_642f));
    let product = u128::from(s) * u128::from(s ^ 0xe703_7ed1_a0b4_28db);
    let mixed = (product as u64) ^ ((product >> 64) as u64);
    ((u128::from(mixed) * u128::from(m)) >> 64) as u64
}

/// BF_1 to BF_(L+1), a truth for each bit.
struct Layers {
    bits: Vec<Vec<bool>>,
    m: u64,
    k: u64,
}

impl Layers {
    /// Of the shape that a file says it has.
    fn shaped_as(folder: &Folder, file: &str) -> Layers {
        let group = &folder.json(&format!("inspect {file}"))["groups"][0];
        let number = |name: &str| group[name].as_u64().unwrap();
        let (layers, m, k) = (number("layers") as usize, number("layer_bits"), number("hashes"));
        Layers { bits: vec![vec![false; m as usize]; layers + 1], m, k }
    }

    fn address(&self, word: &str, j: u64) -> usize {
        position(xxh3(word.as_bytes(), 0), j, self.m) as usize
    }

    fn layers(&self) -> usize {
        self.bits.len() - 1
    }

    /// Algorithm 3.
    fn insert(&mut self, record: &[String]) {
        let last = self.layers();
        for j in 0..self.k {
            let mut folded = 0;
            for (i, word) in record.iter().enumerate() {
                let address = self.address(word, j);
                self.bits[i % last][address] = true;
                folded ^= address;
            }
            self.bits[last][folded] = true;
        }
    }

    /// The first half of Algorithm 4: the keywords in their layers.
    fn in_layers(&self, record: &[String]) -> bool {
        record
            .iter()
            .enumerate()
            .all(|(i, word)| (0..self.k).all(|j| self.bits[i % self.layers()][self.address(word, j)]))
    }

    /// Algorithm 4.
    fn lookup(&self, record: &[String]) -> bool {
        let folded = |j| record.iter().fold(0, |folded, word| folded ^ self.address(word, j));
        self.in_layers(record) && (0..self.k).all(|j| self.bits[self.layers()][folded(j)])
    }
}

/// A data set: a table, how its keywords are made, and the records that the model makes of it.
struct Set {
    table: String,
    field: &'static str,
    records: Vec<Record>,
    /// How a record is written in a query, in two ways: 1 (and every odd number) is that of rows.
    cell: fn(&[String], u64) -> String,
}

/// Different keywords, in their first order, none of them empty.
fn distinct(words: impl Iterator<Item = String>) -> Record {
    let mut record = Record::new();
    for word in words.filter(|word| !word.is_empty()) {
        if !record.contains(&word) {
            record.push(word);
        }
    }
    record
}

/// The column of this name of a CSV table, quotes undone.
fn column(csv: &str, name: &str) -> Vec<String> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = csv.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.push(chars.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell).trim_end_matches('\r').to_owned());
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    let at = rows[0].iter().position(|column| column.trim_start_matches('\u{feff}') == name).unwrap();
    rows[1..].iter().map(|row| row[at].clone()).collect()
}

fn split(cell: &str) -> Record {
    distinct(cell.split(',').map(|word| word.trim_matches([' ', '\t', '\n', '\r', '\x0c']).to_owned()))
}

fn joined(record: &[String], way: u64) -> String {
    record.join([",", ", "][way as usize % 2])
}

fn named(cell: &str) -> Record {
    let list: Vec<Value> = serde_json::from_str(cell).unwrap();
    distinct(list.iter().map(|element| element["name"].as_str().unwrap().to_owned()))
}

/// As a list of the keywords alone, or of objects.
fn listed(record: &[String], way: u64) -> String {
    let objects = record.iter().map(|word| serde_json::json!({ "id": 7, "name": word }));
    if way.is_multiple_of(2) {
        serde_json::json!(record).to_string()
    } else {
        Value::from_iter(objects).to_string()
    }
}

/// Records of one to seven of some hundred words, which repeat.
fn generated() -> Set {
    let mut dice = Dice(3);
    let mut table = "id,tags\n".to_owned();
    for row in 0..3000 {
        let words: Vec<String> = (0..1 + dice.below(7)).map(|_| format!("w{}", dice.below(400))).collect();
        table += &format!("{row},\"{}\"\n", words.join(" , "));
    }
    let records = column(&table, "tags").iter().map(|cell| split(cell)).collect();
    Set { table, field: "tags:split=,", records, cell: joined }
}

fn public(name: &str, field: &'static str) -> Option<Set> {
    let Ok(table) = std::fs::read_to_string(shared("data").join(name)) else {
        println!("left out: {name} is not at hand");
        return None;
    };
    let (of, json) = (field.split(':').next().unwrap(), field.contains("json"));
    let cells = column(&table, of);
    let records =
        cells.iter().filter(|cell| !cell.is_empty()).map(|cell| if json { named(cell) } else { split(cell) });
    let records = records.filter(|record| !record.is_empty()).collect();
    Some(Set { table, field, records, cell: if json { listed } else { joined } })
}

fn sets() -> Vec<Set> {
    let public = [("netflix_titles.csv", "cast:split=,"), ("tmdb_5000_movies.csv", "keywords:json=name")];
    public.into_iter().filter_map(|(name, field)| self::public(name, field)).chain([generated()]).collect()
}

/// Records of members' keywords, each at a place where some member has it.
fn recombined(members: &[Record], count: usize, dice: &mut Dice) -> Vec<Record> {
    let mut any = |longer_than: usize| loop {
        let member = &members[dice.below(members.len() as u64) as usize];
        if member.len() > longer_than {
            return member;
        }
    };
    let mut made = Vec::new();
    while made.len() < count {
        let length = any(1).len(); // of one keyword alone, members would be made
        let record: Record = (0..length).map(|place| any(place)[place].clone()).collect();
        if distinct(record.iter().cloned()).len() == length {
            made.push(record);
        }
    }
    made
}

/// What is asked: recombined records, members, their first keywords, and keywords that no member has.
fn asked(members: &[Record]) -> Vec<Record> {
    let mut dice = Dice(5);
    let mut asked = recombined(members, 10_000, &mut dice);
    for i in 0..1000 {
        let member = &members[dice.below(members.len() as u64) as usize];
        asked.push(member.clone());
        asked.push(member[..1 + dice.below(member.len() as u64) as usize].to_vec());
        asked.push((0..1 + i % 3).map(|place| format!("nobody {i} {place}")).collect());
        asked.push([&member[..], &[format!("nobody {i}")]].concat());
    }
    asked
}

/// A table of records with their numbers.
fn table(set: &Set, records: &[Record]) -> String {
    let column = set.field.split(':').next().unwrap();
    let cell = |record: &Record| (set.cell)(record, 1).replace('"', "\"\"");
    let rows = records.iter().enumerate().map(|(i, record)| format!("{i},\"{}\"\n", cell(record)));
    format!("number,{column}\n{}", rows.collect::<String>())
}

#[test]
fn recombined_records_are_answered_as_algorithm_4_answers_them() {
    for set in sets() {
        let folder = Folder::new();
        folder.write("data.csv", &set.table);
        let build = format!("--kind layered --keywords {} --layers 3 --keys 4000 --fpr 0.05", set.field);
        folder.ok(&format!("build data.csv {build} --bad-rows skip -o f.tamis -q"));
        let mut model = Layers::shaped_as(&folder, "f.tamis");
        set.records.iter().for_each(|record| model.insert(record));
        let asked = asked(&set.records);

        let expected: Vec<bool> = asked.iter().map(|record| model.lookup(record)).collect();
        let partial: Vec<bool> = asked.iter().map(|record| model.in_layers(record)).collect();
        let of_10_000 = |found: &[bool]| found[..10_000].iter().filter(|found| **found).count();
        let found = of_10_000(&expected);
        assert!(found > 0 && found < 5000, "{}: both answers occur, {found} of them yes", set.field);
        assert_eq!(of_10_000(&partial), 10_000, "every keyword is at a place where a member has it");

        let lines: String =
            asked.iter().enumerate().map(|(i, record)| (set.cell)(record, i as u64) + "\n").collect();
        let answers = |words: &str| -> Vec<bool> {
            let done = folder.run_with(&format!("query f.tamis -q {words}"), lines.clone());
            assert_eq!(done.code, 0, "{}", done.err);
            let yes = |line: &str| line.split('\t').nth(1) == Some("yes");
            done.out.lines().map(yes).collect()
        };
        assert!(answers("") == expected, "{}: query", set.field);
        assert!(answers("--partial") == partial, "{}: query --partial", set.field);

        folder.write("asked.csv", table(&set, &asked));
        let passed = |words: &str| -> HashSet<usize> {
            folder.ok(&format!("filter f.tamis asked.csv -q -o out.csv {words}"));
            column(&folder.text("out.csv"), "number").iter().map(|number| number.parse().unwrap()).collect()
        };
        let numbers = |found: &[bool]| (0..asked.len()).filter(|&i| found[i]).collect::<HashSet<usize>>();
        assert!(passed("") == numbers(&expected), "{}: filter", set.field);
        assert!(passed("--partial") == numbers(&partial), "{}: filter --partial", set.field);

        // `test` calls positive what is found as a record.
        let members: HashSet<&Record> = set.records.iter().collect();
        let outside: HashSet<(&Record, bool)> = asked.iter().zip(expected.iter().copied()).collect();
        let outside: Vec<_> = outside.into_iter().filter(|(record, _)| !members.contains(record)).collect();
        let test = folder.json("test f.tamis data.csv --negatives asked.csv --bad-rows skip");
        let group = &test["groups"][0];
        let wrong = outside.iter().filter(|(_, found)| *found).count();
        assert_eq!(group["false_positives"], wrong, "{}: {group}", set.field);
        assert_eq!(group["false_negatives"], 0, "{}", set.field);
    }
}

/// A classic filter of whole records: Algorithms 1 and 2.
struct Classic {
    bits: Vec<bool>,
    k: u64,
}

impl Classic {
    fn positions(&self, record: &[String]) -> Vec<usize> {
        let mut bytes = Vec::new();
        for word in record {
            bytes.extend((word.len() as u32).to_le_bytes());
            bytes.extend(word.as_bytes());
        }
        (0..self.k).map(|j| position(xxh3(&bytes, 0), j, self.bits.len() as u64) as usize).collect()
    }
}

#[test]
fn false_positives_are_those_that_algorithm_5_detects() {
    for set in sets() {
        let folder = Folder::new();
        let mut unique = set.records.clone();
        unique.sort();
        unique.dedup();
        // Halves of unique rows, and all of them shuffled.
        let mut dice = Dice(9);
        for i in (1..unique.len()).rev() {
            unique.swap(i, dice.below(i as u64 + 1) as usize);
        }
        let halves: [&[Record]; 2] = unique.split_at(unique.len() / 2).into();
        folder.write("all.csv", table(&set, &unique));
        let detected = |kind: &str| {
            for (half, name) in halves.iter().zip(["b", "c"]) {
                folder.write("half.csv", table(&set, half));
                folder.ok(&format!(
                    "build half.csv {kind} --keywords {} --fpr 0.05 -o {name}.tamis -q",
                    set.field
                ));
            }
            folder.ok("filter b.tamis all.csv -q -o in-b.csv");
            folder.json("filter c.tamis in-b.csv --count")["admitted"].as_u64().unwrap()
        };

        let found = detected("--kind layered --layers 2");
        let models = halves.iter().zip(["b.tamis", "c.tamis"]).map(|(half, file)| {
            let mut model = Layers::shaped_as(&folder, file);
            half.iter().for_each(|record| model.insert(record));
            model
        });
        let models: Vec<Layers> = models.collect();
        let in_both = |record: &&Record| models.iter().all(|model| model.lookup(record));
        assert_eq!(found, unique.iter().filter(in_both).count() as u64, "{}: layers", set.field);

        let found = detected("--kind bloom");
        let models = halves.iter().zip(["b.tamis", "c.tamis"]).map(|(half, file)| {
            let group = &folder.json(&format!("inspect {file}"))["groups"][0];
            let number = |name: &str| group[name].as_u64().unwrap();
            let mut model = Classic { bits: vec![false; number("bits") as usize], k: number("hashes") };
            for record in *half {
                model.positions(record).into_iter().for_each(|at| model.bits[at] = true);
            }
            model
        });
        let models: Vec<Classic> = models.collect();
        let has = |model: &Classic, record: &Record| model.positions(record).iter().all(|&at| model.bits[at]);
        let in_both = |record: &&Record| models.iter().all(|model| has(model, record));
        let expected = unique.iter().filter(in_both).count() as u64;
        assert!(expected > 0 && found == expected, "{}: classic, {found} for {expected}", set.field);
    }
}

/// Keywords with blanks at their ends, or commas in them: a query is made as a row is.
#[test]
fn every_row_of_a_public_table_is_found_by_its_own_cell() {
    for (name, field) in
        [("tmdb_5000_movies.csv", "keywords:json=name"), ("netflix_titles.csv", "cast:split=,")]
    {
        let Some(set) = public(name, field) else { continue };
        let folder = Folder::new();
        folder.write("data.csv", &set.table);
        folder.ok(&format!(
            "build data.csv --kind layered --keywords {field} --layers 3 --fpr 0.05 --bad-rows skip -o f.tamis -q"
        ));
        let cells: Vec<String> = column(&set.table, field.split(':').next().unwrap());
        let cells = cells.iter().filter(|cell| !cell.is_empty() && *cell != "[]");
        let lines: String = cells.clone().map(|cell| format!("{cell}\n")).collect();
        let done = folder.run_with("query f.tamis -q", lines);
        assert_eq!(done.code, 0, "{}", done.err);
        assert_eq!(done.out.lines().filter(|line| line.ends_with("\tyes")).count(), cells.count(), "{name}");
    }
}
