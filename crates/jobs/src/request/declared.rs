//! What was declared about text, as files record it: the one place where that and the options of
//! reading become each other.

use tamis::about::Declared;
use tamis_read::refusal::{Given, Opt};
use tamis_read::{Delimiter, Format, Quotes};

use super::{Reading, Refusal};
use tamis_make::opt;

/// How inputs are read that are asked of a file, and why so.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beside {
    /// What is given and, where nothing is, what is recorded.
    pub reading: Reading,
    /// What is recorded and was not given.
    pub taken: Vec<Given>,
    /// What is recorded, and what was given instead.
    pub contradicted: Vec<(Given, Given)>,
}

impl Reading {
    /// What of it is declared about text, as files record it. Nothing that was recognised, or taken from
    /// another file, is.
    pub fn declared(&self) -> Declared {
        let text = |byte: u8| char::from(byte).to_string();
        let delimiter = self.delimiter.filter(|_| !self.recorded).map(|delimiter| match delimiter {
            Delimiter::Byte(byte) => text(byte),
            Delimiter::Whitespace => WHITESPACE.to_owned(),
        });
        Declared {
            delimiter,
            quotes: self.quotes.map(|quotes| quotes.name().to_owned()),
            header: header(self),
            comment: self.comment.map(text),
            ..Declared::default()
        }
    }

    /// How inputs are read that are asked of a file in which this is recorded. What is given counts more
    /// than that; of tables with types of their own and of NDJSON nothing is recorded.
    pub fn beside(&self, recorded: &Declared) -> Result<Beside, Refusal> {
        let mut beside = Beside { reading: self.clone(), ..Beside::default() };
        if matches!(self.format, Some(Format::Parquet | Format::Ndjson)) {
            return Ok(beside);
        }
        // Neither has fields that could be declared.
        let lines = matches!(self.format, Some(Format::Lines | Format::Log));
        let reading = &mut beside.reading;
        let mut settled = Settled { taken: &mut beside.taken, contradicted: &mut beside.contradicted };
        if let (Some(Format::Lines), Some(text)) = (self.format, recorded.delimiter.as_deref()) {
            let given = opt::FORMAT.with(Format::Lines.name());
            let was = delimiter(text).map_or_else(|| opt::DELIMITER.with(text), shown);
            settled.contradicted.push((was, given));
        }
        if !lines {
            // The name of the format says what separates its values.
            let implied = (self.format == Some(Format::Tsv)).then_some(Delimiter::Byte(b'\t'));
            let given = match (self.delimiter, implied) {
                (Some(delimiter), _) => Some((delimiter, shown(delimiter))),
                (None, Some(delimiter)) => Some((delimiter, opt::FORMAT.with(Format::Tsv.name()))),
                (None, None) => None,
            };
            if let Some(delimiter) =
                settled.settle(opt::DELIMITER, recorded.delimiter.as_deref(), given, delimiter, shown)?
            {
                (reading.delimiter, reading.recorded) = (Some(delimiter), true);
            }
            let read = |text: &str| Quotes::ALL.into_iter().find(|quotes| quotes.name() == text);
            let given = self.quotes.map(|quotes| (quotes, quoted(quotes)));
            let quotes = settled.settle(opt::QUOTES, recorded.quotes.as_deref(), given, read, quoted)?;
            reading.quotes = quotes.or(self.quotes);
            let named = |has: bool| Given::from(if has { opt::WITH_HEADER } else { opt::NO_HEADER });
            match (recorded.header, header(self)) {
                (Some(has), None) => {
                    (reading.with_header, reading.no_header) = (has, !has);
                    settled.taken.push(named(has));
                }
                (Some(has), Some(given)) if has != given => {
                    settled.contradicted.push((named(has), named(given)));
                }
                _ => {}
            }
        }
        let given = self.comment.map(|sign| (sign, commented(sign)));
        let comment = settled.settle(opt::COMMENT, recorded.comment.as_deref(), given, byte, commented)?;
        reading.comment = comment.or(self.comment);
        Ok(beside)
    }
}

/// The delimiter that is no byte.
const WHITESPACE: &str = "whitespace";

/// The delimiter that is written so.
fn delimiter(text: &str) -> Option<Delimiter> {
    match text {
        WHITESPACE => Some(Delimiter::Whitespace),
        _ => byte(text).map(Delimiter::Byte),
    }
}

/// What becomes of recorded values.
struct Settled<'a> {
    taken: &'a mut Vec<Given>,
    contradicted: &'a mut Vec<(Given, Given)>,
}

