//! The name of the input as a column: every row of it has the same.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use tamis::key::Column;

use crate::aside::BadRecord;
use crate::bad_row::BadRow;
use crate::columns::NoColumn;
use crate::inputs::STDIN;
use crate::remote::{self, Address};
use crate::sink::{RowResult, Sink};
use crate::{Error, Result};

/// Where the name of the input stands among the values that are asked, and what it is.
pub(super) struct Named {
    name: Vec<u8>,
    /// In ascending order.
    places: Vec<usize>,
}

impl Named {
    /// Parts the asked columns: the name of this input where it is asked for, and the columns of its rows.
    /// Standard input has no name, and no other pipe has. A name that is given goes before that of the path.
    pub(super) fn part(
        path: &Path,
        given: Option<&[u8]>,
        asked: &[Column],
    ) -> Result<(Option<Named>, Vec<Column>), NoColumn> {
        let places = |(place, column): (usize, &Column)| (*column == Column::File).then_some(place);
        let places: Vec<usize> = asked.iter().enumerate().filter_map(places).collect();
        if places.is_empty() {
            return Ok((None, asked.to_vec()));
        }
        // A pipe has no name, whatever stands for it (`/dev/stdin`, `/dev/fd/63`).
        let is_pipe = || path.metadata().is_ok_and(|there| !there.is_file());
        let name = match given {
            Some(name) => name.to_vec(),
            None if path == Path::new(STDIN) || path.starts_with("/dev") || is_pipe() => {
                return Err(NoColumn::NoFile);
            }
            None => name(path),
        };
        let others = asked.iter().filter(|column| **column != Column::File).cloned().collect();
        Ok((Some(Named { name, places }), others))
    }

    /// A sink for rows that lack the name, which gives them to this one with it.
    pub(super) fn before<'n, 's>(&'n self, sink: &'s mut dyn Sink) -> WithName<'n, 's> {
        WithName { named: self, sink }
    }
}

/// The name of a file: its path as it was given, with `/` between its parts, and without those that say
/// nothing (`logs//a`, `./logs/a` and `logs/a` are one file, and one name). What would look like an option
/// to other programs begins with `./`. Where it lies elsewhere, that is no part of the name: on Spark it is none,
/// either.
pub fn name(path: &Path) -> Vec<u8> {
    if let Some(address) = Address::of(path) {
        let store = address.store.len();
        return [b"/", address.without_question()[store..].trim_start_matches('/').as_bytes()].concat();
    }
    let mut name = Vec::new();
    for part in path.components() {
        if part == Component::CurDir {
            continue;
        }
        if !name.is_empty() && !name.ends_with(b"/") {
            name.push(b'/');
        }
        match part {
            Component::RootDir if name.ends_with(b"/") => {}
            Component::RootDir => name.push(b'/'),
            part => name.extend_from_slice(part.as_os_str().as_encoded_bytes()),
        }
    }
    if name.starts_with(b"-") {
        name.splice(..0, *b"./");
    }
    name
}

/// Refuses inputs of which two have one name, though they lie in different places.
pub(super) fn refuse_same(paths: &[PathBuf]) -> Result<()> {
    let mut names = HashMap::new();
    for path in paths.iter().filter(|path| remote::is_remote(path)) {
        if let Some(first) = names.insert(name(path), path)
            && first != path
        {
            let name = String::from_utf8_lossy(&name(path)).into_owned();
            return Err(Error::input(path, NoColumn::SameFile { name, first: first.clone() }));
        }
    }
    Ok(())
}

/// Puts the name of the input into every row.
pub(super) struct WithName<'n, 's> {
    named: &'n Named,
    sink: &'s mut dyn Sink,
}

