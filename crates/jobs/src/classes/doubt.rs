//! What is to be said where keys of another class ask, and it is not certain that they mean the same.

use std::fmt;

use tamis::about::{Class, Classes};
use tamis::key::Field;

use super::{are_numbers, is_number};

/// The least number of keys of which almost no hits are worth a word.
pub const LARGE: u64 = 1000;

/// The least number of keys of which no hit at all is worth a word: integers that were rounded when they became
/// floats, times of another zone.
const FEW: u64 = 8;

/// How often keys of a class were asked, and found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hits {
    /// Keys that were asked.
    pub asked: u64,
    /// Those that may be in the set.
    pub found: u64,
}

impl Hits {
    /// Counts a key.
    pub fn hear(&mut self, found: bool) {
        self.asked += 1;
        self.found += u64::from(found);
    }

    /// Whether a hundredth of them was not found.
    fn almost_none(self) -> bool {
        self.found.saturating_mul(100) < self.asked
    }
}

/// That values of a class ask a file whose keys are of others, and that keys may be missed so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubt {
    /// The classes of the file.
    pub file: Classes,
    /// The class that asks.
    pub asks: Class,
    /// How many keys were asked and found, where almost none were.
    pub hits: Option<Hits>,
}

/// Whether values were asked in the forms that other classes have, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Converted {
    /// They were.
    Yes,
    /// They were asked by their own texts alone.
    No,
}

impl Converted {
    /// Whether values of a column of these classes are: of several, nobody knows which is which.
    pub fn of(column: Classes) -> Converted {
        if column.iter().nth(1).is_none() { Converted::Yes } else { Converted::No }
    }
}

impl Doubt {
    /// Whether a value of this class that is not found may be there in another form.
    pub fn of(file: Classes, field: &Field, asks: Class, converted: Converted) -> Option<Doubt> {
        let lacks_all_but = |classes: &[Class]| file.without(classes.iter().copied().collect()).is_empty();
        // What is rounded is one key, however it is written.
        if are_numbers(field) && is_number(asks) {
            return None;
        }
        let certain = match asks {
            _ if converted == Converted::No => false,
            Class::Integer | Class::Float | Class::Single => {
                lacks_all_but(&[Class::Integer, Class::Float, Class::Single])
            }
            Class::Decimal => lacks_all_but(&[Class::Integer, Class::Float]),
            Class::Text | Class::Bytes | Class::Date | Class::Time | Class::Boolean => false,
        };
        // Decimals of another column may have other digits.
        let same = has(file, asks) && asks != Class::Decimal;
        (!same && !certain).then_some(Doubt { file, asks, hits: None })
    }

    /// Whether so few hits are worth a word: many keys of another class, decimals that may have other digits, or
    /// times that may be of another zone.
    pub fn of_hits(file: Classes, asks: Class, hits: Hits) -> Option<Doubt> {
        let of_zones = asks == Class::Time && file.has(Class::Time);
        let other = !has(file, asks) || asks == Class::Decimal;
        let few = hits.found == 0 && hits.asked >= FEW || hits.asked >= LARGE && hits.almost_none();
        let worth = (other || of_zones) && few;
        worth.then_some(Doubt { file, asks, hits: Some(hits) })
    }

    /// What to do about it, where keys are read from files.
    pub fn advice(&self) -> &'static str {
        match (self.asks, self.file.has(Class::Text)) {
            (Class::Text | Class::Bytes, _) => {
                "write the keys as values of that class are written, or ask with a Parquet column of them"
            }
            (_, true) => "ask with a column that holds the texts, such as the CSV that it was built from",
            (_, false) => {
                "cast the column to the type that it was built from, before it is written to Parquet"
            }
        }
    }

    /// Why a key may be missed.
    fn why(&self) -> &'static str {
        let text = self.file.has(Class::Text);
        match self.asks {
            Class::Integer if text => {
                "the texts 01234, +7 and 7.0 are other keys than the integers 1234 and 7"
            }
            Class::Float | Class::Single if text => {
                "the texts 1.50 and 1e3 are other keys than the floats 1.5 and 1000.0"
            }
            Class::Decimal if text => "the texts 1.500 and 1e3 are other keys than the decimals 1.5 and 1000",
            Class::Date if text => "a text such as 15.11.2026 is another key than the date 2026-11-15",
            Class::Time if text => {
                "a text with other digits or another zone, such as 2026-11-15 12:00:00.000, is another key than the \
                 time 2026-11-15T12:00:00"
            }
            Class::Boolean if text => "the texts 1, yes and t are other keys than true",
            Class::Text | Class::Bytes if self.file.has(Class::Integer) => {
                "the texts 007, +7 and 7.0 are other keys than the integer 7"
            }
            Class::Text | Class::Bytes if self.file.has(Class::Date) => {
                "a text such as 15.11.2026 is another key than the date 2026-11-15"
            }
            Class::Time | Class::Date if self.file.has(Class::Time) => {
                "a time without a zone is another key than the same time in UTC (2026-11-15T12:00:00 and \
                 2026-11-15T12:00:00Z)"
            }
            Class::Float if self.file.has(Class::Integer) => {
                "integers of 2^53 and more may have been rounded when they became floats"
            }
            Class::Decimal | Class::Float | Class::Integer | Class::Single
                if self.file.has(Class::Decimal) =>
            {
                "a decimal has all digits of its column, so that 42.5 and 42.50 are two keys"
            }
            _ => "each class has a text of its own, and that text is the key",
        }
    }
}

