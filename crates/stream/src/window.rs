//! Windows: only what came lately is known. What is asked, and which pane a row belongs to.
//!
//! Time is cut into panes of equal length, counted from 1970 on. The live panes are the newest and as
//! many before it as a window has: a row of a window's length ago is in one of them, whenever it is
//! asked for, and what is older than a window and a pane is in none. Time is that of the arrival of a
//! row, which is that of its batch; or it stands in the row itself. It never goes back.
//!
//! Rows are judged one by one, in their order, so that the result does not depend on batches.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tamis::key::{Column, Field, Recipe};
use tamis_read::calendar::{self, Unit};
use tamis_read::error::Result;
use tamis_read::refusal::Opt;

use super::opt;
use super::refusal::{BadTimeColumn, BadWindow};
use super::source::Records;

/// More panes are refused: each is a sketch of its own.
pub(super) const MOST_PANES: u64 = 10_000;

/// Panes of a window where the user did not say, if its length allows it.
const PANES: u64 = 24;

/// Rows may be dated at least this much after this machine's clock: clocks differ.
const LEAST_AHEAD: i64 = 60_000;

/// A window that moves on with time.
#[derive(Debug, Clone)]
pub struct Window {
    /// Milliseconds.
    length: i64,
    /// Milliseconds of a pane, of which a window has a whole number.
    slide: i64,
    by: By,
    /// What time it is.
    clock: fn() -> SystemTime,
}

/// Which time counts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // a job has one
pub enum By {
    /// That at which rows arrive.
    Arrival,
    /// That which stands in them.
    Event(Event),
}

/// Rows that tell their time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Where it stands.
    pub time: TimeColumn,
    /// This much before the newest time rows are still in time.
    pub lateness: Duration,
    /// What becomes of later ones.
    pub late: Late,
    /// This much after this machine's clock a time is still believed; of a pane's length, and a
    /// minute at least, where it is not given.
    pub ahead: Option<Duration>,
}

/// What becomes of rows that are late, but not too late for the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Late {
    /// They are left out.
    Drop,
    /// They are taken into their pane.
    Take,
}

impl Late {
    /// All of them.
    pub const ALL: [Late; 2] = [Late::Take, Late::Drop];

    /// How requests and states name it.
    pub fn name(self) -> &'static str {
        match self {
            Late::Drop => "drop",
            Late::Take => "take",
        }
    }
}

/// A column that tells the time of a row, with steps, and the unit of its numbers: `ts`, `ts:ms`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeColumn {
    /// The steps are those of a key of one part.
    pub(super) recipe: Recipe,
    pub(super) unit: Option<Unit>,
}

impl FromStr for TimeColumn {
    type Err = BadTimeColumn;

    /// Reads a column as [`Field`] does; the last step may be a unit: s, ms, us, ns.
    fn from_str(text: &str) -> Result<Self, BadTimeColumn> {
        let at = text.rfind([':', ',']);
        let unit = at.and_then(|at| Unit::of(&text[at + 1..]).map(|unit| (at, unit)));
        let field: Field = match unit {
            Some((at, _)) => text[..at].parse()?,
            None => text.parse()?,
        };
        if field.splitting().is_some() {
            return Err(BadTimeColumn::Keywords);
        }
        let recipe = Recipe { key: vec![field], ..Recipe::lines() };
        Ok(TimeColumn { recipe, unit: unit.map(|(_, unit)| unit) })
    }
}

/// As [`from_str`](TimeColumn::from_str) reads it.
impl fmt::Display for TimeColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = &self.recipe.key[0];
        write!(f, "{field}")?;
        match self.unit {
            Some(unit) if field.steps.is_empty() => write!(f, ":{}", unit.name()),
            Some(unit) => write!(f, ",{}", unit.name()),
            None => Ok(()),
        }
    }
}

impl TimeColumn {
    pub(super) fn column(&self) -> Column {
        self.recipe.key[0].column.clone()
    }
}

