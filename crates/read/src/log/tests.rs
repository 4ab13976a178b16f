use proptest::prelude::*;

use super::*;

const LINE: &str = r#"203.0.113.7 - ann [10/Oct/2025:13:55:36 -0700] "GET /a?b=1 HTTP/1.1" 200 2326 "https://x.org/" "Mozilla/5.0 (a \"b\")""#;

/// The values of a line, or what is wrong with it.
type Values = Result<Vec<Option<Vec<u8>>>, BadRow>;

/// Takes the values of one line, or what is wrong with it.
#[derive(Default)]
struct Taken(Option<Values>);

impl Sink for Taken {
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        self.0 = Some(Ok(values.iter().map(|value| value.map(<[u8]>::to_vec)).collect()));
        Ok(())
    }

    fn bad_row(&mut self, _: Range<usize>, why: BadRow) -> RowResult {
        self.0 = Some(Err(why));
        Ok(())
    }
}

/// Takes all lines: where each is, and its values or what is wrong with it.
#[derive(Default)]
struct All(Vec<(Range<usize>, Values)>);

impl Sink for All {
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        let values = values.iter().map(|value| value.map(<[u8]>::to_vec)).collect();
        self.0.push((place, Ok(values)));
        Ok(())
    }

    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        self.0.push((place, Err(why)));
        Ok(())
    }
}

fn bytes_of(line: &[u8], columns: &[&str]) -> Values {
    let asked: Vec<Column> =
        columns.iter().map(|name| name.parse::<tamis::key::Field>().unwrap().column).collect();
    let (mut made, mut taken) = (Made::default(), Taken::default());
    Fields::new(&asked).unwrap().row(line, Marks::default(), 0..line.len(), &mut made, &mut taken).unwrap();
    taken.0.unwrap()
}

fn of(line: &str, columns: &[&str]) -> Result<Vec<Option<String>>, BadRow> {
    let text = |value: Vec<u8>| String::from_utf8(value).unwrap();
    Ok(bytes_of(line.as_bytes(), columns)?.into_iter().map(|value| value.map(text)).collect())
}

