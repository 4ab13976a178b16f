//! What remains of Markdown without markup.
//!
//! A text is gone through once, line by line. Where markup is not closed in its line, it is text.

use memchr::memchr;

use super::{entities, html};

/// The text of a document.
pub(crate) fn text(document: &[u8]) -> Vec<u8> {
    let mut reader =
        Reader { text: document, out: Vec::with_capacity(document.len() + 1), open_comment: false };
    let (mut at, mut fence) = (0, None);
    while at < document.len() {
        let end = line_end(document, at);
        let line = &document[at..end];
        match (fence, fence_of(line)) {
            (Some(open), Some(close)) if closes(open, close) => fence = None,
            (Some(_), _) => reader.out.extend_from_slice(line),
            (None, Some(open)) => fence = Some(open),
            (None, None) if is_rule(line) || is_definition(line) => {}
            (None, None) => {
                at = reader.inline(at + prefix(line), end);
                reader.out.push(b'\n');
                continue;
            }
        }
        reader.out.push(b'\n');
        at = end + 1;
    }
    reader.out
}

fn line_end(text: &[u8], at: usize) -> usize {
    memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length)
}

/// The sign and the length of the fence that a line is, and whether something follows it.
fn fence_of(line: &[u8]) -> Option<(u8, usize, bool)> {
    let line = line.trim_ascii();
    let sign = *line.first().filter(|sign| matches!(sign, b'`' | b'~'))?;
    let length = line.iter().take_while(|&&byte| byte == sign).count();
    // A code span may begin a line.
    let is_span = sign == b'`' && line[length..].contains(&b'`');
    (length >= 3 && !is_span).then_some((sign, length, line.len() > length))
}

fn closes(open: (u8, usize, bool), close: (u8, usize, bool)) -> bool {
    close.0 == open.0 && close.1 >= open.1 && !close.2
}

/// Whether a line is drawn, or underlines a heading.
fn is_rule(line: &[u8]) -> bool {
    let mut signs = line.iter().filter(|byte| !byte.is_ascii_whitespace());
    let first = signs.next();
    first.is_some_and(|sign| b"=-*_".contains(sign) && signs.all(|other| other == sign))
}

/// Whether a line says where links lead: `[label]: destination`. The text of a footnote is text.
fn is_definition(line: &[u8]) -> bool {
    let label = line.trim_ascii_start().strip_prefix(b"[").filter(|label| !label.starts_with(b"^"));
    let after = label.and_then(|label| Some(&label[memchr(b']', label)? + 1..]));
    after.and_then(|after| after.strip_prefix(b":")).is_some_and(|to| !to.trim_ascii().is_empty())
}

/// The length of what marks a line as a quotation, an entry of a list or a heading.
fn prefix(line: &[u8]) -> usize {
    let is_blank = |at: usize| line.get(at).is_none_or(u8::is_ascii_whitespace);
    let run = |from: usize, is: fn(&u8) -> bool| line[from..].iter().take_while(|byte| is(byte)).count();
    let mut at = 0;
    loop {
        at += run(at, u8::is_ascii_whitespace);
        let digits = run(at, u8::is_ascii_digit);
        at += match line.get(at) {
            Some(b'>') => 1,
            Some(b'-' | b'*' | b'+') if is_blank(at + 1) => 1,
            Some(b'0'..=b'9')
                if digits < 10
                    && matches!(line.get(at + digits), Some(b'.' | b')'))
                    && is_blank(at + digits + 1) =>
            {
                digits + 1
            }
            _ => break,
        };
    }
    let heading = run(at, |&byte| byte == b'#');
    at + if (1..=6).contains(&heading) && is_blank(at + heading) { heading } else { 0 }
}

struct Reader<'t> {
    text: &'t [u8],
    out: Vec<u8>,
    /// Whether a comment was met that never ends, so that none after it does.
    open_comment: bool,
}

/// What is not to be found any more before a line ends.
#[derive(Default)]
struct Missing {
    parenthesis: bool,
    bracket: bool,
    angle: bool,
}

