//! Whole runs with a clock that the test sets.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::fs;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::Common;
use tamis::sizing::Kind;
use tamis_make::plan::Size;
use tamis_make::rows::BadRows;
use tamis_read::Options;

use super::*;

/// What the clock will show, in milliseconds, one moment after the other; the last one stays.
static MOMENTS: Mutex<VecDeque<u64>> = Mutex::new(VecDeque::new());

fn clock() -> SystemTime {
    let mut moments = MOMENTS.lock().unwrap();
    let moment = if moments.len() > 1 { moments.pop_front() } else { moments.front().copied() };
    UNIX_EPOCH + Duration::from_millis(moment.unwrap_or(0))
}

const ROWS: usize = 3;
const SLIDE: u64 = 1_000;
const PANES: u64 = 5;

/// Rows arrive in batches of three, at moments that jump back, stand still, and pass over many windows;
/// the run is ended in the middle and gone on with. In each batch all keys are asked for.
#[test]
fn rows_that_arrive_are_known_for_a_window_whatever_the_clock_does() {
    let moments: Vec<u64> = [
        10_000, 10_100, 12_000, 11_000, 3_000, 12_500, 16_999, 17_000, 17_900, 16_000, 18_000, 99_000,
        98_000, 103_999, 104_000, 104_000, 105_500, 104_900, 1_000_000, 1_005_999, 1_006_000,
    ]
    .into();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let key = |number: usize| format!("key{number}");
    let all = moments.len() * ROWS;
    let mut expected = String::new();
    for batch in 0..moments.len() {
        let newest = |batch: usize| *moments[..=batch].iter().max().unwrap() / SLIDE;
        let known: BTreeSet<usize> =
            (0..=batch).filter(|&earlier| newest(earlier) + PANES >= newest(batch)).collect();
        // Each batch asks for three keys of every batch: one query stream, in batches of its own.
        let asked = (0..ROWS).map(|i| (batch * 7 + i * 5) % all);
        let mut once = BTreeSet::new();
        for number in asked.filter(|&number| once.insert(number) && known.contains(&(number / ROWS))) {
            writeln!(expected, "{}", key(number)).unwrap();
        }
    }
    let ask: String = (0..moments.len())
        .flat_map(|batch| (0..ROWS).map(move |i| (batch * 7 + i * 5) % all))
        .map(|number| key(number) + "\n")
        .collect();
    fs::write(at("ask.txt"), &ask).unwrap();
    let run = |rows: usize| {
        fs::write(at("train.txt"), (0..rows).map(|number| key(number) + "\n").collect::<String>()).unwrap();
        fs::write(at("ask.txt"), ask.lines().take(rows).map(|line| format!("{line}\n")).collect::<String>())
            .unwrap();
        let input = |name: &str| {
            let named = Named::of(&[at(name).display().to_string()]).unwrap();
            Some(Input { named, recipe: Recipe::lines(), options: Options::default() })
        };
        let millis = Duration::from_millis;
        let window = Window::new(millis(PANES * SLIDE), Some(millis(SLIDE)), By::Arrival, clock).unwrap();
        let job = Job {
            inputs: ByRole::of(|role| match role {
                Role::Train => input("train.txt"),
                Role::Query => input("ask.txt"),
                Role::Remove => None,
            }),
            follow: false,
            options: Options::default(),
            common: Common { kind: Kind::Blocked, hash: Scheme::DEFAULT, recipe: Recipe::lines() },
            sizing: Sizing::Keys(100, Size::Fpr(1e-9)),
            counts: None,
            from: None,
            batch: ROWS,
            every: Some(Duration::from_secs(3600)),
            output: Target::File(at("seen.txt")),
            rebuild_above: None,
            window: Some(window),
            state: Some(at("state")),
            commit_every: Duration::ZERO,
            reconnect: None,
            lost: Lost::Stop,
            kafka: Default::default(),
            bad_rows: BadRows::Fail,
            threads: 1,
        };
        stream(&job, &Control::default(), &Watch::default()).unwrap()
    };
    let half = 9;
    // The end of a run looks at the clock once more.
    MOMENTS.lock().unwrap().extend(moments[..half].iter().chain([&0]));
    run(half * ROWS);
    MOMENTS.lock().unwrap().clear();
    MOMENTS.lock().unwrap().extend(&moments[half..]);
    let report = run(all);
    assert!(report.resumed);
    assert_eq!(fs::read_to_string(at("seen.txt")).unwrap(), expected);
    let window = report.status.window.unwrap();
    assert_eq!((window.newest, window.begin), (Some(1_006_000), Some(1_001_000)));
    assert_eq!((window.panes, window.most, window.judged), (2, 6, None));
}
