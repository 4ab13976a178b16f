//! What is said of questions whose keys are of another class than those of the file.

use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use tamis::about::{Class, Classes};
use tamis::key::Field;
use tamis_jobs::classes::{Converted, Doubt, Hits};

use crate::errors::KeyClassWarning;

/// The classes of the key columns of a question.
pub type Asks = Vec<Classes>;

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub enum By {
    /// A method of Python, on behalf of whoever called it.
    Method,
    /// Whoever is to hear of it, by an operator that runs no Python.
    Operator,
}

/// What was asked of a file so far by keys of each class, and of which of them something was said.
#[derive(Debug, Default)]
pub struct Heard(Mutex<Past>);

#[derive(Debug, Default)]
struct Past {
    hits: [Hits; Class::ALL.len()],
    said: Classes,
    said_of_hits: Classes,
}

impl Heard {
    /// Hears of the answers to a question, and says once of each class what should be known.
    pub fn hear(
        &self,
        py: Python<'_>,
        file: Classes,
        fields: &[Field],
        asks: &Asks,
        (hits, by): (Hits, By),
    ) -> PyResult<()> {
        for (field, classes) in fields.iter().zip(asks) {
            let converted = Converted::of(*classes);
            for class in classes.iter() {
                // Text that asks text is what it is.
                if class == Class::Text && file.has(Class::Text) {
                    continue;
                }
                if let Some(doubt) = self.doubt(file, (field, converted), class, hits) {
                    // What is raised as an error is raised again.
                    say(py, &doubt, by).inspect_err(|_| self.forget(class))?;
                }
            }
        }
        Ok(())
    }

    fn forget(&self, class: Class) {
        let mut past = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        past.said = past.said.without(Classes::of(class));
        past.said_of_hits = past.said_of_hits.without(Classes::of(class));
    }

    fn doubt(
        &self,
        file: Classes,
        (field, converted): (&Field, Converted),
        class: Class,
        hits: Hits,
    ) -> Option<Doubt> {
        let mut past = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = &mut past.hits[class as usize];
        all.asked = all.asked.saturating_add(hits.asked);
        all.found = all.found.saturating_add(hits.found);
        let all = *all;
        // Keys that come one by one are many in the end; and one question may be wrong after others that were right.
        let few = [hits, all].into_iter().find_map(|hits| Doubt::of_hits(file, class, hits));
        let few = few.filter(|_| !past.said_of_hits.has(class));
        if few.is_some() {
            past.said_of_hits = past.said_of_hits.and(Classes::of(class));
            past.said = past.said.and(Classes::of(class));
            return few;
        }
        // All that was asked is there: nothing was missed.
        if hits.found >= hits.asked || past.said.has(class) {
            return None;
        }
        let doubt = Doubt::of(file, field, class, converted)?;
        past.said = past.said.and(Classes::of(class));
        Some(doubt)
    }
}

/// A doubt in the words of Python: what to do stands at its end.
pub fn words(doubt: &Doubt) -> String {
    format!("{doubt}; {}", advice(doubt))
}

fn advice(Doubt { file, asks, .. }: &Doubt) -> &'static str {
    match asks {
        Class::Text | Class::Bytes => {
            "ask with a column of the type that the file was built from, such as .astype(...) or .cast(...) makes it"
        }
        Class::Time | Class::Date if file.has(Class::Time) && !file.has(Class::Text) => {
            "give the times the zone they are of, such as .dt.tz_localize(zone) in pandas and .dt.replace_time_zone(zone) \
             in polars; on Spark, ask with toArrow()"
        }
        _ if file.has(Class::Text) => {
            "ask with the texts themselves: read that column as text (pandas dtype=str, polars schema_overrides, pyarrow \
             column_types, DuckDB all_varchar)"
        }
        Class::Integer | Class::Decimal | Class::Float | Class::Single if file.has(Class::Decimal) => {
            "cast to the decimal type of the file's column, such as .cast(pyarrow.decimal128(12, 2))"
        }
        _ => "ask with a column of the type that the file was built from",
    }
}

/// Warns whoever asked.
fn say(py: Python<'_>, doubt: &Doubt, by: By) -> PyResult<()> {
    let level = match by {
        By::Method => 2,
        By::Operator => 1,
    };
    let text = CString::new(words(doubt)).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<KeyClassWarning>(), &text, level)
}