/// A time in whole milliseconds, above zero.
fn millis(option: Opt, time: Duration) -> Result<i64, BadWindow> {
    match i64::try_from(time.as_millis()) {
        Ok(0) => Err(BadWindow::Zero(option)),
        Ok(_) if !time.subsec_nanos().is_multiple_of(1_000_000) => Err(BadWindow::Fraction(option)),
        // So that sums of times stay far from the largest number.
        Ok(millis) if millis < i64::MAX / 8 => Ok(millis),
        _ => Err(BadWindow::Endless(option)),
    }
}

/// A length for people: `24h`, `90s`.
pub(super) fn shown(millis: i64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
    // A day is called 24h.
    let fits = |(size, _): &(i64, &str)| millis % size == 0 && (millis / size > 1 || *size < 86_400_000);
    let (size, name) = units.into_iter().find(fits).unwrap_or((1, "ms"));
    format!("{}{name}", millis / size)
}

impl Window {
    /// A window of this length, cut into panes of that length: where it is not given, into 24, or as
    /// many up to that as make panes of whole milliseconds.
    pub fn new(
        length: Duration,
        slide: Option<Duration>,
        by: By,
        clock: fn() -> SystemTime,
    ) -> Result<Self, BadWindow> {
        let length = millis(opt::WINDOW, length)?;
        let slide = match slide {
            Some(slide) => millis(opt::SLIDE, slide)?,
            None => {
                let panes = (1..=PANES as i64).rev().find(|panes| length % panes == 0).unwrap_or(1);
                length / panes
            }
        };
        let texts = || (shown(length), shown(slide));
        if length < slide {
            let (length, slide) = texts();
            return Err(BadWindow::Short { length, slide });
        }
        if length % slide != 0 {
            let (length, slide) = texts();
            return Err(BadWindow::Uneven { length, slide });
        }
        if (length / slide) as u64 > MOST_PANES {
            let panes = length / slide;
            let (length, slide) = texts();
            return Err(BadWindow::Panes { length, slide, panes });
        }
        Ok(Window { length, slide, by, clock })
    }

    /// The live panes at any moment: those of a window, and the one that is still filled.
    pub fn panes(&self) -> u64 {
        (self.length / self.slide) as u64 + 1
    }

    /// How long it is.
    pub fn length(&self) -> Duration {
        Duration::from_millis(self.length as u64)
    }

    /// How long a pane is.
    pub fn slide(&self) -> Duration {
        Duration::from_millis(self.slide as u64)
    }

    /// Whether rows that are late are taken.
    pub fn takes_late(&self) -> bool {
        matches!(&self.by, By::Event(event) if event.late == Late::Take)
    }

    /// The column of the time, where rows tell it.
    pub(super) fn time(&self) -> Option<&TimeColumn> {
        match &self.by {
            By::Arrival => None,
            By::Event(event) => Some(&event.time),
        }
    }

    pub(super) fn now(&self) -> i64 {
        calendar::millis((self.clock)())
    }

    /// This much after this machine's clock a time is still believed.
    fn ahead(&self) -> i64 {
        match &self.by {
            By::Event(Event { ahead: Some(ahead), .. }) => saturated(*ahead),
            _ => self.slide.max(LEAST_AHEAD),
        }
    }

    /// The pane of a moment.
    pub(super) fn pane(&self, moment: i64) -> i64 {
        moment.div_euclid(self.slide)
    }

    /// When a pane begins.
    pub(super) fn start(&self, pane: i64) -> i64 {
        pane.saturating_mul(self.slide)
    }

    /// The oldest pane that is live when this is the newest moment.
    pub(super) fn oldest(&self, newest: i64) -> i64 {
        self.pane(newest).saturating_sub(self.length / self.slide)
    }

    /// What must be the same when a later run goes on.
    pub(super) fn pinned(&self) -> Pinned {
        let event = match &self.by {
            By::Event(event) => Some(event),
            By::Arrival => None,
        };
        Pinned {
            length_ms: self.length,
            slide_ms: self.slide,
            time: event.map(|event| event.time.recipe.key[0].clone()),
            time_unit: event.and_then(|event| event.time.unit).map(|unit| unit.name().to_owned()),
            lateness_ms: event.map(|event| saturated(event.lateness)),
            late: event.map(|event| event.late.name().to_owned()),
            ahead_ms: event.map(|_| self.ahead()),
        }
    }
}

