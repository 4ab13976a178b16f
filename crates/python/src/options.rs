//! The arguments of `build` and `plan`, and the job that follows from them.

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tamis::key::{Field, Recipe};
use tamis::params::Params;
use tamis_jobs::build::{Job, Sizing};
use tamis_jobs::choice::{self, Choice, Counting, HashName, refuse_mixed, replace_columns, replace_weight};
use tamis_jobs::parallel;
use tamis_jobs::plan::Size;
use tamis_jobs::rows::BadRows;
use tamis_read::Format;

use crate::errors::wrong;

/// What was given, by name; nothing is `None`.
pub struct Options<'py>(pub Bound<'py, PyDict>);

impl<'py> Options<'py> {
    fn get<T: FromPyObjectOwned<'py>>(&self, name: &str) -> PyResult<Option<T>> {
        let value = match self.0.get_item(name)? {
            Some(value) if !value.is_none() => value,
            _ => return Ok(None),
        };
        let extracted = value.extract().map_err(Into::into);
        extracted.map(Some).map_err(|error: PyErr| {
            let py = self.0.py();
            let text = format!("{name}: {}", error.value(py));
            if error.is_instance_of::<PyTypeError>(py) {
                PyTypeError::new_err(text)
            } else {
                PyValueError::new_err(text)
            }
        })
    }

    fn any(&self, names: &[&str]) -> PyResult<bool> {
        for name in names {
            if self
                .0
                .get_item(name)?
                .is_some_and(|value| !value.is_none() && !value.is(false_of(self.0.py())))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A number between 0 and 1.
    fn share(&self, name: &str) -> PyResult<Option<f64>> {
        let share: Option<f64> = self.get(name)?;
        if share.is_some_and(|share| !(share > 0.0 && share < 1.0)) {
            return Err(wrong(format!("{name} must lie between 0 and 1, both excluded")));
        }
        Ok(share)
    }

    /// One of these words.
    fn word(&self, name: &str, words: [&str; 2]) -> PyResult<Option<bool>> {
        match self.get::<String>(name)? {
            None => Ok(None),
            Some(word) if word == words[0] => Ok(Some(false)),
            Some(word) if word == words[1] => Ok(Some(true)),
            Some(word) => Err(wrong(format!("{name} is {:?} or {:?}, not {word:?}", words[0], words[1]))),
        }
    }

    /// One field or several.
    fn fields(&self, name: &str) -> PyResult<Vec<Field>> {
        let Some(value) = self.0.get_item(name)?.filter(|value| !value.is_none()) else {
            return Ok(Vec::new());
        };
        let texts: Vec<String> = match value.cast::<PyString>() {
            Ok(_) => vec![value.extract()?],
            Err(_) => value.extract().map_err(|_| {
                PyTypeError::new_err(format!("{name} is the name of a column, or a list of names"))
            })?,
        };
        texts.iter().map(|text| text.parse().map_err(wrong)).collect()
    }

    fn field(&self, name: &str) -> PyResult<Option<Field>> {
        self.get::<String>(name)?.map(|text| text.parse().map_err(wrong)).transpose()
    }

    /// The threads of a job.
    pub fn threads(&self) -> PyResult<usize> {
        threads(self.get("threads")?)
    }

    /// The job: its kind, hash, recipe and size.
    pub fn job(&self) -> PyResult<Job> {
        let heavy = self.share("heavy")?;
        let choice = Choice {
            kind: self.get::<String>("kind")?.map(|kind| kind.parse().map_err(wrong)).transpose()?,
            conservative: self.get("conservative")?.unwrap_or(false),
            layers: self.get("layers")?,
            hash: match self.word("hash", ["xxh3", "murmur3"])? {
                None => None,
                Some(false) => Some(HashName::Xxh3),
                Some(true) => Some(HashName::Murmur3),
            },
            seed: self.get("seed")?,
        };
        let (key, keywords) = (self.fields("key")?, self.fields("keywords")?);
        if !key.is_empty() && !keywords.is_empty() {
            return Err(wrong("a row has a key or keywords: leave out key or keywords"));
        }
        let (group, weight) = (self.field("group")?, self.field("weight")?);
        let null: Option<String> = self.get("null")?;
        let (common, sizing) = if let Some(json) = self.get::<String>("params")? {
            const FIXED: [&str; 15] = [
                "fpr",
                "bits_per_key",
                "size",
                "keys",
                "kind",
                "conservative",
                "layers",
                "hash",
                "seed",
                "null",
                "epsilon",
                "delta",
                "width",
                "depth",
                "counter_bits",
            ];
            if self.any(&FIXED)? {
                return Err(wrong(format!(
                    "the given parameters fix size, kind, hash and recipe: leave out {}",
                    FIXED.join(", ")
                )));
            }
            let params = Params::from_json(&json).map_err(wrong)?;
            let columns = if keywords.is_empty() { &key } else { &keywords };
            let mut common = params.common.clone();
            common.recipe = replace_columns(&common.recipe, columns, group.as_ref()).map_err(wrong)?;
            replace_weight(&mut common.recipe, weight.as_ref()).map_err(wrong)?;
            (common, Sizing::Params(params))
        } else {
            let key = match (key.is_empty(), keywords.is_empty()) {
                (_, false) => keywords.into_iter().map(Field::of_keywords).collect(),
                (false, _) => key,
                _ => Recipe::lines().key,
            };
            let common = choice.common(Recipe { key, group, weight, null }).map_err(wrong)?;
            let counting = ["epsilon", "delta", "width", "depth", "counter_bits"];
            let of_filters = self.any(&["fpr", "bits_per_key", "size", "keys"])?;
            refuse_mixed(common.kind, of_filters, self.any(&counting)?).map_err(wrong)?;
            let sizing = if common.kind.counts() { self.counters(heavy)? } else { self.size()? };
            (common, sizing)
        };
        let job = Job {
            inputs: Vec::new(),
            options: tamis_read::Options::default(),
            common,
            sizing,
            layers: choice.layers,
            heavy,
            distinct: false,
            bad_rows: bad_rows(self.get("bad_rows")?)?,
            threads: self.threads()?,
        };
        tamis_jobs::build::refuse_early(&job).map_err(wrong)?;
        Ok(job)
    }

    /// The recipe of a file, with the columns that were given.
    pub fn applied(&self, stored: &Recipe) -> PyResult<Recipe> {
        replace_columns(stored, &self.fields("key")?, self.field("group")?.as_ref()).map_err(wrong)
    }

    /// What to do with rows without a key.
    pub fn bad_rows(&self) -> PyResult<BadRows> {
        bad_rows(self.get("bad_rows")?)
    }

    /// How text is read.
    pub fn reading(&self) -> PyResult<tamis_read::Options> {
        let format = match self.get::<String>("format")?.as_deref() {
            None => None,
            Some("lines") => Some(Format::Lines),
            Some("csv") => Some(Format::Csv),
            Some("tsv") => Some(Format::Tsv),
            Some("ndjson") => Some(Format::Ndjson),
            Some("parquet") => Some(Format::Parquet),
            Some(other) => {
                return Err(wrong(format!("format is lines, csv, tsv, ndjson or parquet, not {other:?}")));
            }
        };
        let given = |name| Ok::<_, PyErr>(self.get::<bool>(name)?.unwrap_or(false));
        Ok(tamis_read::Options {
            format,
            delimiter: self.get("delimiter")?,
            no_header: given("no_header")?,
            no_quotes: given("no_quotes")?,
        })
    }

    /// A number of bytes, or its text.
    fn bytes(&self, name: &str) -> PyResult<Option<u64>> {
        match self.get::<Bound<'py, PyAny>>(name)? {
            Some(text) if text.is_instance_of::<PyString>() => {
                let text: String = text.extract()?;
                choice::bytes(&text).map(Some).map_err(|why| wrong(format!("{name}: {why}")))
            }
            _ => self.get(name),
        }
    }

    fn size(&self) -> PyResult<Sizing> {
        let (fpr, bits): (Option<f64>, Option<f64>) = (self.share("fpr")?, self.get("bits_per_key")?);
        let size = match (fpr, bits, self.bytes("size")?) {
            (fpr, None, None) => Size::Fpr(fpr.unwrap_or(0.01)),
            (None, Some(bits), None) => Size::BitsPerKey(bits),
            (None, None, Some(0)) => return Err(wrong("size is a number of bytes from 1 on")),
            (None, None, Some(bytes)) => Size::Total(bytes),
            _ => return Err(wrong("one of fpr, bits_per_key and size fixes the others: give one")),
        };
        match self.get::<u64>("keys")? {
            Some(0) => Err(wrong("keys is a number from 1 on")),
            keys => Ok(keys.map_or(Sizing::Count(size), |keys| Sizing::Keys(keys, size))),
        }
    }

    fn counters(&self, heavy: Option<f64>) -> PyResult<Sizing> {
        let (epsilon, delta) = (self.share("epsilon")?, self.share("delta")?);
        let (width, depth, bits) = (self.get("width")?, self.get("depth")?, self.get("counter_bits")?);
        if (epsilon.is_some() && width.is_some()) || (delta.is_some() && depth.is_some()) {
            return Err(wrong("width stands in place of epsilon, and depth in place of delta: give one"));
        }
        if !matches!(bits, None | Some(32 | 64)) {
            return Err(wrong("a counter has 64 bits or 32"));
        }
        let counting = Counting { epsilon, delta, width, depth, bits };
        Ok(Sizing::Counters(counting.counters(heavy).map_err(wrong)?))
    }
}

fn false_of(py: Python<'_>) -> Bound<'_, PyAny> {
    pyo3::types::PyBool::new(py, false).to_owned().into_any()
}

/// A number of threads; all cores where none is given.
pub fn threads(given: Option<usize>) -> PyResult<usize> {
    match given {
        None => Ok(parallel::default_threads()),
        Some(threads @ 1..=1024) => Ok(threads),
        Some(_) => Err(wrong("a number of threads lies between 1 and 1024")),
    }
}

/// What to do with rows without a key.
pub fn bad_rows(given: Option<String>) -> PyResult<BadRows> {
    match given.as_deref() {
        None | Some("fail") => Ok(BadRows::Fail),
        Some("skip") => Ok(BadRows::Skip),
        Some(other) => Err(wrong(format!("bad_rows is \"fail\" or \"skip\", not {other:?}"))),
    }
}
