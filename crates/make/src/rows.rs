//! From rows to keys: the recipe applied, groups numbered, keys hashed, bad rows dealt with.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::aside::{Aside, Setting};
use crate::numbering::Numbering;
use crate::opt;
use crate::seed;
use tamis::hash::{Scheme, Single, xxh3};
use tamis::key::{BadValue, Maker, Recipe, is_present, keywords_of};
use tamis::params::{Name, Params};
use tamis_read::refusal::{Help, Refusal};
use tamis_read::{BadRecord, BadRow, Fault, Lines, RowResult, Sink, skip_bad_rows};

/// What a job does with rows of which no key can be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum BadRows {
    /// Stop at the first, naming file, line and value.
    #[default]
    Fail,
    /// Leave them out, and count them.
    Skip,
    /// Leave them out, count them, and write them to this file.
    SetAside(PathBuf),
}

impl BadRows {
    /// The file that they go to, where there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            BadRows::SetAside(path) => Some(path),
            BadRows::Fail | BadRows::Skip => None,
        }
    }
}

/// What a sink does with a row of which no key can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnBad {
    /// Refuse it, which ends the scan.
    #[default]
    Fail,
    /// Leave it out, and count it.
    Skip,
    /// Count it and refuse it: it is [set aside](Sink::set_aside).
    SetAside,
}

impl OnBad {
    /// Those that can be asked for by name.
    pub const NAMED: [OnBad; 2] = [OnBad::Fail, OnBad::Skip];

    /// Its name in requests.
    pub fn name(self) -> &'static str {
        match self {
            OnBad::Fail => "fail",
            OnBad::Skip => "skip",
            OnBad::SetAside => "set aside",
        }
    }

    /// The same in a second pass: what was set aside in the first is left out.
    pub fn again(self) -> OnBad {
        match self {
            OnBad::SetAside => OnBad::Skip,
            on_bad => on_bad,
        }
    }
}

impl From<&BadRows> for OnBad {
    fn from(bad_rows: &BadRows) -> OnBad {
        match bad_rows {
            BadRows::Fail => OnBad::Fail,
            BadRows::Skip => OnBad::Skip,
            BadRows::SetAside(_) => OnBad::SetAside,
        }
    }
}

/// A key on its way into a sketch.
#[derive(Debug, Clone, Copy)]
pub struct Key<'a> {
    /// The number of its group.
    pub group: u32,
    /// Its [identity](Scheme::identity).
    pub hash: u64,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// What it counts for: 1, but where the recipe names a weight.
    pub weight: u64,
}