/// Whether a file has keys of a class. The bytes of a text are that text.
fn has(file: Classes, asks: Class) -> bool {
    let bytes = |class| matches!(class, Class::Text | Class::Bytes);
    file.has(asks) || bytes(asks) && file.iter().any(bytes)
}

/// Classes in words: `integers`, `text and floats`.
pub fn words(classes: Classes) -> String {
    let names: Vec<&str> = classes.iter().map(word).collect();
    match &names[..] {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

/// The values of a class.
pub fn word(class: Class) -> &'static str {
    match class {
        Class::Text => "text",
        Class::Integer => "integers",
        Class::Decimal => "decimals",
        Class::Float => "floats",
        Class::Single => "floats of 32 bits",
        Class::Date => "dates",
        Class::Time => "times",
        Class::Bytes => "bytes",
        Class::Boolean => "booleans",
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, asks) = (words(self.file), word(self.asks));
        match self.hits {
            None => write!(f, "the learned keys were made from {file}, and {asks} ask: {}", self.why()),
            Some(Hits { asked, found }) => write!(
                f,
                "{found} of {asked} keys were found: the learned keys were made from {file}, and {asks} ask: {}",
                self.why()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubt(file: Class, asks: Class) -> bool {
        Doubt::of(Classes::of(file), &"a".parse().unwrap(), asks, Converted::Yes).is_some()
    }

    #[test]
    fn what_is_certain_is_no_doubt_and_all_else_is_one() {
        use Class::*;
        // Decimals of another column may have other digits.
        for class in Class::ALL {
            assert_eq!(doubt(class, class), class == Decimal, "{class:?}");
        }
        for (file, asks) in [
            (Integer, Float),
            (Float, Integer),
            (Single, Float),
            (Float, Single),
            (Integer, Decimal),
            (Float, Decimal),
            (Text, Bytes),
        ] {
            assert!(!doubt(file, asks), "{file:?} {asks:?}");
        }
        for (file, asks) in [
            (Text, Integer),
            (Text, Float),
            (Text, Time),
            (Text, Date),
            (Text, Boolean),
            (Integer, Text),
            (Decimal, Float),
            (Decimal, Integer),
            (Integer, Time),
            (Time, Date),
            (Date, Time),
            (Float, Text),
        ] {
            assert!(doubt(file, asks), "{file:?} {asks:?}");
        }
        assert!(Doubt::of(Classes::TEXT, &"a:round".parse().unwrap(), Integer, Converted::Yes).is_none());
    }

    #[test]
    fn almost_no_hits_of_many_keys_of_another_class_are_worth_a_word() {
        let of = |file, asks, asked, found| {
            Doubt::of_hits(Classes::of(file), asks, Hits { asked, found }).is_some()
        };
        assert!(of(Class::Integer, Class::Text, 1000, 9));
        assert!(!of(Class::Integer, Class::Text, 1000, 10));
        assert!(!of(Class::Integer, Class::Text, 999, 1));
        assert!(of(Class::Integer, Class::Float, 900, 0));
        assert!(!of(Class::Integer, Class::Text, 7, 0));
        assert!(!of(Class::Integer, Class::Integer, 10_000, 0));
        assert!(!of(Class::Bytes, Class::Text, 10_000, 0));
        assert!(!of(Class::Float, Class::Float, 10_000, 0));
        assert!(of(Class::Decimal, Class::Decimal, 1000, 0));
        // Fifty times of another zone were once missed without a word.
        assert!(of(Class::Time, Class::Time, 50, 0));
        assert!(!of(Class::Time, Class::Time, 50, 1));
    }
}
