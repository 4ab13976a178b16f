//! The asked columns among those that there are; where one is not, a refusal that helps.

use std::fmt;
use std::path::PathBuf;

use tamis::key::Column;

use crate::opt;
use crate::refusal::{Help, Refusal};

/// How many names a message lists.
const LISTED: usize = 30;

/// Why an asked column was not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoColumn {
    /// Rows have columns, and none of them is asked for.
    #[error("its rows have columns, and no key column is given; {there}")]
    NotChosen {
        /// The columns there are.
        there: ColumnNames,
        /// Whether rows are lines of text, which can be taken as a whole.
        lines: bool,
    },
    /// There is no such column.
    #[error("there is no column {}{}; {there}", shown(column), hint(near.as_deref(), *delimiter))]
    Missing {
        /// The column that is asked for.
        column: Column,
        /// A name much like it.
        near: Option<String>,
        /// The delimiter that would make a column of this name.
        delimiter: Option<&'static str>,
        /// The columns there are.
        there: ColumnNames,
    },
    /// Two columns have this name.
    #[error("columns {first} and {second} are both called {name:?}; ask for one of them by number")]
    Twice {
        /// Their name.
        name: String,
        /// The number of the first.
        first: usize,
        /// The number of the second.
        second: usize,
    },
    /// A number is the place of one column and the name of another.
    #[error(
        "{number} is the place of column {there:?} and the name of column {other}; ask for the first as \
         {}, or for the other as '\"{number}\"', with the quotes",
        plain_name(there)
    )]
    PlaceOrName {
        /// The number that is asked for.
        number: usize,
        /// The name of the column at that place.
        there: String,
        /// The number of the column of that name.
        other: usize,
    },
    /// Columns without a header are asked for by name.
    #[error("without a header columns have no names; ask for them by number, 1 to {0}")]
    NoNames(usize),
    /// Members of JSON objects are asked for by number.
    #[error("in NDJSON columns have no numbers; ask for {column} by its name; {there}")]
    NoNumbers {
        /// The column that is asked for.
        column: Column,
        /// The columns there are.
        there: ColumnNames,
    },
    /// A field of an access log that is too far behind.
    #[error("the fields of a line of an access log have the numbers 1 to {most}, and {number} is asked for")]
    NumberInLog {
        /// The number that is asked for.
        number: usize,
        /// The last number that can be.
        most: usize,
    },
    /// Lines have no columns.
    #[error("it has one key per line and no column {0}")]
    Lines(Column),
    /// Keys in memory have no columns.
    #[error("these are keys without columns, and there is no column {0}")]
    Keys(Column),
    /// Members of JSON objects in messages are asked for by number.
    #[error("JSON objects have no column {0}; ask for it by name")]
    NumberInObjects(usize),
    /// Fields of messages are asked for by name.
    #[error("messages have no header: ask for column {0} by its number, from 1")]
    NameInMessages(Column),
    /// Rows that do not come from a file.
    #[error("(file) is not available: these rows come from no file")]
    NoFile,
    /// Rows that are no files, where a whole file is a record.
    #[error("a whole file is one record here, and these rows are no files")]
    NoDocument,
    /// Columns of a file that is one record.
    #[error("a whole file is one record here, and has no column {0}")]
    Document(Column),
    /// A column that is called as the name of the input is.
    #[error(
        "it has a column called \"(file)\"; ask for that as '\"(file)\"', with the quotes, or rename it to ask for the name of the file"
    )]
    FileIsAColumn,
    /// Two inputs that lie elsewhere have one name.
    #[error("{} and this one are both called {name:?}, without where they lie: read them by jobs of their own", first.display())]
    SameFile {
        /// Their name.
        name: String,
        /// The other one.
        first: PathBuf,
    },
    /// Messages that are one key each have no columns.
    #[error("each message is one key and has no columns")]
    WholeMessages,
}

impl Refusal for NoColumn {
    fn help(&self) -> Vec<Help> {
        let tables = || vec![opt::FORMAT.with("csv"), opt::FORMAT.with("tsv")];
        match self {
            NoColumn::NotChosen { lines, .. } => {
                let key = Help::give(opt::KEY.with("COLUMN"));
                let whole = Help::GiveTo(opt::FORMAT.with("lines"), "take whole lines");
                if *lines { vec![key, whole] } else { vec![key] }
            }
            NoColumn::Missing { column: Column::Name(name) | Column::List(name), there, .. }
                if there.has_in_quotes(name) =>
            {
                vec![Help::GiveTo(opt::QUOTES.with("csv"), "read quotes around a name as quotes")]
            }
            NoColumn::Missing { near: None, delimiter: Some(_), .. } => vec![Help::give(opt::DELIMITER)],
            NoColumn::Lines(_) => vec![Help::GiveIf("if it has columns", tables())],
            NoColumn::NumberInObjects(_) => vec![Help::GiveIf("if messages have columns", tables())],
            NoColumn::WholeMessages => {
                let formats = ["ndjson", "csv", "tsv"].map(|format| opt::FORMAT.with(format));
                vec![Help::GiveIf("if messages have columns", formats.to_vec())]
            }
            NoColumn::NoFile | NoColumn::NoDocument => vec![Help::Do("name files as the input")],
            NoColumn::Keys(_) => vec![Help::leave_out(opt::KEY), Help::Do("give a table")],
            _ => Vec::new(),
        }
    }
}