/// What takes keys; each thread has one of its own.
pub trait Take: Send {
    /// Takes one key.
    fn take(&mut self, key: Key<'_>);

    /// Whether it looks at the bytes of keys, or only at their hashes.
    fn reads_bytes(&self) -> bool {
        true
    }

    /// Takes keys of one group, each with the weight 1, where it reads no bytes.
    #[inline]
    fn take_hashes(&mut self, group: u32, hashes: &[u64]) {
        hashes.iter().for_each(|&hash| self.take(Key { group, hash, bytes: &[], weight: 1 }));
    }

    /// Whether it can take several keys of a row: those of its keywords, where each is a key of its own.
    fn takes_several(&self) -> bool {
        true
    }
}

/// Takes keys and does nothing with them: where only the rows matter.
#[derive(Debug)]
pub struct Ignore;

impl Take for Ignore {
    fn take(&mut self, _: Key<'_>) {}

    fn reads_bytes(&self) -> bool {
        false
    }
}

/// Names, numbered in the order in which they occur.
#[derive(Debug, Default)]
pub struct Names {
    /// In the order in which they came.
    pub list: Vec<Name>,
    numbers: Numbers,
}

impl Names {
    /// The number of a name, which gets one if it is new.
    pub(crate) fn number(&mut self, name: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(Name(name.to_vec()));
        self.numbers.insert(name.into(), number);
        number
    }
}

type Numbers = HashMap<Box<[u8]>, u32, Seeded>;

/// How the names of groups become numbers.
#[derive(Debug)]
pub enum Groups<'a> {
    /// In the order in which they appear.
    Discover(Names),
    /// As all threads together meet them.
    Numbered(&'a Numbering),
    /// As they stand in the parameters; another name is a bad row.
    Known(&'a Params),
    /// As they stand in the parameters; others are numbered from `first` on, as all threads
    /// together meet them.
    KnownFirst {
        /// The parameters.
        params: &'a Params,
        /// The number of the first other name.
        first: u32,
        /// The other names.
        others: &'a Mutex<Names>,
    },
    /// As they stand in the parameters; all others have this number.
    KnownOr(&'a Params, u32),
    /// All keys belong to the group of this number, whatever the row says.
    One(u32),
}

/// The sink that turns rows into keys.
pub struct KeyRows<'a, T> {
    maker: Maker<'a>,
    parts: usize,
    /// Where the weight stands among the values, and the sum of weights by group.
    weight_at: Option<usize>,
    weights: Vec<u64>,
    /// Whether each keyword of a row is a key, and all of them are taken.
    each: bool,
    hash: Scheme,
    on_bad: OnBad,
    aside: Option<Setting<'a>>,
    groups: Groups<'a>,
    numbers: Numbers,
    /// The one group of all keys and their hash, where keys are values as they stand.
    plain: Option<(u32, Single)>,
    /// Hashes of keys that are taken together.
    hashes: Vec<u64>,
    /// Short values seen lately, by a hash of their bytes: most columns of groups have few.
    recent: Box<[(u64, u32); RECENT]>,
    /// Rows of which a key was made, by group.
    pub rows: Vec<u64>,
    /// Rows left out.
    pub skipped: u64,
    /// What takes the keys.
    pub take: T,
}

const RECENT: usize = 1024;

/// Values of groups whose number is remembered.
const REMEMBERED: usize = 1 << 15;

impl<'a, T: Take> KeyRows<'a, T> {
    /// A sink for one thread.
    pub fn new(recipe: &'a Recipe, hash: Scheme, on_bad: OnBad, groups: Groups<'a>, take: T) -> Self {
        let groups = match groups {
            Groups::One(number) => Groups::One(number),
            _ if recipe.group.is_none() => Groups::One(0),
            groups => groups,
        };
        let plain = match (&groups, hash.single()) {
            (&Groups::One(group), Some(hash)) => Some((group, hash)),
            _ => None,
        };
        let plain = plain.filter(|_| recipe.is_plain() && recipe.weight.is_none());
        KeyRows {
            maker: Maker::new(recipe),
            parts: recipe.key.len(),
            weight_at: recipe.weight_at(),
            weights: Vec::new(),
            each: recipe.has_key_each() && take.takes_several(),
            hash,
            on_bad,
            aside: None,
            groups,
            numbers: Numbers::default(),
            plain,
            hashes: Vec::new(),
            recent: Box::new([(u64::MAX, 0); RECENT]),
            rows: Vec::new(),
            skipped: 0,
            take,
        }
    }

    /// The same, with a file for rows that are set aside.
    pub fn with_aside(self, aside: Option<&'a Aside>) -> Self {
        KeyRows { aside: aside.map(Setting::new), ..self }
    }

    /// How lines are hashed, where they are keys as they stand, [those that are there](is_present), and have no
    /// groups. Whoever takes them past this sink has them counted by nobody.
    pub fn plain(&self) -> Option<Single> {
        self.plain.map(|(_, hash)| hash)
    }

    /// Counts a row of which no key can be made; what comes of it.
    #[cold]
    pub fn refuse(&mut self, why: impl FnOnce() -> Box<dyn Refusal>) -> RowResult {
        match self.on_bad {
            OnBad::Fail => Err(why()),
            OnBad::Skip => {
                self.skipped += 1;
                Ok(())
            }
            OnBad::SetAside => {
                self.skipped += 1;
                Err(why())
            }
        }
    }

    /// The sum of the weights of each group.
    pub fn totals(&self) -> &[u64] {
        if self.weight_at.is_some() { &self.weights } else { &self.rows }
    }

    /// The name of a group that was discovered, by its number; the empty one where there are no groups.
    pub fn group_name(&self, number: u32) -> &[u8] {
        match &self.groups {
            Groups::Discover(names) => names.list.get(number as usize).map_or(&[], |name| &name.0),
            _ => &[],
        }
    }

    /// What is kept from one table to the next that has the same recipe: names that were
    /// discovered, what took the keys, and the rows of each group.
    pub(crate) fn into_state(self) -> (Option<Names>, Vec<u64>, T) {
        let names = match self.groups {
            Groups::Discover(names) => Some(names),
            _ => None,
        };
        (names, self.rows, self.take)
    }

    #[inline]
    fn group(&mut self, value: Option<&[u8]>) -> Result<u32, Box<Keyless>> {
        // A value of up to 7 bytes is packed with its length into one word: equal words, equal values.
        let packed = value.map_or(0, packed);
        let slot = (packed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
        if packed != 0 && self.recent[slot].0 == packed {
            return Ok(self.recent[slot].1);
        }
        let number = self.group_by_name(value)?;
        if packed != 0 {
            self.recent[slot] = (packed, number);
        }
        Ok(number)
    }

    fn group_by_name(&mut self, value: Option<&[u8]>) -> Result<u32, Box<Keyless>> {
        if let Some(&number) = value.and_then(|value| self.numbers.get(value)) {
            return Ok(number);
        }
        let name = self.maker.group(value).map_err(|bad| Box::new(Keyless::Group(bad)))?;
        let number = match &mut self.groups {
            Groups::One(number) => *number,
            Groups::Known(params) => params
                .find(name)
                .map(|at| at as u32)
                .ok_or_else(|| Box::new(Keyless::UnknownGroup(String::from_utf8_lossy(name).into_owned())))?,
            Groups::KnownOr(params, other) => params.find(name).map_or(*other, |at| at as u32),
            Groups::Discover(names) => names.number(name),
            Groups::Numbered(numbering) => numbering.number(name),
            Groups::KnownFirst { params, first, others } => match params.find(name) {
                Some(at) => at as u32,
                None => *first + others.lock().expect("no holder panics").number(name),
            },
        };
        if let Some(value) = value {
            // Many values may make few groups (a day of a time): what is remembered is bounded.
            if self.numbers.len() >= REMEMBERED {
                self.numbers.clear();
            }
            self.numbers.insert(value.into(), number);
        }
        Ok(number)
    }

    /// The error is boxed, so that rows with a key pay nothing for it.
    #[inline]
    fn key(&mut self, values: &[Option<&[u8]>]) -> Result<(), Box<Keyless>> {
        let group = match self.groups {
            Groups::One(number) => number,
            _ => self.group(values[self.parts])?,
        };
        let weight = match self.weight_at {
            None => 1,
            Some(at) => self.maker.weight(values[at]).map_err(|bad| Box::new(Keyless::Weight(bad)))?,
        };
        if self.each {
            return self.each_keyword(&values[..self.parts], group, weight);
        }
        let bytes = self.maker.key(&values[..self.parts]).map_err(|bad| Box::new(Keyless::Key(bad)))?;
        let hash = self.hash.identity(bytes);
        self.take.take(Key { group, hash, bytes, weight });
        self.count_weighted(group as usize, 1, weight);
        Ok(())
    }

    /// Takes each keyword of a row as a key, and counts each as a row.
    fn each_keyword(&mut self, parts: &[Option<&[u8]>], group: u32, weight: u64) -> Result<(), Box<Keyless>> {
        let record = self.maker.record(parts).map_err(|bad| Box::new(Keyless::Key(bad)))?;
        let mut keys = 0;
        for bytes in keywords_of(record) {
            let hash = self.hash.identity(bytes);
            self.take.take(Key { group, hash, bytes, weight });
            keys += 1;
        }
        self.count_weighted(group as usize, keys, weight);
        Ok(())
    }
}

impl<T> KeyRows<'_, T> {
    /// Counts rows of which a key was made. It is part of every row: a call would cost more than it does.
    #[inline(always)]
    fn count(&mut self, group: usize, rows: u64) {
        if self.rows.len() <= group {
            self.rows.resize(group + 1, 0);
        }
        self.rows[group] += rows;
    }

    /// Counts them, each with this weight.
    #[inline(always)]
    fn count_weighted(&mut self, group: usize, rows: u64, weight: u64) {
        self.count(group, rows);
        if self.weight_at.is_some() {
            if self.weights.len() <= group {
                self.weights.resize(group + 1, 0);
            }
            self.weights[group] = self.weights[group].saturating_add(weight.saturating_mul(rows));
        }
    }
}

/// Why no key can be made of the values of a row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Keyless {
    /// They make no key.
    #[error("in the key: {0}")]
    Key(BadValue),
    /// They make no group.
    #[error("in the group: {0}")]
    Group(BadValue),
    /// The group is not in the parameters.
    #[error("group {0:?} is not in the parameters")]
    UnknownGroup(String),
    /// There is no weight.
    #[error("in the weight: {}", or_missing(.0, "an empty cell, \\N or null is not a number"))]
    Weight(BadValue),
    /// There is no time.
    #[error("in the time: {}", or_missing(.0, "an empty cell, \\N or null is not a time"))]
    Time(BadValue),
    /// A number does not tell a moment in the unit of its column.
    #[error("in the time: the number is not a valid time")]
    NumberOfNoMoment,
    /// A text does not tell a moment.
    #[error(
        "in the time: not a valid time; write 2026-11-15T12:34:56Z, 2026-11-15 12:34:56, 20261115123456 or \
         seconds since 1970, of less than nine digits with a unit"
    )]
    NoMoment,
    /// A time of a log whose bracket does not close: the zone behind it was cut off.
    #[error("in the time: its bracket does not close, so its zone is missing")]
    CutMoment,
}