fn wrong(line: &str) -> (usize, &'static str) {
    match of(line, &["host", "agent"]) {
        Err(BadRow::NotALog { field, fault, .. }) => (field, fault),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn every_field_has_a_name_and_a_number() {
    for (column, value) in [
        ("host", "203.0.113.7"),
        ("1", "203.0.113.7"),
        ("user", "ann"),
        ("time", "10/Oct/2025:13:55:36 -0700"),
        ("request", "GET /a?b=1 HTTP/1.1"),
        ("method", "GET"),
        ("target", "/a?b=1"),
        ("path", "/a"),
        ("query", "b=1"),
        ("protocol", "HTTP/1.1"),
        ("status", "200"),
        ("bytes", "2326"),
        ("referer", "https://x.org/"),
        ("agent", "Mozilla/5.0 (a \"b\")"),
        ("9", "Mozilla/5.0 (a \"b\")"),
    ] {
        let got = of(LINE, &[column, "host"]).unwrap();
        assert_eq!(got, [Some(value.to_owned()), Some("203.0.113.7".into())], "{column}");
    }
    assert_eq!(of(LINE, &["ident"]).unwrap(), [None], "a dash is no value");
    let common = LINE.split(" \"https").next().unwrap();
    assert_eq!(of(common, &["status", "agent"]).unwrap(), [Some("200".into()), None]);
    let longer = format!("{LINE} 0.012 \"10.0.0.1\"");
    assert_eq!(of(&longer, &["10", "11"]).unwrap(), [Some("0.012".into()), Some("10.0.0.1".into())]);
    assert_eq!(of(&longer, &["12", "16"]).unwrap(), [None, None]);
}

#[test]
fn more_values_than_lie_on_the_stack_are_given_too() {
    let columns = ["agent", "host", "referer", "9", "agent", "user", "status", "agent", "time", "request"];
    let got = of(LINE, &columns).unwrap();
    assert_eq!(got.len(), 10);
    for (column, value) in columns.iter().zip(got) {
        assert_eq!(of(LINE, &[column]).unwrap(), [value], "{column}");
    }
}

#[test]
fn columns_that_no_log_has_are_refused() {
    let refused = |column: Column| Fields::new(&[column]).unwrap_err();
    for number in [0, 17, usize::MAX] {
        assert_eq!(refused(Column::Number(number)), NoColumn::NumberInLog { number, most: MOST });
    }
    let why = refused(Column::Name("Agent".into())).to_string();
    assert!(why.contains("did you mean \"agent\"?") && why.contains("14 columns"), "{why}");
}

#[test]
fn escapes_of_both_servers_are_taken_back() {
    for (agent, value) in [
        (r#"a\"b"#, "a\"b"),
        (r"a\\", "a\\"),
        (r"\x22\x09x", "\"\tx"),
        (r"\t\n", "\t\n"),
        (r"\q\x2", r"\q\x2"),
        (r#"\""#, "\""),
        ("a,b\tc", "a,b\tc"),
    ] {
        let line = LINE.replace(r#"Mozilla/5.0 (a \"b\")"#, agent);
        assert_eq!(of(&line, &["agent"]).unwrap(), [Some(value.to_owned())], "{agent}");
    }
}

#[test]
fn what_no_server_writes_is_a_bad_row_that_says_which_field_is_wrong() {
    let timed = "203.0.113.7 - - [10/Oct/2025:13:55:36 -0700]";
    for (line, field, fault) in [
        ("", 1, "is missing"),
        ("a,b,c", 2, "is missing"),
        ("203.0.113.7 - -", 4, "is missing"),
        ("203.0.113.7 - - nothing", 4, "does not begin with ["),
        ("203.0.113.7 - - [10/Oct/2025", 4, "does not end with ]"),
        ("203.0.113.7 - - [10/Oct/2025]x", 4, "goes on after its closing ]"),
        (timed, 5, "is missing"),
        (&format!("{timed} GET / 200 1"), 5, "does not begin with a quote"),
        (&format!("{timed} \"GET / 200 1"), 5, "opens a quote that does not close in this line"),
        (&format!("{timed} \"GET /\"x 200 1"), 5, "goes on after its closing quote"),
        (&format!("{timed} \"GET /\\"), 5, "opens a quote that does not close in this line"),
        ("1.1.1.1 - - [10/Oct/2025:13:55:3] -0700] \"GET /\" 200 1", 5, "does not begin with a quote"),
        (&format!("{timed} \"GET /\" 200"), 7, "is missing"),
        (&format!("{timed} \"GET /a\" b HTTP/1.1\" 200 1 \"-\" \"x\""), 6, "is not a number"),
        (&format!("{timed} \"GET /\" 200 1x \"-\" \"x\""), 7, "is not a number"),
        (&format!("{timed} \"GET /\" 200 1 \"-\" \"\"\""), 9, "goes on after its closing quote"),
        (&format!("{timed} \"GET /\" 200 1 \"-\" \""), 9, "opens a quote that does not close in this line"),
        // One more field at the beginning, as some servers write for several names.
        (&format!("x.org:80 {timed} \"GET /\" 200 1"), 4, "does not begin with ["),
    ] {
        assert_eq!(wrong(line), (field, fault), "{line}");
    }
    // What clients send as a request need not be one.
    let line = LINE.replace("GET /a?b=1 HTTP/1.1", r"\x16\x03\x01");
    assert_eq!(of(&line, &["method", "request"]).unwrap(), [None, Some("\u{16}\u{3}\u{1}".into())]);
    for nothing in ["-", ""] {
        let line = LINE.replace("GET /a?b=1 HTTP/1.1", nothing);
        assert_eq!(of(&line, &["path", "request", "status"]).unwrap(), [None, None, Some("200".into())]);
    }
}

#[test]
fn the_name_of_a_user_may_have_blanks_and_brackets() {
    for user in ["ann lee", "a [b", "a [10/Oct/2024:00:00:00 +0000]", "a [b] c", "] [", " ", "a "] {
        let line = LINE.replace("ann", user);
        let got = of(&line, &["user", "time", "status"]).unwrap();
        let wanted = [user, "10/Oct/2025:13:55:36 -0700", "200"];
        assert_eq!(got, wanted.map(|text| Some(text.to_owned())), "{user:?}");
    }
}

#[test]
fn the_time_of_a_line_is_the_moment_with_its_zone() {
    let time = bytes_of(LINE.as_bytes(), &["time"]).unwrap();
    let moment = crate::calendar::moment(time[0].as_ref().unwrap(), None);
    assert_eq!(moment, crate::calendar::moment(b"2025-10-10T20:55:36Z", None));
    assert!(moment.is_some());
}

/// As Apache writes what clients send.
fn by_apache(text: &[u8]) -> Vec<u8> {
    let escape = |&byte: &u8| match byte {
        b'"' => b"\\\"".to_vec(),
        b'\\' => b"\\\\".to_vec(),
        b'\n' => b"\\n".to_vec(),
        b'\r' => b"\\r".to_vec(),
        b'\t' => b"\\t".to_vec(),
        8 => b"\\b".to_vec(),
        11 => b"\\v".to_vec(),
        32..127 => vec![byte],
        _ => format!("\\x{byte:02x}").into_bytes(),
    };
    text.iter().flat_map(escape).collect()
}

/// As nginx does.
fn by_nginx(text: &[u8]) -> Vec<u8> {
    let escape = |&byte: &u8| match byte {
        b'"' | b'\\' | 0..32 | 127.. => format!("\\x{byte:02X}").into_bytes(),
        _ => vec![byte],
    };
    text.iter().flat_map(escape).collect()
}

fn agent() -> impl Strategy<Value = Vec<u8>> {
    let odd = prop::sample::select(&b"\"\\xn[] \t\n-,'2\xff"[..]);
    prop::collection::vec(prop_oneof![odd, any::<u8>()], 0..40)
}

proptest! {
    #[test]
    fn what_clients_send_comes_back(agent in agent(), referer in agent()) {
        for escape in [by_apache, by_nginx] {
            let mut line = LINE.split(" \"https").next().unwrap().as_bytes().to_vec();
            for sent in [&referer, &agent] {
                line.extend_from_slice(b" \"");
                line.extend(escape(sent));
                line.push(b'"');
            }
            let value = |sent: &Vec<u8>| (!sent.is_empty() && sent != b"-").then(|| sent.clone());
            let got = bytes_of(&line, &["agent", "host", "referer"]).unwrap();
            prop_assert_eq!(got, vec![value(&agent), Some(b"203.0.113.7".to_vec()), value(&referer)]);
        }
    }

    #[test]
    fn lines_are_read_alike_with_and_without_a_list_of_their_quotes(
        lines in prop::collection::vec((agent(), agent(), 0..6usize, 0..200usize, any::<u8>()), 1..8),
        columns in prop::sample::subsequence(vec!["host", "user", "time", "path", "status", "bytes", "referer", "agent", "10"], 1..4),
        long in 0..3usize,
        end in prop::sample::select(&["", "\n", "\r\n"][..]),
    ) {
        let mut text = Vec::new();
        for (i, (referer, agent, change, at, byte)) in lines.iter().enumerate() {
            let mut line = LINE.split(" \"https").next().unwrap().as_bytes().to_vec();
            for sent in [referer, agent] {
                // Most clients send nothing that is escaped.
                let sent: Vec<u8> = if *change > 0 { sent.iter().map(|byte| b'a' + byte % 26).collect() } else { by_apache(sent) };
                line.extend([&b" \""[..], &sent, b"\""].concat());
            }
            let at = at % line.len();
            match change {
                1 => line[at] = *byte,
                2 => line.truncate(at),
                3 => line.insert(at, b"\" \\]"[usize::from(*byte) % 4]),
                4 if i == 0 => line.extend(vec![b'x'; long * 700_000]),
                _ => {}
            }
            text.extend(line);
            text.extend(if i + 1 < lines.len() { b"\n" } else { end.as_bytes() });
        }
        let asked: Vec<Column> =
            columns.iter().map(|name| name.parse::<tamis::key::Field>().unwrap().column).collect();
        let fields = Fields::new(&asked).unwrap();
        let dialect = Dialect { delimiter: b' '.into(), quotes: crate::Quotes::None, comment: Some(b'#') };
        let (mut with, mut without) = (All::default(), All::default());
        rows(&text, dialect, &fields, &mut with, &mut 0).unwrap();
        lines::each(&text, |line, place| {
            if line[0] == b'#' { return Ok(()) }
            fields.row(line, Marks::default(), place, &mut Made::default(), &mut without)
        }).unwrap();
        prop_assert_eq!(with.0, without.0);
    }

    #[test]
    fn any_line_is_read_or_refused(line in prop::collection::vec(any::<u8>(), 0..80), cut in 0..150usize) {
        let _ = bytes_of(&line, &["agent", "path", "16"]);
        let _ = bytes_of(&LINE.as_bytes()[..cut.min(LINE.len())], &["agent", "query", "16"]);
    }
}