impl Sink for WithName<'_, '_> {
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        let Named { name, places } = self.named;
        // A key and a group, as nearly always, need no memory of their own.
        if let ([at], [value]) = (&places[..], values) {
            let all = if *at == 0 { [Some(&name[..]), *value] } else { [*value, Some(name)] };
            return self.sink.row(place, &all);
        }
        let mut all = Vec::with_capacity(values.len() + places.len());
        let mut rest = values.iter();
        for &at in places {
            all.extend(rest.by_ref().take(at - all.len()));
            all.push(Some(&name[..]));
        }
        all.extend(rest);
        self.sink.row(place, &all)
    }

    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        self.sink.bad_row(place, why)
    }

    fn sets_aside(&self) -> bool {
        self.sink.sets_aside()
    }

    fn set_aside(&mut self, record: BadRecord<'_>) {
        self.sink.set_aside(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_name_however_its_folder_is_written() {
        for path in ["logs/a b", "./logs/a b", "logs//a b", "logs/./a b", ".//logs/a b"] {
            assert_eq!(name(Path::new(path)), b"logs/a b", "{path}");
        }
        for (path, named) in [
            ("/var//log/x", "/var/log/x"),
            ("../x", "../x"),
            ("a/../x", "a/../x"),
            ("./-rf", "./-rf"),
            ("-rf", "./-rf"),
            ("s3://bucket/a/x?.csv", "/a/x?.csv"),
            ("hdfs:///a/x", "/a/x"),
            ("https://host/x.csv?token=1", "/x.csv"),
        ] {
            assert_eq!(name(Path::new(path)), named.as_bytes(), "{path}");
        }
    }

    #[test]
    fn files_that_lie_in_two_places_and_have_one_name_are_refused() {
        let same = |paths: &[&str]| refuse_same(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert!(same(&["s3://a/x", "s3://a/y", "s3://a/x", "x", "/x"]).is_ok());
        let said = same(&["s3://a/x", "s3://b/x"]).unwrap_err().to_string();
        assert!(said.starts_with("s3://b/x: s3://a/x and this one are both called"), "{said}");
    }

    #[test]
    fn the_name_stands_where_it_is_asked_for() {
        struct Rows(Vec<String>);
        impl Sink for Rows {
            fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
                let text = |value: &Option<&[u8]>| {
                    value.map_or("null".into(), |value| String::from_utf8_lossy(value).into_owned())
                };
                self.0.push(values.iter().map(text).collect::<Vec<_>>().join(","));
                Ok(())
            }
        }
        let (line, file) = (Column::Number(1), Column::File);
        type Case<'a> = (&'a [&'a Column], &'a [Option<&'a [u8]>], &'a str);
        let cases: [Case<'_>; 6] = [
            (&[&file, &line], &[Some(b"1")], "f,1"),
            (&[&line, &file], &[None], "null,f"),
            (&[&file], &[], "f"),
            (&[&file, &line, &file], &[Some(b"1")], "f,1,f"),
            (&[&line, &file, &line], &[Some(b"1"), Some(b"2")], "1,f,2"),
            // Values that nobody asked for follow: the columns of records that become text.
            (&[&line, &file], &[Some(b"1"), Some(b"2"), Some(b"3")], "1,f,2,3"),
        ];
        for (asked, values, given) in cases {
            let asked: Vec<Column> = asked.iter().map(|&column| column.clone()).collect();
            let (named, _) = Named::part(Path::new("f"), None, &asked).unwrap();
            let mut rows = Rows(Vec::new());
            named.unwrap().before(&mut rows).row(0..0, values).unwrap();
            assert_eq!(rows.0, [given]);
        }
        for path in ["-", "/dev/stdin", "/dev/fd/63", "."] {
            assert!(Named::part(Path::new(path), None, &[Column::File]).is_err(), "{path}");
            let (named, _) = Named::part(Path::new(path), Some(b"/dev/f"), &[Column::File]).unwrap();
            assert_eq!(named.unwrap().name, b"/dev/f");
        }
        assert!(Named::part(Path::new("-"), None, &[Column::Line]).is_ok());
    }
}
