//! One JSON object per line: finds the values of a few paths without building the object.
//!
//! A path goes into objects at its dots: `user.id`. A key may hold dots itself: at each object,
//! the longest key that is a part of the path is tried first, then the next shorter one, and the
//! first way that leads to a value is taken (a null is a value). Of repeated keys the last counts.
//!
//! The text of a value: a string without its escapes, a number exactly as it is written, `true`
//! or `false`. A null or an absent path is no value; an object is an error, and so is an array, unless a list is
//! asked for: then its text is the JSON of it, as it is written.

mod scan;
#[cfg(test)]
mod tests;

use std::ops::Range;

use tamis::key::Column;

use crate::BadRow;
use scan::{Fault, Scan, Str, Value, unescape};

/// At most this many names are listed for a message.
const MAX_NAMES: usize = 200;

/// Values of this many paths are handed over without an allocation.
const FEW: usize = 16;

/// Finds the values of some paths in each line, reusing its buffers.
#[derive(Debug)]
pub(super) struct Extractor {
    /// The paths, each once.
    paths: Vec<Vec<u8>>,
    /// For each value that is asked for: which path it has, and whether it may be a list.
    asked: Vec<(usize, bool)>,
    work: Work,
}

/// What is known while a line is read.
#[derive(Debug, Default)]
struct Work {
    /// The paths that may go on in the object that is being read, and in those around it.
    open: Vec<Open>,
    found: Vec<Found>,
    /// Texts of strings that had escapes.
    unescaped: Vec<u8>,
    /// Text of a key that had escapes.
    key: Vec<u8>,
}

/// A path whose keys led to the object that is being read.
#[derive(Debug, Clone, Copy)]
struct Open {
    path: usize,
    /// Where the rest of the path begins.
    from: usize,
    way: Way,
}

/// At which dots a path was cut into keys: the first dot is the highest bit. The way that is
/// tried first (longer keys first) is thus the smaller number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way(u128);

impl Way {
    /// This way, going into an object at a dot.
    fn cut(self, dot: u32) -> Way {
        Way(self.0 | (1 << 127) >> dot)
    }

    /// Whether this way begins like one that was last cut at `dot`.
    fn begins(self, with: Way, dot: u32) -> bool {
        (self.0 ^ with.0) >> (127 - dot) == 0
    }
}

#[derive(Debug, Clone, Copy)]
struct Found {
    path: usize,
    way: Way,
    text: Text,
}

#[derive(Debug, Clone, Copy)]
enum Text {
    Null,
    InLine(usize, usize),
    Unescaped(usize, usize),
    Object,
    Array(usize, usize),
}

impl Extractor {
    /// An extractor of the values of these columns, whose names are paths, in this order; a path may be asked
    /// for twice.
    pub(super) fn new(columns: &[Column]) -> Extractor {
        let mut distinct: Vec<Vec<u8>> = Vec::new();
        let asked = columns
            .iter()
            .map(|column| {
                let path = column.name().unwrap_or_default().as_bytes();
                let at = distinct.iter().position(|known| known == path).unwrap_or_else(|| {
                    distinct.push(path.to_vec());
                    distinct.len() - 1
                });
                (at, matches!(column, Column::List(_)))
            })
            .collect();
        Extractor { paths: distinct, asked, work: Work::default() }
    }

    /// Hands over the values in one line, which must be a JSON object: an error says why it has none.
    /// That is boxed, so that lines which have them pay nothing for it.
    pub(super) fn extract<R>(
        &mut self,
        line: &[u8],
        then: impl FnOnce(&[Option<&[u8]>]) -> R,
    ) -> Result<R, Box<BadRow>> {
        let work = &mut self.work;
        work.found.clear();
        work.unescaped.clear();
        work.open.clear();
        work.open.extend((0..self.paths.len()).map(|path| Open { path, from: 0, way: Way(0) }));

        let mut scan = Scan::new(line);
        if scan.peek() != b'{' {
            return Err(Box::new(BadRow::NotAnObject));
        }
        work.object(&mut scan, &self.paths, 0)
            .and_then(|()| scan.end())
            .map_err(|fault| Box::new(scan.explain(fault)))?;

        if self.asked.len() <= FEW {
            let mut values = [None; FEW];
            self.texts(line, &mut values)?;
            Ok(then(&values[..self.asked.len()]))
        } else {
            let mut values = vec![None; self.asked.len()];
            self.texts(line, &mut values)?;
            Ok(then(&values))
        }
    }

    fn texts<'a>(&'a self, line: &'a [u8], values: &mut [Option<&'a [u8]>]) -> Result<(), Box<BadRow>> {
        for (value, &(path, list)) in values.iter_mut().zip(&self.asked) {
            let ways = self.work.found.iter().filter(|found| found.path == path);
            *value = match ways.min_by_key(|found| found.way).map(|found| found.text) {
                None | Some(Text::Null) => None,
                Some(Text::InLine(start, end)) => Some(&line[start..end]),
                Some(Text::Unescaped(start, end)) => Some(&self.work.unescaped[start..end]),
                Some(Text::Array(start, end)) if list => Some(&line[start..end]),
                Some(Text::Object) => return Err(self.no_scalar(path, "an object")),
                Some(Text::Array(..)) => return Err(self.no_scalar(path, "an array")),
            };
        }
        Ok(())
    }

    #[cold]
    fn no_scalar(&self, path: usize, what: &'static str) -> Box<BadRow> {
        let path = String::from_utf8_lossy(&self.paths[path]).into_owned();
        Box::new(BadRow::NotOneValue { path, what })
    }
}