/// What is wrong with a value; if there is none, in these words.
fn or_missing(bad: &BadValue, missing: &str) -> String {
    match bad {
        BadValue::Missing => missing.to_owned(),
        bad => bad.to_string(),
    }
}

/// A row of which no key can be made, with its values.
#[derive(Debug, thiserror::Error)]
#[error("{why} (values {values})")]
pub struct Unusable {
    why: Keyless,
    values: String,
}

impl Unusable {
    /// A row with these values.
    pub fn new(why: Keyless, values: &[Option<&[u8]>]) -> Unusable {
        let shown: Vec<String> = values.iter().map(|value| show(*value)).collect();
        Unusable { why, values: shown.join(", ") }
    }

    /// Why there is no key.
    pub fn why(&self) -> &Keyless {
        &self.why
    }

    /// The same row, where groups that are missing could be made; none where it lacks something else.
    pub(crate) fn of_new_group(&self) -> Option<NotInFile> {
        match &self.why {
            Keyless::UnknownGroup(name) => {
                Some(NotInFile { name: name.clone(), values: self.values.clone() })
            }
            _ => None,
        }
    }
}

/// A row of a group that a file lacks.
#[derive(Debug, thiserror::Error)]
#[error("group {name:?} is not in the file (values {values})")]
pub(crate) struct NotInFile {
    name: String,
    values: String,
}

