//! What the first row of a text tells about its delimiter, and where that leaves a doubt.

use tamis::key::Column;

use super::binary::LOOKED_THROUGH;
use super::cursor::{Quotes as Marks, closing_quote};
use super::detect::BadFormat;
use super::doubt::Doubt;
use super::options::{Delimiter, Options, Quotes};
use super::{columns, delimited, lines, log};

/// Delimiters that text may have of which nothing is said.
const CANDIDATES: [u8; 5] = *b"\t,;| ";

/// The delimiter of a text, by its header alone: all that is asked is there. Where several serve, that is
/// a doubt. What is called CSV (`declared`) has commas, unless its header has none, or another cuts it into
/// as many columns or more.
pub(super) fn by_header(
    text: &[u8],
    options: &Options,
    declared: bool,
    asked: &[Column],
) -> Result<Delimiter, BadFormat> {
    let names = |byte: u8| -> Vec<String> {
        let names = cut(text, options, byte);
        names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    };
    let comma = names(b',');
    let rivals = if declared { rivals(text, options) } else { Vec::new() };
    if declared && comma.len() > 1 && rivals.is_empty() {
        return Ok(b','.into());
    }
    let splits = |byte: &u8| names(*byte).len() > 1;
    let serves = |byte: &u8| splits(byte) && columns::find(asked, &names(*byte)).is_ok();
    let candidates = &CANDIDATES[..4];
    let possible = |byte: &&u8| comma.len() <= 1 || !declared || **byte == b',' || rivals.contains(byte);
    let serving: Vec<u8> = candidates.iter().filter(possible).copied().filter(serves).collect();
    match serving[..] {
        // Where commas cut it as well, another is not taken unsaid.
        [only] if only == b',' || !declared || comma.len() <= 1 => Ok(only.into()),
        // Nothing serves: for the message, and for a table of one column.
        [] => {
            let first = lines::first_but(text, options.comment);
            if !declared && columns::find(asked, &comma).is_err() && log::first_value(first, asked).is_some()
            {
                return Err(BadFormat::Doubt(Doubt::of_line(first, options, asked, &[], false)));
            }
            let seen = candidates.iter().copied().find(|byte| !declared && splits(byte));
            Ok(seen.filter(|_| columns::find(asked, &comma).is_err()).unwrap_or(b',').into())
        }
        _ => Err(BadFormat::Doubt(Doubt::of_line(
            lines::first_but(text, options.comment),
            options,
            asked,
            &serving,
            false,
        ))),
    }
}

/// Whether a quote is left open in the first line, cut by another delimiter than the comma: the row may go
/// on below it. Where it does so by commas, no other is looked for below its end.
pub(super) fn goes_on(text: &[u8], options: &Options) -> bool {
    let open = |byte: u8| is_open(text, options, byte);
    by_commas(text, options).is_none() && CANDIDATES[..4].iter().any(|&byte| open(byte))
}

/// Whether a quote is left open in the first line, cut by this delimiter.
fn is_open(text: &[u8], options: &Options, delimiter: u8) -> bool {
    let line = lines::first_but(text, options.comment);
    delimited::cut(line, options.dialect(delimiter.into())).open.is_some()
}

/// Where a first row of several lines ends, if it is one by commas.
fn by_commas(text: &[u8], options: &Options) -> Option<usize> {
    let row = || delimited::first_row(text, options.dialect(b','.into()), true, &mut 0);
    is_open(text, options, b',').then(row)?.ok()?.map(|(_, end)| end)
}

/// The fields of the first row, cut by this delimiter; none where it cannot be. However much of a text is
/// there, the same of it is looked at: by commas its first row, by another no more than tells what it is.
fn cut(text: &[u8], options: &Options, delimiter: u8) -> Vec<Vec<u8>> {
    let text = match delimiter {
        b',' => text,
        _ => &text[..by_commas(text, options).unwrap_or(text.len().min(LOOKED_THROUGH))],
    };
    match delimited::first_row(text, options.dialect(delimiter.into()), true, &mut 0) {
        Ok(Some((fields, _))) => fields,
        _ => Vec::new(),
    }
}

