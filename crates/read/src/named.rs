//! The name of the input as a column: every row of it has the same.

use std::ops::Range;
use std::path::Path;

use tamis::key::Column;

use crate::bad_row::BadRow;
use crate::sink::{RowResult, Sink};

/// Where the name of the input stands among the values that are asked, and what it is.
pub(super) struct Named {
    /// None of standard input, which has no name.
    name: Option<Vec<u8>>,
    /// In ascending order.
    places: Vec<usize>,
}

impl Named {
    /// Parts the asked columns: the name of this input where it is asked for, and the columns of its rows.
    pub(super) fn part(path: &Path, asked: &[Column]) -> (Option<Named>, Vec<Column>) {
        let places = |(place, column): (usize, &Column)| (*column == Column::File).then_some(place);
        let places: Vec<usize> = asked.iter().enumerate().filter_map(places).collect();
        let others = asked.iter().filter(|column| **column != Column::File).cloned().collect();
        let name = (path != Path::new("-")).then(|| path.as_os_str().as_encoded_bytes().to_vec());
        ((!places.is_empty()).then_some(Named { name, places }), others)
    }

    /// Whether the input has a name.
    pub(super) fn has_name(&self) -> bool {
        self.name.is_some()
    }

    /// A sink for rows that lack the name, which gives them to this one with it.
    pub(super) fn before<'n, 's>(&'n self, sink: &'s mut dyn Sink) -> WithName<'n, 's> {
        WithName { named: self, sink }
    }
}

/// Puts the name of the input into every row.
pub(super) struct WithName<'n, 's> {
    named: &'n Named,
    sink: &'s mut dyn Sink,
}

impl Sink for WithName<'_, '_> {
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        let mut all = Vec::with_capacity(values.len() + self.named.places.len());
        let mut rest = values.iter();
        for &name in &self.named.places {
            all.extend(rest.by_ref().take(name - all.len()));
            all.push(self.named.name.as_deref());
        }
        all.extend(rest);
        self.sink.row(place, &all)
    }

    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        self.sink.bad_row(place, why)
    }
}
