//! What remains of Markdown without markup.
//!
//! A text is gone through once, line by line. Code stays as it is: between fences or backticks, and indented.
//! Markup that is not closed in its line is text, and so is a comment that is not closed in its paragraph. So
//! nothing that a reader of the page sees is swallowed.

use memchr::memchr;

use super::places::Places;
use super::{entities, html};

/// The text of a document.
pub(crate) fn text(document: &[u8]) -> Vec<u8> {
    let mut reader =
        Reader { text: document, out: Vec::with_capacity(document.len() + 1), ..Reader::default() };
    let (mut at, mut fence, mut places) = (0, None, Places::default());
    while at < document.len() {
        let end = line_end(document, at);
        let line = &document[at..end];
        match (fence, fence_of(line)) {
            (Some(open), Some(close)) if closes(open, close) => fence = None,
            (Some(_), _) => reader.out.extend_from_slice(line),
            (None, _) if places.is_code(line) => reader.out.extend_from_slice(line),
            (None, Some(open)) => fence = Some(open),
            (None, None) if is_rule(line) || is_definition(line) => {}
            (None, None) => {
                let marks = prefix(line);
                places.follow(line, marks);
                let is_block = line[..marks].trim_ascii().is_empty() && !places.are_in_list();
                reader.block = is_block.then_some(at + marks);
                at = reader.inline(at + marks, end);
                reader.out.push(b'\n');
                continue;
            }
        }
        places.end_paragraph();
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

/// Whether a line says where links lead: `[label]: destination`, and mostly a title in quotes. The text of a
/// footnote is text.
fn is_definition(line: &[u8]) -> bool {
    let label = line.trim_ascii_start().strip_prefix(b"[").filter(|label| !label.starts_with(b"^"));
    let after = label.and_then(|label| Some(&label[memchr(b']', label)? + 1..]));
    let Some(to) = after.and_then(|after| after.strip_prefix(b":")) else { return false };
    let to = to.trim_ascii();
    let blank = to.iter().position(u8::is_ascii_whitespace).unwrap_or(to.len());
    match to[blank..].trim_ascii() {
        [] => !to.is_empty(),
        [b'"', .., b'"'] | [b'\'', .., b'\''] | [b'(', .., b')'] => true,
        _ => false,
    }
}

/// The length of the destination of a link, and mostly its title, with which a text begins, with the
/// parenthesis after it. Otherwise what was looked at: no link that begins therein has one, either.
fn destination(text: &[u8]) -> Result<usize, usize> {
    let run =
        |from: usize, is: fn(&u8) -> bool| from + text[from..].iter().take_while(|byte| is(byte)).count();
    let begin = run(0, u8::is_ascii_whitespace);
    let end = run(begin, |byte| !byte.is_ascii_whitespace() && *byte != b')');
    let after = run(end, u8::is_ascii_whitespace);
    match text.get(after) {
        Some(b')') => Ok(after + 1),
        Some(b'"' | b'\'' | b'(') => {
            memchr(b')', &text[after..]).map(|length| after + length + 1).ok_or(text.len())
        }
        _ => Err(after),
    }
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

#[derive(Default)]
struct Reader<'t> {
    text: &'t [u8],
    out: Vec<u8>,
    /// Where the line begins, if nothing marks it and it is in no list: there a comment or a script is a block of its own.
    block: Option<usize>,
    /// Where the paragraph ends that was last looked at.
    paragraph: usize,
    /// How far comments, scripts and styles are known not to end.
    unended: [usize; 3],
}

/// What is not to be found any more before a line ends.
#[derive(Default)]
struct Missing {
    angle: bool,
    /// No destination of a link begins before this place.
    destination: usize,
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
                b']' => self.bracket(at, line, &mut missing),
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

    /// After the text of a link its destination is dropped.
    fn bracket(&mut self, at: usize, line: &[u8], missing: &mut Missing) -> usize {
        self.out.push(b']');
        if line.get(1) != Some(&b'(') || at < missing.destination {
            return 1;
        }
        match destination(&line[2..]) {
            Ok(length) => length + 2,
            Err(looked_at) => {
                missing.destination = at + 2 + looked_at;
                1
            }
        }
    }

    /// Tags and comments are dropped as those of HTML, where they end.
    fn angle(&mut self, at: usize, line: &[u8], missing: &mut Missing) -> usize {
        if line.starts_with(b"<!--")
            && let Some(length) = self.ended(0, at, html::comment)
        {
            return length;
        }
        if let Some(name) = tag_name(line).filter(|_| !missing.angle) {
            match memchr(b'>', line) {
                Some(close) => {
                    html::leave_tag(name, &mut self.out);
                    let kind = if name.eq_ignore_ascii_case(b"script") { 1 } else { 2 };
                    let content = match html::is_silent(name) && line[1] != b'/' {
                        true => self.ended(kind, at, |text| {
                            html::closing_tag(name, text.get(close + 1..)?).map(|tag| tag.end)
                        }),
                        false => None,
                    };
                    return close + 1 + content.unwrap_or(0);
                }
                None => missing.angle = true,
            }
        }
        self.out.push(b'<');
        1
    }

    /// Looks for the end of something that begins here: in the document if it is a block, else in its
    /// paragraph. Nothing is looked for twice.
    fn ended(&mut self, kind: usize, at: usize, find: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
        let limit = if self.block == Some(at) { self.text.len() } else { self.paragraph_end(at) };
        if limit <= self.unended[kind] {
            return None;
        }
        let found = find(&self.text[at..limit]);
        if found.is_none() {
            self.unended[kind] = limit;
        }
        found
    }

    /// Where the paragraph ends in which this place is: before a line that is empty, or no plain text.
    fn paragraph_end(&mut self, at: usize) -> usize {
        if at >= self.paragraph {
            let mut end = line_end(self.text, at);
            while end < self.text.len() {
                let next = line_end(self.text, end + 1);
                let line = &self.text[end + 1..next];
                let marks = line[..prefix(line)].trim_ascii();
                if line.trim_ascii().is_empty()
                    || !marks.is_empty()
                    || is_rule(line)
                    || fence_of(line).is_some()
                {
                    break;
                }
                end = next;
            }
            self.paragraph = end;
        }
        self.paragraph
    }
}

/// The name of the tag with which a line begins: letters, digits and hyphens, and no address.
fn tag_name(line: &[u8]) -> Option<&[u8]> {
    let name = line.strip_prefix(b"<")?;
    let name = name.strip_prefix(b"/").unwrap_or(name);
    name.first().filter(|first| first.is_ascii_alphabetic())?;
    let length = name.iter().take_while(|&&byte| byte.is_ascii_alphanumeric() || byte == b'-').count();
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    name.get(length).is_none_or(ends).then_some(&name[..length])
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
            ("![alt](pic.png) and [a][ref] [b] ![c][d]", "![alt] and [a][ref] [b] ![c][d]\n"),
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

    #[test]
    fn indented_code_stays_as_it_is_and_swallows_nothing() {
        for document in [
            "# Manual\n\n    <script src=\"x.js\">\n    start();\n\nThen restart the server.",
            "- Step\n\n      <style>\n      <!-- seen\n\nThen restart",
            "1. Step\n\n   more\n\n\t\t<script>\n\n2. Then restart",
            ">     <script>\n\nThen restart",
            "Title\n===\n    <script>\n\nThen restart",
            "a\n\n    <script>\n    <!--\n\nb `</script>` restart -->",
            "```\nx\n```\n    [a](seen here) <b>\n\nrestart",
            "- a\n  - b\n\n        [x]: seen\n\nrestart",
        ] {
            let text = of(document);
            assert!(text.contains("restart"), "{document}: {text}");
            for line in document.lines().filter(|line| line.starts_with("      ") || line.starts_with("\t")) {
                assert!(text.contains(line), "{document}: {text}");
            }
        }
        // What is no code: a paragraph goes on, and an entry's text is indented itself.
        for (document, expected) in [
            ("a\n    *b*", "a\nb\n"),
            ("- a\n\n    *b*", "a\n\nb\n"),
            ("1. a\n   - b\n\n     *c*", "a\nb\n\nc\n"),
            ("<div>\n    <b>x</b>\n</div>", " \nx\n \n"),
            ("- a\n\nb\n\n    *c*", "a\n\nb\n\n    *c*\n"),
        ] {
            assert_eq!(of(document), expected, "{document}");
        }
    }

    #[test]
    fn what_is_not_closed_in_its_paragraph_swallows_nothing() {
        for (document, expected) in [
            ("Use <script> here.\n\nrestart `</script>`", "Use   here.\n\nrestart </script>\n"),
            ("- <script> runs\n- <style> looks\n- `</script>`", "  runs\n  looks\n</script>\n"),
            ("- a\n\n  <script>\n\n  b\n\n`</script>`", "a\n\n \n\nb\n\n</script>\n"),
            ("`a\n<script>` b\n\nc", "a\n  b\n\nc\n"),
            ("a <!-- b\n\nc -->", "a <!-- b\n\nc -->\n"),
            ("<script>\n\nx\n\n</script>\ny", " \ny\n"),
            ("<!-- a\n\nb --!>c", "c\n"),
            ("<script>\n\nshown", " \n\nshown\n"),
        ] {
            assert_eq!(of(document), expected, "{document}");
        }
    }

    #[test]
    fn what_is_no_tag_and_no_destination_is_text() {
        for text in [
            "<ann@example.org> <a.b> <x, y>",
            "call[name](request, response) [1](in the appendix",
            "grid[row][column]",
            "[note]: this is text",
            "[note]: see \"this\" text",
        ] {
            assert_eq!(of(text), format!("{text}\n"));
        }
        assert_eq!(of("[a]( x 'y' )[b](z)c](d e)](f)"), "[a][b]c](d e)]\n");
        assert_eq!(of("[a]: <x>\n[b]: y (z)\n[c]: x 'y z'"), "\n\n\n");
    }

    /// Each takes a moment if each byte is passed over a few times, and hours if it is for every mark.
    #[test]
    fn marks_that_never_end_are_not_looked_for_again_and_again() {
        for mark in [
            "](",
            "](a ",
            "](\"",
            "<script>",
            "x <!-- ",
            "<!--\n",
            "<a<",
            "- <style>\n",
            "    > - ",
            "`a",
            "\n<script>x",
        ] {
            for end in ["", " x)", ">", "\n\n</script>-->"] {
                let document = mark.repeat(30_000) + end;
                assert!(text(document.as_bytes()).len() <= document.len() + 1);
            }
        }
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