/// The delimiters that cut the first row of text which is called CSV into as many fields as commas do, or
/// more: one comma in a name (`id;price (EUR,net)`) does not make a table of it.
fn rivals(text: &[u8], options: &Options) -> Vec<u8> {
    others(text, options, cut(text, options, b',').len().max(2))
}

/// Whether another delimiter cuts it at all: it is said then that commas were taken.
pub(super) fn cuts_otherwise(text: &[u8], options: &Options) -> bool {
    !others(text, options, 2).is_empty()
}

/// The delimiters but the comma that cut the first row into this many fields or more. What commas leave
/// within quotes cuts nothing.
fn others(text: &[u8], options: &Options, least: usize) -> Vec<u8> {
    let quoted = options.quotes.unwrap_or(Quotes::Csv) == Quotes::Csv;
    let line = lines::first_but(text, options.comment);
    let rules_out = |byte: u8| quoted && quotes_are_whole(line, b',') && !quotes_are_whole(line, byte);
    let others = CANDIDATES[..4].iter().copied().filter(|byte| *byte != b',');
    others.filter(|&byte| cut(text, options, byte).len() >= least && !rules_out(byte)).collect()
}

/// Whether a line, cut by this delimiter, has quotes only around whole fields.
fn quotes_are_whole(line: &[u8], delimiter: u8) -> bool {
    let (mut at, mut fresh) = (0, true);
    while let Some(&byte) = line.get(at) {
        match byte {
            b'"' if fresh => {
                match closing_quote(line, &mut Marks::new(line, at + 1)) {
                    Some((close, _)) if line.get(close + 1).is_none_or(|&next| next == delimiter) => {
                        at = close
                    }
                    _ => return false,
                }
                fresh = false;
            }
            b'"' => return false,
            byte => fresh = byte == delimiter,
        }
        at += 1;
    }
    true
}

/// Refuses text of which the recorded delimiter does not make what is asked, and another does.
pub(super) fn refuse_contradicted(
    text: &[u8],
    options: &Options,
    recorded: Delimiter,
    asked: &[Column],
) -> Result<(), BadFormat> {
    let serves = |delimiter: Delimiter| {
        let line = lines::first_but(text, options.comment);
        let fields = match delimited::first_row(line, options.dialect(delimiter), true, &mut 0) {
            Ok(Some((fields, _))) => fields,
            _ => return false,
        };
        let names = fields.iter().enumerate().map(|(i, field)| match options.no_header {
            true => (i + 1).to_string(),
            false => String::from_utf8_lossy(field).into_owned(),
        });
        fields.len() > 1 && columns::find(asked, &names.collect::<Vec<_>>()).is_ok()
    };
    if serves(recorded) {
        return Ok(());
    }
    let others = CANDIDATES[..4].iter().map(|byte| Delimiter::Byte(*byte));
    let others: Vec<Delimiter> = others.filter(|other| *other != recorded && serves(*other)).collect();
    if others.is_empty() { Ok(()) } else { Err(BadFormat::Contradicted { recorded, others }) }
}

/// Refuses rows without a header, which are called CSV, that may have another delimiter.
pub(super) fn refuse_other_than_comma(
    text: &[u8],
    options: &Options,
    asked: &[Column],
) -> Result<(), BadFormat> {
    let first = lines::first_but(text, options.comment);
    let rivals = rivals(text, options);
    if rivals.is_empty() || cut(text, options, b',').is_empty() {
        return Ok(());
    }
    let choices: Vec<u8> = rivals.into_iter().chain([b',']).collect();
    Err(BadFormat::Doubt(Doubt::of_line(first, options, asked, &choices, false)))
}

/// Refuses a first line that tells spreadsheets the delimiter: it would be taken for the header.
pub(super) fn refuse_told(text: &[u8], options: &Options) -> Result<(), BadFormat> {
    let line = lines::first_but(text, options.comment);
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    match line.split_at_checked(4) {
        Some((sign, [delimiter])) if sign.eq_ignore_ascii_case(b"sep=") => {
            Err(BadFormat::Told(Delimiter::Byte(*delimiter)))
        }
        _ => Ok(()),
    }
}