/// The names of columns; for people, the first of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnNames(pub Vec<String>);

impl ColumnNames {
    /// Whether one is this name with quotes around it.
    fn has_in_quotes(&self, name: &str) -> bool {
        let plain = |other: &String| other.strip_prefix('"')?.strip_suffix('"').map(|other| other == name);
        self.0.iter().any(|other| plain(other) == Some(true))
    }
}

impl fmt::Display for ColumnNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = self.0.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
        match self.0.len() {
            0 => f.write_str("it has no columns"),
            1 => write!(f, "its only column is {listed}"),
            n if n <= LISTED => write!(f, "its {n} columns are {listed}"),
            n => write!(f, "its {n} columns are {listed} and {} more", n - LISTED),
        }
    }
}

/// Names are quoted, numbers are not.
fn shown(column: &Column) -> String {
    match column {
        Column::Name(name) | Column::List(name) => format!("{name:?}"),
        column => column.to_string(),
    }
}

/// A name as it is asked for: one that is a number has quotes.
fn plain_name(name: &str) -> String {
    if name.parse::<usize>().is_ok() { format!("'\"{name}\"'") } else { name.to_owned() }
}

fn hint(near: Option<&str>, delimiter: Option<&str>) -> String {
    match (near, delimiter) {
        (Some(near), _) => format!(" (did you mean {near:?}?)"),
        (None, Some(delimiter)) => format!(" (is the delimiter {delimiter}?)"),
        (None, None) => String::new(),
    }
}

/// Finds each asked column among these names.
pub(super) fn find(asked: &[Column], names: &[String]) -> Result<Vec<usize>, NoColumn> {
    asked.iter().map(|column| find_one(column, names)).collect()
}

pub(super) fn find_one(column: &Column, names: &[String]) -> Result<usize, NoColumn> {
    match column {
        Column::Line | Column::File => Err(not_chosen(names)),
        Column::Text(_) => Err(NoColumn::NoDocument),
        Column::Number(number) => match number.checked_sub(1).filter(|&index| index < names.len()) {
            Some(index) => match names.iter().position(|name| *name == number.to_string()) {
                Some(other) if names[index] != names[other] => {
                    let there = names[index].clone();
                    Err(NoColumn::PlaceOrName { number: *number, there, other: other + 1 })
                }
                _ => Ok(index),
            },
            // A column may be called 2024.
            None => find_name(&number.to_string(), names).unwrap_or_else(|| Err(missing(column, names))),
        },
        Column::Name(name) | Column::List(name) => {
            find_name(name, names).unwrap_or_else(|| Err(missing(column, names)))
        }
    }
}

/// The column of this name, if there is one; an error if there are several.
fn find_name(name: &str, names: &[String]) -> Option<Result<usize, NoColumn>> {
    let mut found = names.iter().enumerate().filter(|(_, other)| *other == name);
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Some(Ok(index)),
        (Some((first, _)), Some((second, _))) => {
            Some(Err(NoColumn::Twice { name: name.to_owned(), first: first + 1, second: second + 1 }))
        }
        (None, _) => None,
    }
}

/// That columns have to be asked for.
pub(super) fn not_chosen(names: &[String]) -> NoColumn {
    NoColumn::NotChosen { there: ColumnNames(names.to_vec()), lines: true }
}

impl NoColumn {
    /// The same of rows that are no lines of text.
    pub(super) fn without_lines(self) -> NoColumn {
        match self {
            NoColumn::NotChosen { there, .. } => NoColumn::NotChosen { there, lines: false },
            other => other,
        }
    }
}

/// That there is no such column among these.
pub(super) fn missing(column: &Column, names: &[String]) -> NoColumn {
    let (near, delimiter) = match column {
        Column::Name(name) | Column::List(name) => (near(name, names).cloned(), other_delimiter(name, names)),
        _ => (None, None),
    };
    NoColumn::Missing { column: column.clone(), near, delimiter, there: ColumnNames(names.to_vec()) }
}