impl Reader<'_> {
    /// Takes the text from here to the end of the line, or to that of a line into which a comment or a
    /// script leads; where the next line begins.
    fn inline(&mut self, mut at: usize, mut end: usize) -> usize {
        let mut missing = Missing::default();
        while at < end {
            let is_plain = |byte: &&u8| !b"\\`*~]<&".contains(byte);
            let plain = self.text[at..end].iter().take_while(is_plain).count();
            self.out.extend_from_slice(&self.text[at..at + plain]);
            at += plain;
            if at == end {
                break;
            }
            let line = &self.text[at..end];
            at += match line[0] {
                b'\\' => self.escape(line),
                b'`' => self.code(line),
                b'*' => self.star(at, end),
                b'~' if line.starts_with(b"~~") => 2,
                b']' => self.bracket(line, &mut missing),
                b'<' => self.angle(at, line, &mut missing),
                b'&' => entities::take(line, &mut self.out),
                other => {
                    self.out.push(other);
                    1
                }
            };
            if at > end {
                // A comment or a script led into another line.
                end = line_end(self.text, at);
                missing = Missing::default();
            }
        }
        end + 1
    }

    /// A backslash makes an ordinary character of the sign after it.
    fn escape(&mut self, line: &[u8]) -> usize {
        match line.get(1).filter(|next| next.is_ascii_punctuation()) {
            Some(&next) => {
                self.out.push(next);
                2
            }
            None => {
                self.out.push(b'\\');
                1
            }
        }
    }

    /// Code stays as it is, to as many backticks as it began with, or to the end of the line.
    fn code(&mut self, line: &[u8]) -> usize {
        let run = |from: usize| line[from..].iter().take_while(|&&byte| byte == b'`').count();
        let open = run(0);
        let mut at = open;
        while let Some(next) = memchr(b'`', &line[at..]) {
            self.out.extend_from_slice(&line[at..at + next]);
            at += next;
            let close = run(at);
            if close == open {
                return at + close;
            }
            self.out.extend_from_slice(&line[at..at + close]);
            at += close;
        }
        self.out.extend_from_slice(&line[at..]);
        line.len()
    }

    /// Stars emphasise, unless blanks are around them.
    fn star(&mut self, at: usize, end: usize) -> usize {
        let length = self.text[at..end].iter().take_while(|&&byte| byte == b'*').count();
        let blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
        if blank(self.out.last()) && blank(self.text.get(at + length)) {
            self.out.extend_from_slice(&self.text[at..at + length]);
        }
        length
    }

    /// After the text of a link its destination, or the label of one, is dropped.
    fn bracket(&mut self, line: &[u8], missing: &mut Missing) -> usize {
        self.out.push(b']');
        let (close, missing) = match line.get(1) {
            Some(b'(') => (b')', &mut missing.parenthesis),
            Some(b'[') => (b']', &mut missing.bracket),
            _ => return 1,
        };
        if *missing {
            return 1;
        }
        match memchr(close, &line[1..]) {
            Some(length) => length + 2,
            None => {
                *missing = true;
                1
            }
        }
    }

    /// Tags and comments are dropped as those of HTML, where they end.
    fn angle(&mut self, at: usize, line: &[u8], missing: &mut Missing) -> usize {
        if line.starts_with(b"<!--") && !self.open_comment {
            match html::comment(&self.text[at..]) {
                Some(length) => return length,
                None => self.open_comment = true,
            }
        }
        let name = html::tag_name(line).filter(|name| !name.contains(&b':') && !missing.angle);
        if let Some(name) = name {
            match memchr(b'>', line) {
                Some(close) => {
                    let silent = html::silent_length(line, name, &self.text[at + close + 1..]);
                    let markup =
                        html::Markup { length: close + 1 + silent, separates: html::separates(name) };
                    return markup.take(&mut self.out);
                }
                None => missing.angle = true,
            }
        }
        self.out.push(b'<');
        1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(document: &str) -> String {
        String::from_utf8(text(document.as_bytes())).unwrap()
    }

    #[test]
    fn markup_is_dropped_and_text_stays() {
        for (document, expected) in [
            ("# Space *aliens*", " Space aliens\n"),
            ("al**ien**s ~~not~~", "aliens not\n"),
            ("2 * 3 * 4", "2 * 3 * 4\n"),
            ("- one\n* two\n+ three\n10. four\n> > five", "one\ntwo\nthree\nfour\nfive\n"),
            ("#hashtag\n####### seven", "#hashtag\n####### seven\n"),
            ("Title\n=====\n\n---\n* * *", "Title\n\n\n\n\n"),
            ("see [the text](http://x.org/a \"title\") here", "see [the text] here\n"),
            ("![alt](pic.png) and [a][ref] [b] ![c][d]", "![alt] and [a] [b] ![c]\n"),
            ("[ref]: http://x.org \"Title\"\n[^1]: a note", "\n[^1]: a note\n"),
            ("array[index] f](x", "array[index] f](x\n"),
            ("`Vec<String>` ``a`b`` `open <b>", "Vec<String> a`b open <b>\n"),
            (
                "```rust\nlet a = \"<b>\"; // *x*\n```\nafter <b>x</b>",
                "\nlet a = \"<b>\"; // *x*\n\nafter x\n",
            ),
            ("~~~\n```\n~~~\nx", "\n```\n\nx\n"),
            ("a<br>b <span>c</span>d", "a b cd\n"),
            ("a <!-- b\nc --> d\ne", "a  d\ne\n"),
            ("a <script>\nb\n</script> c", "a   c\n"),
            ("1 < 2 <- <3 <b", "1 < 2 <- <3 <b\n"),
            ("<https://x.org/a> &amp; &eacute;", "<https://x.org/a> & é\n"),
            ("\\*not\\* \\a", "*not* \\a\n"),
            ("snake_case _emph_", "snake_case _emph_\n"),
            ("<!-- open *a*", "<!-- open a\n"),
            ("a\r\nb", "a\r\nb\n"),
        ] {
            assert_eq!(of(document), expected, "{document}");
        }
        assert_eq!(text(b"*\xff* \xfe"), b"\xff \xfe\n");
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_text_that_is_hardly_longer(document in prop::collection::vec(prop::sample::select(&b"<>!-/&;#`~*_[]()\\: \n\ra1script\xc3\xa9"[..]), 0..300)) {
            prop_assert!(text(&document).len() <= document.len() + 1);
        }

        #[test]
        fn plain_words_stay(document in "[a-zé ,.?\"']{0,80}") {
            let text = of(&document);
            prop_assert_eq!(text.trim(), document.trim());
        }
    }
}
