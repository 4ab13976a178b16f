//! Keys that mean the same: what a file of keys of one class is asked with values of another.
//!
//! A key is a text, and each class of values has its own: the integer 42 is `42`, the same number as a float
//! `42.0`. Where it is certain which texts mean the same, a value of another class is asked in the [form](Form)
//! that the classes of the file have; where it is not, there is a [`Doubt`] to be told.

mod doubt;
mod form;

use tamis::about::{Class, Classes};
use tamis::key::{Field, Step};

pub use self::doubt::{Converted, Doubt, Hits, LARGE, word, words};
pub use self::form::Form;

/// The forms in which values of a column are asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forms {
    /// Forms beside their own text.
    pub others: Vec<Form>,
    /// Whether a value that has one of these is asked by its own text, too: the file may have it.
    pub own: bool,
}

impl Forms {
    /// Those of values of this class, asked of a file whose keys are of these.
    pub fn of(file: Classes, asks: Class) -> Forms {
        let text = file.has(Class::Text);
        let may_be = |class: Class| text || file.has(class);
        let mut others = Vec::new();
        match asks {
            Class::Text | Class::Bytes => {}
            // The digits of an integer are the text that most tools write: another one is a guess.
            Class::Integer if file.has(Class::Float) || file.has(Class::Single) => {
                others.extend([Form::PointZero, Form::MinusZero]);
            }
            Class::Integer => {}
            Class::Decimal | Class::Float | Class::Single => {
                if may_be(Class::Integer) {
                    others.push(Form::Whole);
                }
                match asks {
                    Class::Decimal if may_be(Class::Float) => {
                        others.extend([Form::Stripped, Form::MinusZero])
                    }
                    Class::Float if may_be(Class::Float) || file.has(Class::Single) => {
                        others.extend([Form::Zero, Form::MinusZero]);
                        others.extend(file.has(Class::Single).then_some(Form::Narrow));
                    }
                    Class::Single if may_be(Class::Single) || file.has(Class::Float) => {
                        others.extend([Form::Zero, Form::MinusZero]);
                        others.extend(file.has(Class::Float).then_some(Form::Wide));
                    }
                    _ => {}
                }
            }
            Class::Date => others.extend(file.has(Class::Time).then_some(Form::Midnight)),
            Class::Time => {
                others.extend(may_be(Class::Date).then_some(Form::Day));
                if text {
                    others.extend([Form::Blank, Form::BlankOffset, Form::Offset]);
                }
            }
            Class::Boolean if text => others.extend([Form::Capital, Form::Upper]),
            Class::Boolean => {}
        }
        // Floats of both widths are one where their digits are, too: most people mean the digits.
        let floats = |class: Class| matches!(class, Class::Float | Class::Single);
        let own = may_be(asks) || floats(asks) && file.iter().any(floats);
        Forms { others, own }
    }

    /// Whether values are asked by their own texts alone.
    pub fn is_plain(&self) -> bool {
        self.others.is_empty()
    }
}

/// Whether steps make one key of a number, however it is written.
pub fn are_numbers(field: &Field) -> bool {
    field
        .steps
        .iter()
        .any(|step| matches!(step, Step::Round | Step::Floor | Step::Ceil | Step::Int | Step::Long))
}

/// Whether a class is one of numbers.
pub(crate) fn is_number(class: Class) -> bool {
    matches!(class, Class::Integer | Class::Decimal | Class::Float | Class::Single)
}

/// The forms of the key columns of values, of which each column has these classes; none where all are asked by
/// their own texts, or where there would be too many ways to write a key.
pub fn of_columns(file: Classes, fields: &[Field], asks: &[Classes]) -> Option<Vec<Forms>> {
    /// Ways to write a key of several columns that are asked; most values have few of them.
    const MOST: usize = 128;

    let of_column = |(field, classes): (&Field, &Classes)| {
        let mut all = classes.iter();
        match (all.next(), all.next()) {
            // Of values of several classes nobody knows which is which.
            (Some(class), None) if !(is_number(class) && are_numbers(field)) => Forms::of(file, class),
            _ => Forms { others: Vec::new(), own: true },
        }
    };
    let forms: Vec<Forms> = fields.iter().zip(asks).map(of_column).collect();
    let ways = forms.iter().map(|forms| forms.others.len() + 1).product::<usize>();
    (ways > 1 && (forms.len() == 1 || ways <= MOST)).then_some(forms)
}

