//! The ring of panes: a sketch for each, all of the same parameters, and their union, which is asked.
//!
//! All have the size of a whole window, so that the union keeps the target rate however unevenly
//! keys fall into panes, and one lookup answers. The union is the sketch of exactly the rows in live
//! panes: the same bytes as one that was built of them. What expires cannot be taken out of it, so
//! it is rebuilt of the panes that are left.

use std::collections::BTreeMap;
use std::path::Path;

use tamis::params::{Common, Name};
use tamis_make::files;
use tamis_read::error::Result;

use super::learned::{Learned, Sizing};
use super::window::Part;

/// Panes that have rows, by their number.
#[derive(Debug, Default)]
pub(super) struct Panes(BTreeMap<i64, Pane>);

#[derive(Debug)]
struct Pane {
    learned: Learned,
    /// The last batch that added rows.
    changed: u64,
    /// The file of a commit that holds it as it is; none where rows came since.
    file: Option<String>,
}

impl Panes {
    /// Those of a commit, with the files that hold them.
    pub(super) fn load<'f>(
        common: &Common,
        sizing: &Sizing,
        files: impl IntoIterator<Item = (i64, &'f String)>,
        path: impl Fn(&str) -> std::path::PathBuf,
    ) -> Result<Panes> {
        let mut panes = BTreeMap::new();
        for (number, name) in files {
            let path = path(name);
            let learned = Learned::load(common, sizing, &files::open(&path)?, &path)?;
            panes.insert(number, Pane { learned, changed: 0, file: Some(name.clone()) });
        }
        Ok(Panes(panes))
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// The oldest.
    pub(super) fn first(&self) -> Option<i64> {
        self.0.keys().next().copied()
    }

    /// Drops what is older than this pane, and adds the rows of a batch to theirs and to the union.
    pub(super) fn train(
        &mut self,
        batch: u64,
        union: &mut Learned,
        oldest: i64,
        parts: &[(i64, Part<'_>)],
        found: &[Name],
    ) -> Result<()> {
        let live = self.0.split_off(&oldest);
        let expired = !self.0.is_empty();
        self.0 = live;
        for (number, part) in parts {
            let records = part.records();
            let pane = match self.0.entry(*number) {
                std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(Pane { learned: union.empty()?, changed: batch, file: None })
                }
            };
            (pane.changed, pane.file) = (batch, None);
            pane.learned.meet(records, found)?;
            pane.learned.train(records)?;
            if !expired {
                union.meet(records, found)?;
                union.train(records)?;
            }
        }
        if expired {
            *union = union.empty()?;
            for pane in self.0.values() {
                union.join(&pane.learned)?;
            }
        }
        Ok(())
    }

    /// Writes those that have changed to files of the folder, named by `name` for the pane and the
    /// batch that changed it last; gives all files.
    pub(super) fn write(
        &mut self,
        folder: &Path,
        threads: usize,
        name: impl Fn(i64, u64) -> String,
    ) -> Result<Vec<(i64, String)>> {
        let mut files = Vec::with_capacity(self.0.len());
        for (&number, pane) in &mut self.0 {
            let file = match &pane.file {
                Some(file) => file.clone(),
                None => {
                    let file = name(number, pane.changed);
                    pane.learned.write(&folder.join(&file), threads)?;
                    pane.file = Some(file.clone());
                    file
                }
            };
            files.push((number, file));
        }
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use proptest::prelude::*;
    use tamis::hash::Scheme;
    use tamis::key::Recipe;
    use tamis::sizing::Kind;

    use super::super::source::Records;
    use super::super::window::{By, Event, Judged, Late, Times, Window};
    use super::*;
    use tamis_make::batch::{Keeps, KeyBatch};
    use tamis_make::plan::{Counters, Size};
    use tamis_make::rows::{Key, Take};

    const SLIDE: i64 = 1_000;
    const PANES: i64 = 4;
    const AHEAD: i64 = 60_000;

    /// A row: key, group, time.
    type Row = (u8, u8, i64);

    /// What is said by the definitions alone, row by row; nothing is forgotten, only filtered.
    #[derive(Debug, Default)]
    struct Model {
        newest: Option<i64>,
        clock: i64,
        taken: Vec<Row>,
        judged: Judged,
    }

    impl Model {
        fn is_live(&self, time: i64) -> bool {
            // The pane of the row begins no more than a window before the newest one does.
            let begin = |time: i64| time - time.rem_euclid(SLIDE);
            self.newest.is_some_and(|newest| begin(newest) - begin(time) <= PANES * SLIDE)
        }

        fn batch(&mut self, rows: &[Row], now: i64, event: Option<(i64, Late)>) {
            self.clock = self.clock.max(now);
            if event.is_none() {
                self.newest = self.newest.max(Some(now));
            }
            for &(key, group, time) in rows {
                let Some((lateness, late)) = event else {
                    self.taken.push((key, group, self.newest.unwrap()));
                    continue;
                };
                if time > self.clock + AHEAD {
                    self.judged.ahead += 1;
                    continue;
                }
                self.newest = self.newest.max(Some(time));
                let is_late = time < self.newest.unwrap() - lateness;
                if !self.is_live(time) {
                    self.judged.expired += 1;
                } else {
                    self.judged.late += u64::from(is_late);
                    if !is_late || late == Late::Take {
                        self.taken.push((key, group, time));
                    }
                }
            }
        }

        fn live(&self) -> Vec<Row> {
            self.taken.iter().copied().filter(|(_, _, time)| self.is_live(*time)).collect()
        }
    }

    #[derive(Debug, Clone, Copy)]
    enum Sketches {
        Blocked,
        Bloom,
        Grouped,
        CountMin,
    }

    fn learned(sketches: Sketches) -> Learned {
        let mut recipe = Recipe::lines();
        let (kind, sizing) = match sketches {
            Sketches::Blocked => (Kind::Blocked, Sizing::Keys(60, Size::Fpr(0.01))),
            Sketches::Bloom => (Kind::Bloom, Sizing::Keys(60, Size::Fpr(0.01))),
            Sketches::Grouped => (Kind::Blocked, Sizing::Keys(20, Size::Fpr(0.01))),
            Sketches::CountMin => {
                (Kind::CountMin, Sizing::Counters(Counters::for_error(0.05, 0.1, 64).unwrap()))
            }
        };
        if matches!(sketches, Sketches::Grouped) {
            recipe.group = Some("g".parse().unwrap());
        }
        Learned::new(&Common { kind, hash: Scheme::Xxh3 { seed: 0 }, recipe }, &sizing).unwrap()
    }

    fn records(rows: &[Row], grouped: bool) -> Records {
        let mut keys = KeyBatch::new(Keeps { groups: grouped, ..Keeps::default() });
        for (key, group, _) in rows {
            let hash = tamis::hash::xxh3(&[*key], 0);
            keys.take(Key { group: u32::from(*group), hash, bytes: &[], weight: 1 });
        }
        Records { keys, times: rows.iter().map(|(.., time)| *time).collect(), ..Records::default() }
    }

    fn window(event: Option<(i64, Late)>) -> Window {
        let millis = |millis: i64| Duration::from_millis(millis as u64);
        let by = match event {
            None => By::Arrival,
            Some((lateness, late)) => By::Event(Event {
                time: "t".parse().unwrap(),
                lateness: millis(lateness),
                late,
                ahead: Some(millis(AHEAD)),
            }),
        };
        Window::new(millis(PANES * SLIDE), Some(millis(SLIDE)), by, SystemTime::now).unwrap()
    }

    /// Times that creep on, fall behind, and jump by many windows both ways, beyond what is believed.
    fn time() -> impl Strategy<Value = i64> {
        prop_oneof![
            6 => -2_500i64..12_000,
            2 => 9_000i64..70_000,
            1 => Just(i64::MAX),
            1 => Just(i64::MIN / 4),
        ]
    }

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        prop::collection::vec((0u8..40, 0u8..3, time()), 0..12)
    }

    fn event() -> impl Strategy<Value = Option<(i64, Late)>> {
        let late = prop_oneof![Just(Late::Drop), Just(Late::Take)];
        prop_oneof![1 => Just(None), 3 => (0i64..6_000, late).prop_map(Some)]
    }

    fn sketches() -> impl Strategy<Value = Sketches> {
        prop_oneof![
            Just(Sketches::Blocked),
            Just(Sketches::Bloom),
            Just(Sketches::Grouped),
            Just(Sketches::CountMin)
        ]
    }

    proptest! {
        /// After every batch the union is the sketch of exactly the rows in live panes, and what was
        /// left out is counted, whatever times rows have and however the clock jumps.
        #[test]
        fn the_union_is_what_is_built_of_the_rows_of_live_panes(
            batches in prop::collection::vec((rows(), -3_000i64..30_000), 1..10),
            event in event(),
            sketches in sketches(),
        ) {
            let grouped = matches!(sketches, Sketches::Grouped);
            let found: Vec<Name> = ["a", "b", "c"].map(|name| Name(name.into())).to_vec();
            let mut times = Times::new(&window(event), None);
            let (mut union, mut panes) = (learned(sketches), Panes::default());
            let mut model = Model { clock: i64::MIN / 2, ..Model::default() };
            for (rows, now) in &batches {
                model.batch(rows, *now, event);
                let records = records(rows, grouped);
                if let Some(sorted) = times.sort(&records, *now) {
                    panes.train(1, &mut union, sorted.oldest, &sorted.parts(&records), &found).unwrap();
                }
                let live = model.live();
                let mut built = learned(sketches);
                let all = self::records(&live, grouped);
                built.meet(&all, &found).unwrap();
                built.train(&all).unwrap();
                prop_assert_eq!(union.contents(), built.contents());
                prop_assert_eq!(times.judged, model.judged);
                prop_assert_eq!(times.newest, model.newest);
                // Nothing that came within the window is missed, nothing older than it and a slide is there.
                let newest = model.newest.unwrap_or(0);
                for row in &model.taken {
                    let age = newest - row.2;
                    prop_assert!(live.contains(row) || age > PANES * SLIDE);
                }
                prop_assert!(live.iter().all(|row| newest - row.2 < (PANES + 1) * SLIDE));
                prop_assert!(panes.len() as i64 <= PANES + 1);
            }
        }

        /// By event time, rows alone decide: not how they come in batches.
        #[test]
        fn batches_do_not_matter_where_rows_tell_their_time(
            rows in prop::collection::vec((0u8..40, 0u8..3, time()), 0..60),
            cuts in prop::collection::vec(1usize..20, 1..8),
            lateness in 0i64..6_000,
            take: bool,
        ) {
            let event = Some((lateness, if take { Late::Take } else { Late::Drop }));
            let run = |cuts: &[usize]| {
                let mut times = Times::new(&window(event), None);
                let (mut union, mut panes) = (learned(Sketches::Blocked), Panes::default());
                let (mut rest, mut cuts, mut taken) = (&rows[..], cuts.iter().cycle(), 0);
                while !rest.is_empty() {
                    let (batch, after) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                    let records = records(batch, false);
                    if let Some(sorted) = times.sort(&records, 20_000) {
                        panes.train(1, &mut union, sorted.oldest, &sorted.parts(&records), &[]).unwrap();
                        taken += sorted.taken;
                    }
                    rest = after;
                }
                (union.contents(), times.judged, times.newest, taken)
            };
            prop_assert_eq!(run(&cuts), run(&[1_000]));
        }
    }

    /// Groups that only expired panes had are gone from the union, as from what is built.
    #[test]
    fn a_group_without_live_rows_is_forgotten() {
        let found: Vec<Name> = ["a", "b"].map(|name| Name(name.into())).to_vec();
        let mut times = Times::new(&window(Some((0, Late::Take))), None);
        let (mut union, mut panes) = (learned(Sketches::Grouped), Panes::default());
        let mut names = Vec::new();
        for rows in [[(1, 0, 0)], [(2, 1, 3_000)], [(3, 1, 6_000)], [(1, 0, 6_000)]] {
            let records = records(&rows, true);
            let sorted = times.sort(&records, 0).unwrap();
            panes.train(1, &mut union, sorted.oldest, &sorted.parts(&records), &found).unwrap();
            names.push(union.contents().0.len());
        }
        assert_eq!(names, [1, 2, 1, 2]);
    }
}
