//! The state of sketches: what they hold, how full they are, and a page that shows it.

use std::path::Path;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use tamis::key::keywords_of;
use tamis::params::{GroupParams, Name};
use tamis::sizing::Kind;
use tamis_jobs::inspect::{State, Summary};
use tamis_make::count_min::top_of_open;
use tamis_make::files::Mapped;
use tamis_make::health::{Health, health, of_sketch};
use tamis_read::Result;
use tamis_report::health::{crowded_text, overfull_text};

use crate::errors::raised;

/// The name of a group: a str, or bytes where it is no text.
pub fn name_of<'py>(py: Python<'py>, name: &Name) -> Bound<'py, PyAny> {
    text_of(py, &name.0)
}

fn text_of<'py>(py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyAny> {
    match str::from_utf8(bytes) {
        Ok(text) => PyString::new(py, text).into_any(),
        Err(_) => PyBytes::new(py, bytes).into_any(),
    }
}

/// Group, key and estimate of a kept key.
pub type Top<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<u64>);

/// The kept keys of a share, the heaviest first.
pub fn top<'py>(
    py: Python<'py>,
    file: &Mapped,
    path: Option<&Path>,
    share: Option<f64>,
) -> PyResult<Vec<Top<'py>>> {
    let name = path.unwrap_or(Path::new("this sketch"));
    let listing = py.detach(|| top_of_open(file, name, share)).map_err(raised)?;
    let mut all = Vec::new();
    for group in listing.groups {
        for hit in group.keys {
            let key = match listing.common.recipe.keys_have_parts() {
                false => text_of(py, &hit.key),
                true => {
                    let parts: Vec<_> = keywords_of(&hit.key).map(|part| text_of(py, part)).collect();
                    PyTuple::new(py, parts)?.into_any()
                }
            };
            all.push((name_of(py, &group.group), key, (!hit.full).then_some(hit.estimate)));
        }
    }
    Ok(all)
}

/// What is to be said of filters that hold more keys than they can, or whose rate is at least this.
pub fn overfull(file: &Mapped, least: Option<f64>) -> Result<Option<String>> {
    let params = file.params();
    let mut full: Vec<(&GroupParams, Health)> = Vec::new();
    for (at, (group, tally)) in params.groups.iter().zip(file.tallies()).enumerate() {
        let health = match params.common.kind {
            kind @ Kind::Layered => of_sketch(kind, group, tally, &file.sketch(at)?),
            kind => health(kind, group, tally),
        };
        if health.overfull || least.is_some_and(|least| health.rate >= least) {
            full.push((group, health));
        }
    }
    let worst = full.iter().max_by(|a, b| a.1.rate.total_cmp(&b.1.rate));
    Ok(worst.map(|(group, health)| {
        let all = if full.len() > 1 { format!(" ({} are too full)", full.len()) } else { String::new() };
        match health.overfull {
            true => overfull_text(health, &group.group, group.fpr(), health.rate) + &all,
            false => crowded_text(&group.group, health.rate) + &all,
        }
    }))
}

/// The distinct keys of all filters together (of groups that share keys, these count for each), and the highest of their
/// rates.
pub fn keys_and_rate(file: &Mapped) -> Result<(f64, f64)> {
    let mut all = (0.0, 0.0f64);
    for group in Summary::of(file, None).groups() {
        if let State::Filter(health) = group?.state {
            all = (all.0 + health.keys, all.1.max(health.rate));
        }
    }
    Ok(all)
}

/// A page about sketches.
pub fn page(file: &Mapped, title: &str, subtitle: &str) -> Result<String> {
    Ok(tamis_report::state::page(&Summary::of(file, None), title, subtitle)?.html())
}

/// The chart that tells most of their state, as SVG.
pub fn chart(file: &Mapped) -> Result<Option<String>> {
    let groups = Summary::of(file, None).groups().collect::<Result<Vec<_>>>()?;
    Ok(tamis_report::state::chart(file.params().common.kind, &groups).map(|chart| chart.standalone_svg()))
}