/// Why a line could be cut in more than one way; none where it is one value however it is cut.
pub(super) fn doubt_in_line(line: &[u8]) -> Option<&'static str> {
    match line.iter().find(|byte| CANDIDATES.contains(byte)) {
        _ if line.first() == Some(&b'"') => Some("it begins with a quote"),
        Some(b'\t') => Some("it has a tab"),
        Some(b',') => Some("it has a comma"),
        Some(b';') => Some("it has a semicolon"),
        Some(b'|') => Some("it has a bar"),
        Some(_) => Some("it has a space"),
        None => None,
    }
}

/// Refuses text of which nothing is said, unless each line is one value however it is cut: the first
/// line here, the others as they come.
pub(super) fn refuse_undeclared(text: &[u8], options: &Options, asked: &[Column]) -> Result<(), BadFormat> {
    let first = lines::first_but(text, options.comment);
    let only_first = asked.iter().all(|column| matches!(column, Column::Line | Column::Number(1)));
    if first.is_empty() || (only_first && doubt_in_line(first).is_none()) {
        return Ok(());
    }
    // Most lists begin with a line about them.
    let below = match options.comment {
        None if first.starts_with(b"#") => lines::first_but(text, Some(b'#')),
        _ => b"",
    };
    let line = if below.is_empty() { first } else { below };
    let occurring: Vec<u8> = CANDIDATES.into_iter().filter(|byte| line.contains(byte)).collect();
    let doubt = Doubt::of_line(line, options, asked, &occurring, only_first);
    Err(BadFormat::Doubt(if below.is_empty() { doubt } else { doubt.below_a_comment() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opt;
    use crate::refusal::Opt;

    #[test]
    fn the_header_tells_the_delimiter_by_the_columns_that_are_asked() {
        let told = |text: &str, declared: bool, asked: &[&str]| {
            let asked: Vec<Column> =
                asked.iter().map(|name| name.parse::<tamis::key::Field>().unwrap().column).collect();
            by_header(text.as_bytes(), &Options::default(), declared, &asked)
        };
        let is = |byte: u8| Ok(Delimiter::Byte(byte));
        assert_eq!(told("id;price\n1;2,5\n", false, &["price"]), is(b';'));
        assert_eq!(told("a,b;id\nx", false, &["id"]), is(b';'));
        assert_eq!(told("a,b;id\nx", false, &["a"]), is(b','));
        assert_eq!(told("\"a;b\",c\nx", false, &["c"]), is(b','));
        assert_eq!(told("id\n1;2\n", false, &["id"]), is(b','), "a table of one column");
        assert_eq!(told("id\tx\n", false, &["y"]), is(b'\t'), "for the message");
        // What is called CSV has commas, unless its header has none.
        assert_eq!(told("a,b;c,d\n", true, &["c"]), is(b','));
        assert_eq!(told("id,n;m\n", true, &["id"]), is(b','), "no other has the column");
        for text in ["id,\"a;b\"\n", "id,name;alias,x\n", "\"x;y\",\"a;b\",c\n", "\"a \"\";\"\"\",b\n"] {
            assert_eq!(told(text, true, &["1"]), is(b','), "{text}");
        }
        assert_eq!(told("id;price\n1;2,5\n", true, &["1"]), is(b';'));
        assert_eq!(told("id|price\n", true, &["price"]), is(b'|'));
        assert_eq!(told("id\n1;2\n", true, &["1"]), is(b','));
        for (text, declared, asked, ways) in [
            ("id,a;id\n", false, "id", 2),
            ("a;b|c\n", true, "1", 2),
            ("id;price (EUR,net)\n1;2,5\n", true, "1", 2),
            ("id;price (EUR,net)\n1;2,5\n", true, "id", 1),
            ("id;\"EUR, net\"\n1;2,5\n", true, "id", 1),
            ("a,b;c\n", true, "c", 1),
            ("id\tn\ta, b\n", true, "2", 2),
        ] {
            let Err(BadFormat::Doubt(doubt)) = told(text, declared, &[asked]) else { panic!("{text}") };
            assert_eq!(doubt.choices.len(), ways, "{text}");
        }
    }

    #[test]
    fn text_of_which_nothing_is_said_is_refused_with_what_would_tell() {
        let doubt = |line: &str, asked: &[Column]| match refuse_undeclared(
            line.as_bytes(),
            &Options::default(),
            asked,
        )
        .unwrap_err()
        {
            BadFormat::Doubt(doubt) => doubt.choices,
            other => panic!("{other}"),
        };
        let choice = |option: Opt, word: &str, value: &str| (option.with(word), value.to_owned());
        let (first, second) = ([Column::Number(1)], [Column::Number(2)]);
        assert_eq!(
            doubt("1.2.3.4 - - \"GET, POST\"\n", &first),
            [
                choice(opt::DELIMITER, "space", "1.2.3.4"),
                choice(opt::DELIMITER, "comma", "1.2.3.4 - - \"GET"),
                choice(opt::FORMAT, "lines", "1.2.3.4 - - \"GET, POST\""),
            ]
        );
        assert_eq!(doubt("a,b\n", &second), [choice(opt::DELIMITER, "comma", "b")]);
        assert_eq!(
            doubt("# blocklist\n1.2.3.4,a b\n", &first),
            [
                choice(opt::DELIMITER, "comma", "1.2.3.4"),
                choice(opt::DELIMITER, "space", "1.2.3.4,a"),
                choice(opt::FORMAT, "lines", "1.2.3.4,a b")
            ]
        );
        assert_eq!(doubt(" a  b\n", &second), [choice(opt::DELIMITER, "whitespace", "b")]);
        assert_eq!(doubt("ab\n", &second), []);
        assert!(refuse_undeclared(b"ab\n", &Options::default(), &first).is_ok());
        assert!(refuse_undeclared(b"\n", &Options::default(), &second).is_ok());
        let long = "x".repeat(100) + ",y";
        assert!(doubt(&long, &first)[0].1.chars().count() == 41);
    }

    #[test]
    fn a_line_of_a_log_is_offered_to_be_read_as_one() {
        let line = "h - - [10/Oct/2025:13:55:36 -0700] \"GET /a,b HTTP/1.1\" 200 1\n";
        let offered = |asked: Column| {
            let asked = [asked];
            let refused = match asked[0] {
                Column::Name(_) => by_header(line.as_bytes(), &Options::default(), false, &asked).err(),
                _ => refuse_undeclared(line.as_bytes(), &Options::default(), &asked).err(),
            };
            match refused {
                Some(BadFormat::Doubt(doubt)) => Some(doubt.choices[0].clone()),
                _ => None,
            }
        };
        let log = |value: &str| Some((opt::FORMAT.with("log"), value.to_owned()));
        assert_eq!(offered(Column::Name("host".into())), log("h"));
        assert_eq!(offered(Column::Name("path".into())), log("/a,b"));
        assert_eq!(offered(Column::Name("agent".into())), log("-"));
        assert_eq!(offered(Column::Number(5)), log("GET /a,b HTTP/1.1"));
        assert_eq!(offered(Column::Name("city".into())), None);
    }

    #[test]
    fn a_csv_without_header_and_commas_is_a_doubt() {
        let refused =
            |text: &str| refuse_other_than_comma(text.as_bytes(), &Options::default(), &[Column::Number(1)]);
        for text in ["1;2\n3;4,5\n", "a;\"b\"", "1\t2\n", "a|b;c\n", "1;2,5\n", "1,2;3\n"] {
            assert!(refused(text).is_err(), "{text:?}");
        }
        for text in ["1,2;3,4\n", "a\nb;c\n", "\"a;b\"\nx;y\n", "1,\"2;3\"\n", "", "\n"] {
            assert!(refused(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn a_line_for_spreadsheets_is_no_header() {
        let told = |text: &str| refuse_told(text.as_bytes(), &Options::default());
        for text in ["sep=;\nid;n\n", "SEP=;\r\n", "\"sep=;\"\n"] {
            assert_eq!(told(text), Err(BadFormat::Told(Delimiter::Byte(b';'))), "{text:?}");
        }
        assert!(told("sep=,\n").is_err() && told("sep=\t\n").is_err());
        assert!(told("sep\n").is_ok() && told("sep=\n").is_ok() && told("sep=ab\n").is_ok());
    }
}