impl Work {
    /// Reads an object; the paths from `first` on in `open` lead to it.
    fn object(&mut self, scan: &mut Scan, paths: &[Vec<u8>], first: usize) -> Result<(), Fault> {
        let last = self.open.len();
        scan.object(|scan, key| {
            let key_text = &scan.line[key.start..key.end];
            let ended = if key.escaped {
                let mut buffer = std::mem::take(&mut self.key);
                buffer.clear();
                unescape(key_text, &mut buffer);
                let ended = self.enter(paths, first..last, &buffer);
                self.key = buffer;
                ended
            } else {
                self.enter(paths, first..last, key_text)
            };

            let goes_on = self.open.len() > last;
            if scan.peek() == b'{' {
                if goes_on {
                    self.object(scan, paths, last)?;
                } else {
                    scan.skip()?;
                }
                if let Some(end) = ended {
                    self.settle(end, Text::Object);
                }
            } else {
                let value = scan.value()?;
                if let Some(end) = ended {
                    let text = self.text(scan.line, value);
                    self.settle(end, text);
                }
            }
            if goes_on {
                self.open.truncate(last);
            }
            Ok(())
        })
    }

    /// Compares a key with the rest of each open path. Where a dot follows it, the path stays
    /// open inside; what an earlier key of this name led to no longer counts. Gives the path that
    /// ends with this key: one at most, since all that are open here have begun alike.
    #[inline]
    fn enter(&mut self, paths: &[Vec<u8>], level: Range<usize>, key: &[u8]) -> Option<Open> {
        let mut ended = None;
        for i in level {
            let open = self.open[i];
            let path = &paths[open.path];
            let rest = &path[open.from..];
            // Most keys differ in their first byte, which saves the call that compares the rest.
            if !key.is_empty() && rest.first() != key.first() {
                continue;
            }
            match rest.strip_prefix(key) {
                Some([]) => ended = Some(open),
                Some([b'.', ..]) => {
                    let at = open.from + key.len();
                    let dot = path[..at].iter().filter(|&&byte| byte == b'.').count() as u32;
                    // A path of more dots than a way has bits is cut at the first of them only.
                    if dot < u128::BITS {
                        let way = open.way.cut(dot);
                        self.found.retain(|found| found.path != open.path || !found.way.begins(way, dot));
                        self.open.push(Open { path: open.path, from: at + 1, way });
                    }
                }
                _ => {}
            }
        }
        ended
    }

    /// Notes the value of a path, in place of that of an earlier key of this name.
    fn settle(&mut self, end: Open, text: Text) {
        self.found.retain(|found| found.path != end.path || found.way != end.way);
        self.found.push(Found { path: end.path, way: end.way, text });
    }

    #[inline]
    fn text(&mut self, line: &[u8], value: Value) -> Text {
        match value {
            Value::Null => Text::Null,
            Value::Array(start, end) => Text::Array(start, end),
            Value::Word(start, end) | Value::String(Str { start, end, escaped: false }) => {
                Text::InLine(start, end)
            }
            Value::String(Str { start, end, escaped: true }) => {
                let from = self.unescaped.len();
                unescape(&line[start..end], &mut self.unescaped);
                Text::Unescaped(from, self.unescaped.len())
            }
        }
    }
}

/// The paths of the values in a line (not those inside arrays), for a message that lists the
/// columns there are. Of a line that is not valid: those before the fault.
pub(super) fn names(line: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let mut scan = Scan::new(line);
    if scan.peek() == b'{' {
        // The fault itself is for `extract` to report.
        let _ = name_members(&mut scan, "", &mut names);
    }
    names
}

fn name_members(scan: &mut Scan, prefix: &str, names: &mut Vec<String>) -> Result<(), Fault> {
    scan.object(|scan, key| {
        if names.len() == MAX_NAMES {
            return scan.skip();
        }
        let mut text = Vec::new();
        unescape(&scan.line[key.start..key.end], &mut text);
        let name = format!("{prefix}{}", String::from_utf8_lossy(&text));
        if scan.peek() == b'{' {
            return name_members(scan, &format!("{name}."), names);
        }
        if !matches!(scan.value()?, Value::Array(..)) && !names.contains(&name) {
            names.push(name);
        }
        Ok(())
    })
}

/// For fuzzing: whatever the bytes are, nothing here may panic.
#[doc(hidden)]
pub fn fuzz_ndjson(line: &[u8]) {
    let mut paths = names(line);
    paths.truncate(4);
    paths.extend(["a", "a.b", "a.b.c", "a"].map(String::from));
    let columns: Vec<Column> = paths.iter().map(|path| Column::Name(path.clone())).collect();
    let _ = Extractor::new(&columns).extract(line, |values| {
        assert_eq!(values.len(), paths.len());
    });
}
