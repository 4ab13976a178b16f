//! The asked columns among those that there are; where one is not, a message that helps.

use tamis::key::Column;

/// How many names a message lists.
const LISTED: usize = 30;

/// Finds each asked column among these names.
pub(super) fn find(asked: &[Column], names: &[String]) -> Result<Vec<usize>, String> {
    asked.iter().map(|column| find_one(column, names)).collect()
}

fn find_one(column: &Column, names: &[String]) -> Result<usize, String> {
    match column {
        Column::Line => Err(no_key(names)),
        Column::Number(number) => match number.checked_sub(1).filter(|&index| index < names.len()) {
            Some(index) => Ok(index),
            // A column may be called 2024.
            None => find_name(&number.to_string(), names).unwrap_or_else(|| Err(missing(column, names))),
        },
        Column::Name(name) => find_name(name, names).unwrap_or_else(|| Err(missing(column, names))),
    }
}

/// The column of this name, if there is one; an error if there are several.
fn find_name(name: &str, names: &[String]) -> Option<Result<usize, String>> {
    let mut found = names.iter().enumerate().filter(|(_, other)| *other == name);
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Some(Ok(index)),
        (Some((first, _)), Some((second, _))) => Some(Err(format!(
            "columns {} and {} are both called {name:?}; ask for one of them by number",
            first + 1,
            second + 1
        ))),
        (None, _) => None,
    }
}

/// That columns have to be asked for.
pub(super) fn no_key(names: &[String]) -> String {
    format!(
        "its rows have columns: pass --key with one of them (--format lines takes whole lines); {}",
        list(names)
    )
}

/// That a column is not there.
pub(super) fn missing(column: &Column, names: &[String]) -> String {
    let hint = match column {
        Column::Name(name) => near(name, names)
            .map(|other| format!(" (did you mean {other:?}?)"))
            .or_else(|| other_delimiter(name, names))
            .unwrap_or_default(),
        _ => String::new(),
    };
    match column {
        Column::Name(name) => format!("there is no column {name:?}{hint}; {}", list(names)),
        _ => format!("there is no column {column}; {}", list(names)),
    }
}

/// The names there are.
pub(super) fn list(names: &[String]) -> String {
    let listed = names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "it has no columns".into(),
        1 => format!("its only column is {listed}"),
        n if n <= LISTED => format!("its {n} columns are {listed}"),
        n => format!("its {n} columns are {listed} and {} more", n - LISTED),
    }
}

/// One column that holds another delimiter and the name was most likely cut at the wrong one.
fn other_delimiter(name: &str, names: &[String]) -> Option<String> {
    let [only] = names else { return None };
    let found = [('\t', "tab"), (';', ";"), ('|', "|"), (',', ",")].into_iter().find(|(delimiter, _)| {
        only.split(*delimiter).any(|part| part == name) && only.contains(*delimiter)
    })?;
    Some(format!(" (is the delimiter {}? pass --delimiter)", found.1))
}

/// The name that is closest to this one, if any is close.
fn near<'a>(name: &str, names: &'a [String]) -> Option<&'a String> {
    let wanted: Vec<char> = name.to_lowercase().chars().collect();
    // Names of absurd length are not worth a table of distances.
    let allowed = wanted.len().div_ceil(3).min(3);
    names
        .iter()
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
        let there = names(&["year", "2024", "2"]);
        let find = |number| find(&[Column::Number(number)], &there);
        assert_eq!((find(2024), find(2), find(3)), (Ok(vec![1]), Ok(vec![1]), Ok(vec![2])));
        assert!(find(2025).is_err());
    }

    #[test]
    fn a_missing_column_is_answered_with_those_there_are_and_a_near_one() {
        let there = names(&["id", "Email ", "title"]);
        let message = |column| find(&[column], &there).unwrap_err();
        assert_eq!(
            message(name("titel")),
            "there is no column \"titel\" (did you mean \"title\"?); its 3 columns are id, Email , title"
        );
        assert!(message(name("email")).contains("did you mean \"Email \"?"));
        assert!(!message(name("zzz")).contains("did you mean"));
        assert_eq!(message(Column::Number(4)), "there is no column 4; its 3 columns are id, Email , title");
        assert!(message(Column::Number(0)).contains("no column 0"));
        assert!(message(Column::Line).contains("--key"));
    }

    #[test]
    fn a_wrong_delimiter_is_suspected() {
        let message = find(&[name("b")], &names(&["a;b;c"])).unwrap_err();
        assert!(message.contains("is the delimiter ;?"), "{message}");
    }

    #[test]
    fn a_name_that_stands_twice_is_not_guessed() {
        let message = find(&[name("a")], &names(&["a", "b", "a"])).unwrap_err();
        assert!(message.contains("columns 1 and 3"), "{message}");
    }

    #[test]
    fn long_lists_are_cut() {
        let there: Vec<String> = (1..=100).map(|i| format!("c{i}")).collect();
        let message = find(&[name("x")], &there).unwrap_err();
        assert!(message.contains("c30 and 70 more") && !message.contains("c31"), "{message}");
    }

    #[test]
    fn distances_count_edits() {
        let d = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!((d("", ""), d("abc", ""), d("abc", "abd"), d("titel", "title")), (0, 3, 1, 2));
        assert_eq!(d("kitten", "sitting"), 3);
    }
}