impl Refusal for NotInFile {
    fn help(&self) -> Vec<Help> {
        vec![Help::GiveTo(opt::NEW_GROUPS.into(), "make new groups"), skip_bad_rows()]
    }
}

impl Refusal for Unusable {
    fn help(&self) -> Vec<Help> {
        let mut help = match self.why {
            Keyless::UnknownGroup(_) => {
                vec![Help::Do("plan over all of the data"), Help::Do("build without the parameters")]
            }
            Keyless::CutMoment => {
                vec![Help::GiveIf("if this is an access log", vec![opt::FORMAT.with("log")])]
            }
            _ => Vec::new(),
        };
        help.push(skip_bad_rows());
        help
    }
}

impl<T: Take> Sink for KeyRows<'_, T> {
    #[inline]
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        match self.key(values) {
            Ok(()) => Ok(()),
            Err(why) => self.refuse(|| Unusable::new(*why, values).into()),
        }
    }

    /// Where lines are keys as they stand and only hashes are wanted, they are made in one go.
    fn lines(&mut self, mut lines: Lines<'_, '_>) -> Result<(), Fault> {
        let row = |sink: &mut Self, line, place: Range<usize>| {
            let at = place.start;
            sink.row(place, &[Some(line)]).map_err(|why| Fault { at, why })
        };
        let Some((group, hash)) = self.plain.filter(|_| !self.take.reads_bytes()) else {
            return lines.try_for_each(|(line, place)| row(self, line, place));
        };
        let mut hashes = std::mem::take(&mut self.hashes);
        let hash = |line: &[u8]| hash_line(hash, line);
        for (line, place) in lines {
            match is_present(line) {
                true => hashes.push(hash(line)),
                false => row(self, line, place)?,
            }
        }
        if !hashes.is_empty() {
            self.take.take_hashes(group, &hashes);
            self.count(group as usize, hashes.len() as u64);
            hashes.clear();
        }
        self.hashes = hashes;
        Ok(())
    }

    fn bad_row(&mut self, _: Range<usize>, why: BadRow) -> RowResult {
        self.refuse(|| why.into())
    }

    fn sets_aside(&self) -> bool {
        self.on_bad == OnBad::SetAside
    }

    fn set_aside(&mut self, record: BadRecord<'_>) {
        if let Some(aside) = &mut self.aside {
            aside.take(&record);
        }
    }
}