impl Settled<'_> {
    /// The recorded value, where none is given. One that is not known is refused only where it is needed.
    fn settle<T: Copy + PartialEq>(
        &mut self,
        option: Opt,
        recorded: Option<&str>,
        given: Option<(T, Given)>,
        read: impl Fn(&str) -> Option<T>,
        show: impl Fn(T) -> Given,
    ) -> Result<Option<T>, Refusal> {
        let Some(text) = recorded else { return Ok(None) };
        match (read(text), given) {
            (None, None) => Err(Refusal::UnknownDialect(option.with(text))),
            (None, Some((_, shown))) => {
                self.contradicted.push((option.with(text), shown));
                Ok(None)
            }
            (Some(value), None) => {
                self.taken.push(show(value));
                Ok(Some(value))
            }
            (Some(value), Some((given, shown))) => {
                if value != given {
                    self.contradicted.push((show(value), shown));
                }
                Ok(None)
            }
        }
    }
}

/// What is given of a header.
fn header(reading: &Reading) -> Option<bool> {
    match (reading.with_header, reading.no_header) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// The byte whose number is that of the one character.
fn byte(text: &str) -> Option<u8> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(char), None) => u8::try_from(char).ok(),
        _ => None,
    }
}

fn shown(delimiter: Delimiter) -> Given {
    opt::DELIMITER.with(delimiter.name().map_or_else(|| delimiter.to_string(), str::to_owned))
}

fn quoted(quotes: Quotes) -> Given {
    opt::QUOTES.with(quotes.name())
}

fn commented(sign: u8) -> Given {
    opt::COMMENT.with(format!("{:?}", char::from(sign)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn semicolons() -> Reading {
        Reading {
            delimiter: Some(Delimiter::Byte(b';')),
            quotes: Some(Quotes::None),
            no_header: true,
            comment: Some(b'#'),
            ..Reading::default()
        }
    }

    #[test]
    fn what_is_declared_is_the_default_of_who_asks() {
        let recorded = semicolons().declared();
        let json = serde_json::to_string(&recorded).unwrap();
        assert_eq!(json, r##"{"delimiter":";","quotes":"none","header":false,"comment":"#"}"##);
        let beside = Reading::default().beside(&recorded).unwrap();
        assert_eq!(beside.reading, Reading { recorded: true, ..semicolons() });
        assert_eq!((beside.taken.len(), beside.contradicted.len()), (4, 0));
        // Given as well: the same, and nobody's default.
        assert_eq!(semicolons().beside(&recorded).unwrap().reading, semicolons());
        assert!(Reading::default().declared().is_empty());
    }

    #[test]
    fn what_is_given_counts_more_and_a_contradiction_is_told() {
        let recorded = semicolons().declared();
        let given = Reading {
            delimiter: Some(Delimiter::Whitespace),
            with_header: true,
            quotes: Some(Quotes::None),
            ..Reading::default()
        };
        let beside = given.beside(&recorded).unwrap();
        assert_eq!(beside.reading, Reading { comment: Some(b'#'), ..given });
        assert_eq!(beside.taken, [opt::COMMENT.with("'#'")]);
        assert_eq!(
            beside.contradicted,
            [
                (opt::DELIMITER.with("semicolon"), opt::DELIMITER.with("whitespace")),
                (opt::NO_HEADER.into(), opt::WITH_HEADER.into())
            ]
        );
        let tsv = Reading { format: Some(Format::Tsv), ..Reading::default() }.beside(&recorded).unwrap();
        assert_eq!(tsv.reading.delimiter, None);
        assert_eq!(tsv.contradicted, [(opt::DELIMITER.with("semicolon"), opt::FORMAT.with("tsv"))]);
    }

    #[test]
    fn formats_that_are_no_tables_of_text_take_nothing_of_it() {
        let recorded = semicolons().declared();
        let of = |format| Reading { format: Some(format), ..Reading::default() };
        for format in [Format::Parquet, Format::Ndjson] {
            let beside = of(format).beside(&recorded).unwrap();
            assert_eq!((beside.reading, beside.taken), (of(format), vec![]));
        }
        let lines = of(Format::Lines).beside(&recorded).unwrap().reading;
        assert_eq!(lines, Reading { comment: Some(b'#'), ..of(Format::Lines) });
    }

    #[test]
    fn every_byte_is_recorded_and_what_a_later_program_records_is_refused_where_it_is_needed() {
        for byte in [0, b'\t', 0x80, 0xff] {
            let reading = Reading { delimiter: Some(Delimiter::Byte(byte)), ..Reading::default() };
            let beside = Reading::default().beside(&reading.declared()).unwrap();
            assert_eq!(beside.reading.delimiter, reading.delimiter);
        }
        for (recorded, option) in [
            (Declared { delimiter: Some("::".into()), ..Declared::default() }, opt::DELIMITER),
            (Declared { quotes: Some("sql".into()), ..Declared::default() }, opt::QUOTES),
            (Declared { comment: Some("//".into()), ..Declared::default() }, opt::COMMENT),
        ] {
            match Reading::default().beside(&recorded) {
                Err(Refusal::UnknownDialect(given)) => assert_eq!(given.option, option),
                other => panic!("{other:?}"),
            }
            let beside = semicolons().beside(&recorded).unwrap();
            assert_eq!((beside.reading, beside.contradicted.len()), (semicolons(), 1));
        }
    }
}