/// A window as the identity of a job has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Pinned {
    length_ms: i64,
    slide_ms: i64,
    /// The column that tells the time of a row; all that follows is `null` without it.
    time: Option<Field>,
    time_unit: Option<String>,
    lateness_ms: Option<i64>,
    late: Option<String>,
    ahead_ms: Option<i64>,
}

/// For people.
impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in slides of {}", shown(self.length), shown(self.slide))
    }
}

fn saturated(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// What became of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Judged {
    /// Rows behind the newest time by more than the lateness, taken or not, but not too old.
    pub late: u64,
    /// Rows that are too old for the window.
    pub expired: u64,
    /// Rows that are dated too far after this machine's clock.
    pub ahead: u64,
}

/// How far time has come.
#[derive(Debug, Clone)]
pub(super) struct Times {
    window: Window,
    /// The newest time of a row, or of a batch.
    pub(super) newest: Option<i64>,
    /// The latest moment of the clock.
    clock: i64,
    pub(super) judged: Judged,
}

/// The rows of a batch by their panes, without those that are left out.
#[derive(Debug)]
pub(super) struct Sorted {
    /// Rows that stand together and belong to the same pane, in their order.
    runs: Vec<(i64, Range<usize>)>,
    /// The oldest pane that is live after the batch.
    pub(super) oldest: i64,
    /// Rows that were taken, also those whose pane is no longer live at the end of the batch.
    pub(super) taken: u64,
}

impl Times {
    /// As they were at the commit.
    pub(super) fn new(window: &Window, newest: Option<i64>) -> Times {
        Times { window: window.clone(), newest, clock: i64::MIN, judged: Judged::default() }
    }

    pub(super) fn window(&self) -> &Window {
        &self.window
    }

    /// The moment that it is now, which is never before the last.
    pub(super) fn tick(&mut self, now: i64) -> i64 {
        self.clock = self.clock.max(now);
        self.clock
    }

    /// The oldest pane that would be live now, where time goes on by itself.
    pub(super) fn oldest_now(&self, now: i64) -> Option<i64> {
        let newest = self.newest.filter(|_| self.window.by == By::Arrival)?;
        Some(self.window.oldest(newest.max(now)))
    }

    /// Finds the panes of rows that come now; nothing where no time is known yet.
    pub(super) fn sort(&mut self, records: &Records, now: i64) -> Option<Sorted> {
        let now = self.tick(now);
        let mut runs: Vec<(i64, Range<usize>)> = Vec::new();
        let mut taken = 0;
        match &self.window.by {
            By::Arrival => {
                let newest = self.newest.map_or(now, |newest| newest.max(now));
                self.newest = Some(newest);
                if !records.is_empty() {
                    runs.push((self.window.pane(newest), 0..records.len()));
                    taken = records.len() as u64;
                }
            }
            By::Event(event) => {
                let latest = now.saturating_add(self.window.ahead());
                let lateness = saturated(event.lateness);
                for (row, &time) in records.times.iter().enumerate() {
                    if time > latest {
                        self.judged.ahead += 1;
                        continue;
                    }
                    let newest = self.newest.map_or(time, |newest| newest.max(time));
                    self.newest = Some(newest);
                    let pane = self.window.pane(time);
                    if pane < self.window.oldest(newest) {
                        self.judged.expired += 1;
                        continue;
                    }
                    if time < newest.saturating_sub(lateness) {
                        self.judged.late += 1;
                        if event.late == Late::Drop {
                            continue;
                        }
                    }
                    taken += 1;
                    match runs.last_mut() {
                        Some((last, range)) if *last == pane && range.end == row => range.end = row + 1,
                        _ => runs.push((pane, row..row + 1)),
                    }
                }
            }
        }
        let oldest = self.window.oldest(self.newest?);
        runs.retain(|(pane, _)| *pane >= oldest);
        Some(Sorted { runs, oldest, taken })
    }
}

