//! Pages of tests with many groups, few, one and none.

use std::time::Duration;

use tamis::hash::Single;
use tamis::key::Recipe;
use tamis::params::{Common, Name};
use tamis::sizing::Kind;
use tamis_jobs::check::{FilterResult, GroupResult, Report};
use tamis_make::health::Health;
use tamis_read::refusal::Fields;

use super::*;
use crate::{Section, Source};

/// A group whose filter lets this many of a million pass.
fn group(name: &str, target: f64, false_positives: u64) -> GroupResult {
    let health = Health {
        fill: 0.5,
        keys: 1000.0,
        rate: target,
        whole: None,
        capacity: Some(1000),
        full: None,
        overfull: false,
    };
    let filter = FilterResult {
        bits: 10_240,
        hashes: 8,
        ones: 5120,
        target,
        expected: target,
        false_positives,
        negatives: 1_000_000,
        attacked: None,
        honest: target,
        health,
    };
    let group = Name(name.into());
    GroupResult { group, keys: 1000, filter: Some(filter), false_negatives: 0, lost: None }
}

fn report(groups: Vec<GroupResult>) -> Report {
    Report {
        filters: Common { kind: Kind::Blocked, hash: Single::DEFAULT.into(), recipe: Recipe::lines() },
        groups,
        keys: 1_001_000,
        rows: 1_001_000,
        skipped: 0,
        inputs: Vec::new(),
        removed: 0,
        surprise: 1.0,
        unjudged: false,
        expected_false_positives: 55.0,
        lost_surprise: None,
        doubts: Vec::new(),
        phases: vec![("read", Duration::from_millis(20))],
    }
}

fn page_of(report: &Report) -> crate::Page {
    let data = Source { role: "data", name: "a.tsv".into(), format: Some("tsv"), bytes: Some(2_000_000) };
    page(report, "Title", "below it", &[data], &[], &Fields)
}

/// The charts that a browser shows.
fn charts(page: &crate::Page) -> usize {
    page.html().matches("<figure>").count()
}

/// The rows of the table below this heading.
fn below<'a>(page: &'a crate::Page, heading: &str) -> Option<&'a Table> {
    let at = page.sections.iter().position(|section| *section == Section::Heading(heading.into()))?;
    match &page.sections[at + 1] {
        Section::Table(table) => Some(table),
        _ => None,
    }
}

#[test]
fn small_rates_have_the_notation_of_their_intervals() {
    let page = page_of(&report(vec![group("a", 5e-5, 55), group("b", 5e-5, 49)]));
    let table = below(&page, "Every group").unwrap();
    assert_eq!(
        table.rows[0][5..10],
        ["0.00005000", "55", "1,000,000", "0.00005500", "0.00004226–0.00007158"]
    );
    assert!(!page.html().contains("e-5"), "no other notation anywhere");
}

#[test]
fn rates_of_a_billionth_have_exponents_everywhere() {
    let page = page_of(&report(vec![group("a", 1e-9, 0), group("b", 1e-9, 1)]));
    let table = below(&page, "Every group").unwrap();
    assert_eq!(table.rows[1][8], "1e-6");
    assert_eq!(table.rows[0][9], "0–3.841e-6");
}

#[test]
fn groups_above_their_target_are_listed_the_farthest_first() {
    let page = page_of(&report(vec![
        group("a", 0.01, 10_010), // above, and within its interval
        group("b", 0.01, 20_000),
        group("c", 0.01, 40_000),
        group("d", 0.01, 5_000),
    ]));
    let rows = &below(&page, "Groups above target").unwrap().rows;
    assert_eq!(rows.iter().map(|row| &row[0]).collect::<Vec<_>>(), ["c", "b"]);
    assert_eq!(rows[0][7], "4");
    let good = page_of(&report(vec![group("a", 0.01, 10_010), group("d", 0.01, 5_000)]));
    assert!(below(&good, "Groups above target").is_none());
}

#[test]
fn one_filter_above_its_target_is_said_in_a_sentence() {
    let page = page_of(&report(vec![group("", 0.01, 20_000)]));
    assert!(below(&page, "Groups above target").is_none());
    assert!(
        page.html()
            .contains("The rate is above the target of 0.01: its whole 95 % interval, 0.01973–0.02028, is.")
    );
}

#[test]
fn a_list_of_very_many_groups_is_cut_and_says_how_many_are_there_by_chance() {
    let page = page_of(&report((0..1000).map(|i| group(&i.to_string(), 0.01, 20_000 + i)).collect()));
    let table = below(&page, "Groups above target").unwrap();
    assert_eq!((table.rows.len(), &*table.rows[0][0]), (50, "999"));
    assert!(table.notes[0].contains("The first 50 of 1,000"), "{:?}", table.notes);
    assert!(table.notes[1].contains("about 25 would be listed here by chance"), "{:?}", table.notes);
}

#[test]
fn groups_with_false_negatives_are_listed_even_if_the_table_ends_before_them() {
    let mut groups: Vec<GroupResult> = (0..700).map(|i| group(&format!("g{i}"), 0.01, 10_000)).collect();
    groups[600].false_negatives = 3;
    let page = page_of(&report(groups));
    let rows = &below(&page, "Groups with false negatives").unwrap().rows;
    assert_eq!((rows.len(), &*rows[0][0], &*rows[0][10]), (1, "g600", "3"));
}

#[test]
fn one_group_has_no_charts_of_one_bar_but_their_numbers() {
    let page = page_of(&report(vec![group("", 0.01, 10_010)]));
    assert_eq!(charts(&page), 0);
    let html = page.html();
    assert!(html.contains(">fill<") && html.contains(">50 %<"));
    assert!(html.contains("Rows read: 1,001,000. Time: read 20 ms."));
    assert!(html.contains(">The filter<"));
    assert_eq!(charts(&page_of(&report(vec![group("a", 0.01, 1), group("b", 0.01, 1)]))), 3);
}

#[test]
fn no_group_makes_a_page_that_says_so() {
    let page = page_of(&report(Vec::new()));
    assert_eq!(charts(&page), 0);
    assert!(page.html().contains("The file has no filters"));
}

#[test]
fn a_page_names_its_inputs_with_their_sizes() {
    let page = page_of(&report(vec![group("a", 0.01, 1)]));
    assert_eq!(below(&page, "What was tested").unwrap().rows[0], ["data", "a.tsv", "tsv", "2 MB"]);
}
