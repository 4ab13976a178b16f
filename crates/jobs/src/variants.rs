//! Rows in other forms of their values, asked beside the rows themselves.

use tamis_make::batch::KeyBatch;

use crate::classes::{Form, Forms};

/// The other ways to write the keys of some rows.
#[derive(Debug, Default)]
pub(crate) struct Variants {
    /// The row of each, in ascending order, and whether that is asked by its own texts, too.
    rows: Vec<(usize, bool)>,
    /// Where the values of all of them stand in the text; none of nulls.
    places: Vec<Option<(usize, usize)>>,
    text: Vec<u8>,
}

impl Variants {
    /// Those of one key of these values, whose ways to be written take these forms.
    pub(crate) fn of_one(forms: &[Forms], values: &[Option<&[u8]>]) -> Variants {
        let mut variants = Variants::default();
        variants.write(forms, values);
        variants
    }

    /// Writes all rows of these cells in all other ways.
    pub(crate) fn write(&mut self, forms: &[Forms], cells: &[Option<&[u8]>]) {
        for (row, values) in cells.chunks_exact(forms.len()).enumerate() {
            match (forms, values) {
                ([forms], [Some(value)]) => self.write_value(row, forms, value),
                _ => self.write_row(row, forms, values),
            }
        }
    }

    /// Writes a row of one value: most have no other form, and cost no more than to find that out.
    fn write_value(&mut self, row: usize, forms: &Forms, value: &[u8]) {
        let mut ways = Vec::new();
        for form in &forms.others {
            ways.extend(self.put(*form, value, &ways).map(Some));
        }
        self.rows.extend(ways.iter().map(|_| (row, forms.own)));
        self.places.extend(ways);
    }

    /// Writes one row: all combinations of forms of its values but that of their texts.
    fn write_row(&mut self, row: usize, forms: &[Forms], values: &[Option<&[u8]>]) {
        let mut written: Vec<Vec<Option<(usize, usize)>>> = Vec::with_capacity(forms.len());
        for (forms, value) in forms.iter().zip(values) {
            let Some(value) = value else {
                written.push(vec![None]);
                continue;
            };
            let mut ways = Vec::new();
            for form in &forms.others {
                ways.extend(self.put(*form, value, &ways).map(Some));
            }
            // Its own text comes first, where it is asked.
            if forms.own || ways.is_empty() {
                let start = self.text.len();
                self.text.extend_from_slice(value);
                ways.insert(0, Some((start, self.text.len())));
            }
            written.push(ways);
        }
        let ways = written.iter().map(Vec::len).product::<usize>();
        let own = self.begins_with(&written, values);
        for way in usize::from(own)..ways {
            let mut rest = way;
            for column in &written {
                self.places.push(column[rest % column.len()]);
                rest /= column.len();
            }
            self.rows.push((row, own));
        }
    }

    /// Whether the first way to write a row is that of its own texts.
    fn begins_with(&self, written: &[Vec<Option<(usize, usize)>>], values: &[Option<&[u8]>]) -> bool {
        let text = |place: Option<(usize, usize)>| place.map(|(start, end)| &self.text[start..end]);
        written.iter().zip(values).all(|(ways, value)| text(ways[0]) == *value)
    }

    /// Writes a form of a value that is not among those that are written; where it stands.
    fn put(
        &mut self,
        form: Form,
        value: &[u8],
        written: &[Option<(usize, usize)>],
    ) -> Option<(usize, usize)> {
        let start = self.text.len();
        if !form.write(value, &mut self.text) {
            return None;
        }
        let new = &self.text[start..];
        if written.iter().flatten().any(|&(start, end)| self.text[start..end] == *new) {
            self.text.truncate(start);
            return None;
        }
        Some((start, self.text.len()))
    }

    /// The values of all of them, row by row.
    pub(crate) fn cells(&self) -> Vec<Option<&[u8]>> {
        self.places.iter().map(|place| place.map(|(start, end)| &self.text[start..end])).collect()
    }

    /// Brings the answers to these into those to the rows themselves. A row whose own text cannot be in the file
    /// has the answers to its other forms alone. Forms that steps make the same key of are one.
    pub(crate) fn join<A: Default>(
        &self,
        (keys, answers): (&KeyBatch, &mut [A]),
        (others, found): (&KeyBatch, Vec<A>),
        join: impl Fn(&mut A, A),
    ) {
        let mut first = 0;
        for (at, answer) in found.into_iter().enumerate() {
            let (row, own) = self.rows[at];
            if at == 0 || self.rows[at - 1].0 != row {
                first = at;
                if !own {
                    answers[row] = A::default();
                }
            }
            let hash = others.hashes()[at];
            let is_again = others.hashes()[first..at].contains(&hash) || own && keys.hashes()[row] == hash;
            if !is_again {
                join(&mut answers[row], answer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    fn ways(forms: &[Forms], values: &[Option<&[u8]>]) -> Vec<Vec<String>> {
        let variants = Variants::of_one(forms, values);
        let text =
            |cell: &Option<&[u8]>| cell.map_or("-".into(), |text| String::from_utf8_lossy(text).into_owned());
        variants.cells().chunks(forms.len()).map(|row| row.iter().map(text).collect()).collect()
    }

    #[test]
    fn rows_are_written_in_all_other_ways_and_never_twice() {
        let truths = Forms { others: vec![Form::Capital, Form::Upper], own: true };
        let whole = Forms { others: vec![Form::Whole], own: false };
        assert_eq!(ways(from_ref(&truths), &[Some(b"true")]), [["True"], ["TRUE"]]);
        assert_eq!(ways(from_ref(&truths), &[None]), [[""; 1]; 0]);
        assert_eq!(ways(from_ref(&whole), &[Some(b"7.0")]), [["7"]]);
        assert_eq!(ways(from_ref(&whole), &[Some(b"7.5")]), [[""; 1]; 0]);
        assert_eq!(
            ways(&[truths.clone(), whole], &[Some(b"true"), Some(b"7.0")]),
            [["true", "7"], ["True", "7"], ["TRUE", "7"]]
        );
        // A digit has no capitals.
        assert_eq!(ways(&[truths], &[Some(b"1")]), [[""; 1]; 0]);
    }
}