impl Sorted {
    /// The rows of each pane; where all belong to one, they are not copied.
    pub(super) fn parts<'r>(&self, records: &'r Records) -> Vec<(i64, Part<'r>)> {
        if let [(pane, range)] = &self.runs[..]
            && *range == (0..records.len())
        {
            return vec![(*pane, Part::All(records))];
        }
        let mut parts: BTreeMap<i64, Records> = BTreeMap::new();
        for (pane, range) in &self.runs {
            parts.entry(*pane).or_default().extend(records, range.clone());
        }
        parts.into_iter().map(|(pane, records)| (pane, Part::Some(records))).collect()
    }
}

/// The rows of one pane.
// One is made for each pane of a batch, and lives for a moment.
#[expect(clippy::large_enum_variant)]
pub(super) enum Part<'r> {
    All(&'r Records),
    Some(Records),
}

impl Part<'_> {
    pub(super) fn records(&self) -> &Records {
        match self {
            Part::All(records) => records,
            Part::Some(records) => records,
        }
    }
}

#[cfg(test)]
mod tests {
    use tamis_read::refusal::{Fields, say};

    use super::*;

    fn window(length: &str, slide: Option<&str>) -> Result<Window, BadWindow> {
        let time = |text: &str| {
            let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic()).unwrap());
            let unit = match unit {
                "us" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "h" => 3600.0,
                _ => 86_400.0,
            };
            Duration::from_secs_f64(number.parse::<f64>().unwrap() * unit)
        };
        Window::new(time(length), slide.map(time), By::Arrival, SystemTime::now)
    }

    #[test]
    fn a_window_has_a_whole_number_of_slides() {
        let shown = |length, slide| window(length, slide).map(|window| window.to_string()).unwrap();
        assert_eq!(shown("24h", Some("1h")), "24h in slides of 1h");
        assert_eq!(shown("24h", None), "24h in slides of 1h");
        assert_eq!(shown("7d", None), "7d in slides of 7h");
        assert_eq!(shown("1s", None), "1s in slides of 50ms");
        assert_eq!(shown("7ms", None), "7ms in slides of 1ms");
        assert_eq!(shown("1h", Some("1h")), "1h in slides of 1h");
        assert_eq!(window("24h", Some("1h")).unwrap().panes(), 25);
        assert_eq!(window("10s", Some("1ms")).unwrap().panes(), 10_001);
        for (length, slide, says) in [
            ("1h", Some("2h"), "shorter than its slide"),
            ("10s", Some("3s"), "not a whole number of slides"),
            ("0s", None, "at least a millisecond"),
            ("1h", Some("0s"), "at least a millisecond"),
            ("1500us", None, "whole number of milliseconds"),
            ("24h", Some("1s"), "86400 panes"),
            ("999999999d", Some("1ms"), "panes"),
            ("99999999999999d", None, "too long"),
        ] {
            let message = window(length, slide).err().map(|why| say(&why, &Fields)).unwrap_or_default();
            assert!(message.contains(says), "{length} {slide:?}: {message}");
        }
    }

    #[test]
    fn a_column_of_times_is_written_as_it_is_read() {
        for text in ["at", "ts:ms", "4:after=[", "4:after=[,s", "user.seen:trim,ns", "a:b:", "a:b::us", "3"] {
            let column: TimeColumn = text.parse().unwrap();
            assert_eq!(column.to_string().parse::<TimeColumn>().unwrap(), column, "{text}");
        }
        let column: TimeColumn = "ts:ms".parse().unwrap();
        assert_eq!((column.column(), column.unit), (Column::Name("ts".into()), Some(Unit::Millis)));
        assert_eq!("ts".parse::<TimeColumn>().unwrap().unit, None);
        for text in ["ts:minutes", "ts:words", "ts:split=x,ms", "0"] {
            assert!(text.parse::<TimeColumn>().is_err(), "{text}");
        }
    }

    /// Panes are counted from 1970 on, before it too.
    #[test]
    fn panes_are_aligned_on_both_sides_of_1970() {
        let window = window("10s", Some("1s")).unwrap();
        let panes: Vec<i64> = [-1001, -1000, -1, 0, 999, 1000].map(|moment| window.pane(moment)).to_vec();
        assert_eq!(panes, [-2, -1, -1, 0, 0, 1]);
        assert_eq!((window.start(-2), window.oldest(0)), (-2000, -10));
    }
}