/// A text of up to 7 bytes with its length, as one number; 0 for a longer one. Put together from parts of fixed
/// lengths, which may overlap: a copy of as many bytes as there are would be a call, and waited for.
#[inline(always)]
fn packed(text: &[u8]) -> u64 {
    let wide = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
    let bytes = match (text, text.first_chunk(), text.last_chunk()) {
        (_, Some(first), Some(last)) if text.len() < 8 => wide(first) | wide(last) << (8 * (text.len() - 4)),
        ([], ..) => 0,
        ([first, .., last], None, _) => {
            let middle = text[text.len() / 2];
            let at = |byte: u8, place: usize| u64::from(byte) << (8 * place);
            at(*first, 0) | at(middle, text.len() / 2) | at(*last, text.len() - 1)
        }
        ([only], ..) => u64::from(*only),
        _ => return 0,
    };
    bytes | (text.len() as u64 + 1) << 56
}

/// The hash of a line. The usual one is compiled into the loop around it.
#[inline(always)]
pub fn hash_line(hash: Single, line: &[u8]) -> u64 {
    if let Single::Xxh3 { seed } = hash { xxh3(line, seed) } else { hash.hash(line) }
}

/// A value for people: quoted, and cut where it is long.
pub fn show(value: Option<&[u8]>) -> String {
    match value {
        None => "null".into(),
        Some(value) if value.len() > 60 => format!("{:?}…", String::from_utf8_lossy(&value[..60])),
        Some(value) => format!("{:?}", String::from_utf8_lossy(value)),
    }
}

/// Hashes the bytes of group values. They may come from strangers: nobody knows which of them meet in one place.
#[derive(Debug, Clone)]
struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Seeded(seed::random())
    }
}

impl BuildHasher for Seeded {
    type Hasher = XxHasher;

    fn build_hasher(&self) -> XxHasher {
        XxHasher(self.0)
    }
}

/// XXH3 of what is written, one after the other.
#[derive(Debug)]
struct XxHasher(u64);

impl Hasher for XxHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3(bytes, self.0);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tamis::key::{Column, Field};

    use super::*;
    use tamis_read::windows;

    #[derive(Default)]
    struct Hashes {
        list: Vec<(u32, u64)>,
        reads_bytes: bool,
    }

    impl Take for Hashes {
        fn take(&mut self, key: Key<'_>) {
            self.list.push((key.group, key.hash));
        }

        fn reads_bytes(&self) -> bool {
            self.reads_bytes
        }
    }

    #[test]
    fn short_texts_are_packed_each_into_a_number_of_its_own() {
        let mut seen = HashMap::new();
        for len in 0..10usize {
            for text in (0..3usize.pow(len as u32)).map(|number| {
                (0..len).map(|at| b"\0a\xff"[number / 3usize.pow(at as u32) % 3]).collect::<Vec<u8>>()
            }) {
                match packed(&text) {
                    0 => assert!(len > 7),
                    number => assert_eq!((seen.insert(number, text.clone()), len < 8), (None, true)),
                }
            }
        }
        assert_eq!(packed(b"abc"), u64::from_le_bytes(*b"abc\0\0\0\0\x04"));
        assert_eq!(packed(b"abcdefg"), u64::from_le_bytes(*b"abcdefg\x08"));
    }

    proptest! {
        #[test]
        fn keys_taken_together_are_those_taken_one_by_one(
            lines in prop::collection::vec(prop::sample::select(&["a", "bc", "\\N", "", "d\r", "\\N\r"][..]), 0..9),
            null in prop::option::of(Just("none".to_string())),
            skip: bool,
        ) {
            let text = lines.join("\n");
            let key = vec![Field { column: Column::Line, steps: Vec::new() }];
            let recipe = Recipe { key, group: None, weight: None, null, ..Recipe::lines() };
            let on_bad = if skip { OnBad::Skip } else { OnBad::Fail };
            let [together, one_by_one] = [false, true].map(|reads_bytes| {
                let take = Hashes { reads_bytes, ..Hashes::default() };
                let mut sink =
                    KeyRows::new(&recipe, Scheme::DEFAULT, on_bad, Groups::One(3), take);
                assert!(sink.plain.is_some());
                let done = windows(text.as_bytes(), |lines| sink.lines(lines));
                sink.take.list.sort_unstable();
                let fault = done.as_ref().err().map(|fault| (fault.at, fault.why.to_string()));
                (done.is_ok().then_some((sink.take.list, sink.rows, sink.skipped)), fault)
            });
            prop_assert_eq!(together, one_by_one);
        }
    }
}
