use proptest::prelude::*;

use super::*;
use crate::tests::Refused;
use crate::{RowResult, Sources};

/// Texts in columns, cut into parts.
struct Texts {
    names: Option<Vec<String>>,
    parts: Vec<Vec<Vec<Option<String>>>>,
}

impl Table for Texts {
    fn columns(&self) -> Option<Vec<String>> {
        self.names.clone()
    }

    fn check(&self, _: usize) -> Result<(), Box<dyn Refusal>> {
        Ok(())
    }

    fn parts(&self) -> usize {
        self.parts.len()
    }

    fn rows(&self, part: usize) -> usize {
        self.parts[part].len()
    }

    fn fill<'a>(
        &'a self,
        part: usize,
        column: usize,
        rows: Range<usize>,
        _: &'a mut Vec<u8>,
        cells: &mut Cells<'_, 'a>,
    ) -> Result<(), Fault> {
        for (row, values) in self.parts[part][rows].iter().enumerate() {
            match values[column].as_deref() {
                Some("!") => return Err(Fault { at: row, why: Refused("has no text".into()).into() }),
                Some(text) => cells.set(row, text.as_bytes()),
                None => {}
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Collect(Vec<Vec<Option<String>>>);

impl Sink for Collect {
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        if values[0] == Some(b"bad") {
            return Err(Refused("a bad row".into()).into());
        }
        let owned = |value: &Option<&[u8]>| value.map(|text| String::from_utf8(text.to_vec()).unwrap());
        self.0.push(values.iter().map(owned).collect());
        Ok(())
    }
}

fn numbered(rows: usize, cut: usize) -> Texts {
    let row = |i: usize| vec![Some(i.to_string()), (!i.is_multiple_of(3)).then(|| format!("v{i}"))];
    let all: Vec<_> = (0..rows).map(row).collect();
    let (a, b) = all.split_at(cut.min(rows));
    Texts { names: Some(vec!["id".into(), "v".into()]), parts: vec![a.to_vec(), vec![], b.to_vec()] }
}

fn scanned(table: Texts, columns: &[Column], threads: usize) -> Result<Vec<Vec<Option<String>>>> {
    let sources = Sources::of_table(Arc::new(table), columns)?;
    let sinks = (0..threads).map(|_| Collect::default()).collect();
    let mut rows: Vec<_> =
        sources.scan(sinks, &Control::default())?.into_iter().flat_map(|sink| sink.0).collect();
    rows.sort();
    Ok(rows)
}

fn name(name: &str) -> Column {
    Column::Name(name.into())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn every_row_is_given_to_one_sink_whatever_the_parts_and_threads(rows in 0usize..3000, cut in 0usize..3000, threads in 1usize..4) {
        let mut expected: Vec<_> = numbered(rows, 0).parts.concat().into_iter().map(|row| vec![row[1].clone(), row[0].clone(), row[1].clone()]).collect();
        expected.sort();
        let columns = [name("v"), Column::Number(1), name("v")];
        prop_assert_eq!(scanned(numbered(rows, cut), &columns, threads).unwrap(), expected);
    }
}

#[test]
fn the_first_row_that_cannot_be_used_is_named() {
    for threads in [1, 3] {
        let mut table = numbered(200_000, 70_000);
        table.parts[2][70_000][0] = Some("bad".into());
        table.parts[2][7][0] = Some("bad".into());
        let error = scanned(table, &[name("id")], threads).unwrap_err();
        assert_eq!(error.to_string(), "row 70007 (counted from 0): a bad row");
    }
    let mut table = numbered(5000, 2000);
    table.parts[2][2999][1] = Some("!".into());
    let error = scanned(table, &[name("id"), name("v")], 1).unwrap_err();
    assert_eq!(error.to_string(), "row 4999 (counted from 0): has no text");
}

#[test]
fn a_column_that_is_not_there_is_answered_with_those_there_are() {
    let error = scanned(numbered(1, 0), &[name("ix")], 1).unwrap_err().to_string();
    assert!(error.contains("did you mean \"id\"?"), "{error}");
    let lone = || Texts { names: None, parts: vec![vec![vec![Some("a".into())]]] };
    let error = scanned(lone(), &[name("id")], 1).unwrap_err().to_string();
    assert!(error.contains("keys without columns"), "{error}");
    assert_eq!(scanned(lone(), &[Column::Line], 1).unwrap(), [[Some("a".to_owned())]]);
}

#[test]
fn a_job_that_is_stopped_ends() {
    let sources = Sources::of_table(Arc::new(numbered(10, 5)), &[name("id")]).unwrap();
    let control = Control::default();
    control.stop();
    let scanned = sources.scan(vec![Collect::default(), Collect::default()], &control);
    assert!(matches!(scanned, Err(Error::Interrupted)));
}
