//! Rows whose key comes for the first time, by the keys themselves: exact, in the memory of the different keys.

use std::collections::HashSet;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis::key::Maker;
use tamis_make::rows::{Keyless, OnBad, Unusable};
use tamis_read::Fault;
use tamis_read::table::Asked;

use crate::answers::Answers;
use crate::ask::truths_of_rows;
use crate::errors::{raised, refused};
use crate::options::Options;
use crate::patience;
use crate::rows::{by_number, rows};

/// Of each row, whether no row before it has its key; rows without a key are no first ones.
#[pyfunction]
pub fn first_rows(py: Python<'_>, data: &Bound<'_, PyAny>, options: Bound<'_, PyDict>) -> PyResult<Answers> {
    let request = Options(options).request()?;
    let recipe = request.keys.recipe().map_err(refused)?;
    let on_bad = request.reading.on_bad().map_err(refused)?;
    let table = Arc::new(rows(data, recipe.key.len())?);
    let columns = if table.are_keys { by_number(recipe.key.len()) } else { recipe.columns() };
    let asked = Asked::new(table, &columns).map_err(raised)?;
    let first = patience::run(py, asked.rows(), |control| {
        let (mut seen, mut first) = (HashSet::<Box<[u8]>>::new(), Vec::new());
        for piece in asked.pieces() {
            control.check()?;
            let mut maker = Maker::new(&recipe);
            asked.tiles(&piece, |_, cells| {
                for (row, values) in cells.chunks_exact(columns.len()).enumerate() {
                    first.push(match maker.key(values) {
                        Ok(key) => !seen.contains(key) && seen.insert(key.into()),
                        Err(bad) if on_bad == OnBad::Fail => {
                            return Err(Fault {
                                at: row,
                                why: Unusable::new(Keyless::Key(bad), values).into(),
                            });
                        }
                        Err(_) => false,
                    });
                }
                Ok(())
            })?;
        }
        Ok(first)
    })?;
    Ok(truths_of_rows(&asked, &first))
}