/// One column that holds another delimiter and the name was most likely cut at the wrong one.
fn other_delimiter(name: &str, names: &[String]) -> Option<&'static str> {
    let [only] = names else { return None };
    let found = [('\t', "tab"), (';', ";"), ('|', "|"), (',', ","), (' ', "space")].into_iter().find(
        |(delimiter, _)| only.split(*delimiter).any(|part| part == name) && only.contains(*delimiter),
    )?;
    Some(found.1)
}

/// The name that is closest to this one, if any is close.
fn near<'a>(name: &str, names: &'a [String]) -> Option<&'a String> {
    // What is empty is close to every short name, and helps nobody.
    let names = names.iter().filter(|other| !other.is_empty());
    let wanted: Vec<char> = name.to_lowercase().chars().collect();
    // Names of absurd length are not worth a table of distances.
    let allowed = wanted.len().div_ceil(3).min(3);
    names
        .filter(|other| other.len() < 200 && wanted.len() < 200)
        .map(|other| (distance(&wanted, &other.trim().to_lowercase().chars().collect::<Vec<_>>()), other))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, other)| other)
}

/// Insertions, deletions and replacements between two texts.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    fn name(name: &str) -> Column {
        Column::Name(name.into())
    }

    #[test]
    fn columns_are_found_by_name_and_by_number() {
        let there = names(&["id", "email", "7"]);
        let asked = [name("email"), Column::Number(1), Column::Number(3), name("email")];
        assert_eq!(find(&asked, &there), Ok(vec![1, 0, 2, 1]));
    }

    #[test]
    fn a_number_that_no_column_has_may_be_a_name() {
        let there = names(&["year", "2024", "7"]);
        let find = |number| find(&[Column::Number(number)], &there);
        assert_eq!((find(2024), find(2), find(3)), (Ok(vec![1]), Ok(vec![1]), Ok(vec![2])));
        assert!(find(2025).is_err());
    }

    #[test]
    fn a_number_that_is_the_place_of_one_column_and_the_name_of_another_is_not_guessed() {
        let there = names(&["id", "2", "1", "4"]);
        let find = |column| find(&[column], &there);
        assert_eq!((find(Column::Number(2)), find(Column::Number(3))), (Ok(vec![1]), Ok(vec![2])));
        let refusal = find(Column::Number(1)).unwrap_err();
        assert_eq!(refusal, NoColumn::PlaceOrName { number: 1, there: "id".into(), other: 3 });
        assert_eq!(
            refusal.to_string(),
            "1 is the place of column \"id\" and the name of column 3; ask for the first as id, or for the \
             other as '\"1\"', with the quotes"
        );
        assert!(find(Column::Number(4)).is_ok(), "the fourth is called so");
        assert_eq!(find("\"1\"".parse::<tamis::key::Field>().unwrap().column), Ok(vec![2]));
        assert_eq!(find(name("id")), Ok(vec![0]));
    }

    #[test]
    fn a_missing_column_is_answered_with_those_there_are_and_a_near_one() {
        let there = names(&["id", "Email ", "title"]);
        let message = |column| find(&[column], &there).unwrap_err().to_string();
        assert_eq!(
            message(name("titel")),
            "there is no column \"titel\" (did you mean \"title\"?); its 3 columns are id, Email , title"
        );
        assert!(message(name("email")).contains("did you mean \"Email \"?"));
        assert!(!message(name("zzz")).contains("did you mean"));
        assert_eq!(message(Column::Number(4)), "there is no column 4; its 3 columns are id, Email , title");
        assert!(message(Column::Number(0)).contains("no column 0"));
        let not_chosen = find(&[Column::Line], &there).unwrap_err();
        assert!(not_chosen.help().contains(&Help::give(opt::KEY.with("COLUMN"))));
    }

    #[test]
    fn a_wrong_delimiter_is_suspected() {
        let refusal = find(&[name("b")], &names(&["a;b;c"])).unwrap_err();
        assert!(refusal.to_string().contains("is the delimiter ;?"), "{refusal}");
        assert_eq!(refusal.help(), [Help::give(opt::DELIMITER)]);
    }

    #[test]
    fn a_name_that_stands_twice_is_not_guessed() {
        let message = find(&[name("a")], &names(&["a", "b", "a"])).unwrap_err().to_string();
        assert!(message.contains("columns 1 and 3"), "{message}");
    }

    #[test]
    fn long_lists_are_cut() {
        let there: Vec<String> = (1..=100).map(|i| format!("c{i}")).collect();
        let message = find(&[name("x")], &there).unwrap_err().to_string();
        assert!(message.contains("c30 and 70 more") && !message.contains("c31"), "{message}");
    }

    #[test]
    fn distances_count_edits() {
        let d = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!((d("", ""), d("abc", ""), d("abc", "abd"), d("titel", "title")), (0, 3, 1, 2));
        assert_eq!(d("kitten", "sitting"), 3);
    }
}