/// What is to be said of rows whose keys are of these classes and were asked by their own texts alone, with
/// these hits: once of each class, where a key was not found. Integers and dates in text are mostly written as
/// their keys are: of these only where almost none was found.
pub fn of_scan(file: Classes, fields: &[Field], asks: Classes, hits: Hits) -> Vec<Doubt> {
    if hits.found >= hits.asked {
        return Vec::new();
    }
    let usual: Classes = [Class::Integer, Class::Date].into_iter().collect();
    let of_class = |class: Class| {
        let few = Doubt::of_hits(file, class, hits);
        if class == Class::Text && file.without(usual).is_empty() {
            return few;
        }
        few.or_else(|| fields.iter().find_map(|field| Doubt::of(file, field, class, Converted::No)))
    };
    asks.iter().filter_map(of_class).collect()
}

/// The same where nobody knows how many are found: of keys that are about to be asked, or are outside anyway.
pub fn of_question(file: Classes, fields: &[Field], asks: Classes) -> Vec<Doubt> {
    of_scan(file, fields, asks, Hits { asked: 1, found: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(file: &[Class], asks: Class) -> (Vec<Form>, bool) {
        let Forms { others, own } = Forms::of(file.iter().copied().collect(), asks);
        (others, own)
    }

    #[test]
    fn a_file_of_one_class_is_asked_in_the_form_of_that_class_alone() {
        use Class::*;
        assert_eq!(forms(&[Integer], Float), (vec![Form::Whole], false));
        assert_eq!(forms(&[Float], Integer), (vec![Form::PointZero, Form::MinusZero], false));
        assert_eq!(forms(&[Integer], Decimal), (vec![Form::Whole], false));
        assert_eq!(forms(&[Float], Decimal), (vec![Form::Stripped, Form::MinusZero], false));
        assert_eq!(forms(&[Date], Time), (vec![Form::Day], false));
        assert_eq!(forms(&[Single], Float), (vec![Form::Zero, Form::MinusZero, Form::Narrow], true));
        assert_eq!(forms(&[Float], Single), (vec![Form::Zero, Form::MinusZero, Form::Wide], true));
        // A double is not the single that is nearest to it.
        assert_eq!(forms(&[Float], Float), (vec![Form::Zero, Form::MinusZero], true));
        assert_eq!(forms(&[Time], Date), (vec![Form::Midnight], false));
    }

    #[test]
    fn the_same_class_and_text_are_asked_as_they_are() {
        for class in Class::ALL.into_iter().filter(|class| !matches!(class, Class::Float | Class::Single)) {
            assert_eq!(forms(&[class], class), (vec![], true), "{class:?}");
        }
        for class in Class::ALL {
            assert_eq!(forms(&[class], Class::Text).0, []);
        }
        assert_eq!(forms(&[Class::Text], Class::Integer), (vec![], true));
    }

    #[test]
    fn keys_of_many_columns_are_asked_in_a_bounded_number_of_ways() {
        let field: Field = "a".parse().unwrap();
        let time = Classes::of(Class::Time);
        assert!(of_columns(Classes::TEXT, std::slice::from_ref(&field), &[time]).is_some());
        assert!(of_columns(Classes::TEXT, &vec![field.clone(); 4], &[time; 4]).is_none());
        let mixed = Classes::TEXT.and(Classes::of(Class::Float));
        assert!(of_columns(Classes::TEXT, &[field], &[mixed]).is_none());
        // Numbers that are rounded are one key in all forms.
        let rounded: Field = "a:round".parse().unwrap();
        let float = Classes::of(Class::Float);
        assert!(of_columns(Classes::TEXT, &[rounded], &[float]).is_none());
    }
}
