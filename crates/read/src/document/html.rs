//! What remains of HTML without markup.
//!
//! No page is wrong: what is not closed goes on to the end, as browsers have it. Each byte is passed over
//! once, whatever a page holds.

use memchr::{memchr, memchr2, memmem};

use super::entities;

/// Elements within words and sentences: their tags separate nothing. Files depend on the list.
const INLINE: [&str; 30] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var",
    "wbr",
];

/// Elements whose content is no text.
const SILENT: [&str; 2] = ["script", "style"];

/// The text of a page.
pub(crate) fn text(page: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (Vec::with_capacity(page.len()), 0);
    while let Some(next) = memchr2(b'<', b'&', &page[at..]) {
        out.extend_from_slice(&page[at..at + next]);
        at += next;
        let rest = &page[at..];
        at += match (rest[0], markup(rest)) {
            (b'&', _) => entities::take(rest, &mut out),
            (_, Some(markup)) => markup.take(&mut out),
            (_, None) => {
                out.push(b'<');
                1
            }
        };
    }
    out.extend_from_slice(&page[at..]);
    out
}

/// Markup with which a text begins.
pub(super) struct Markup {
    pub(super) length: usize,
    /// Whether what stands before it and after it are different words.
    pub(super) separates: bool,
}

impl Markup {
    /// Leaves a blank for it, where it separates; its length.
    pub(super) fn take(&self, out: &mut Vec<u8>) -> usize {
        if self.separates {
            out.push(b' ');
        }
        self.length
    }
}

/// The markup with which a text begins, if any; what is not closed goes on to the end.
fn markup(text: &[u8]) -> Option<Markup> {
    let to_the_end = |end: Option<usize>| end.map_or(text.len(), |end| end + 1);
    match text {
        [b'<', b'!', b'-', b'-', ..] => {
            Some(Markup { length: comment(text).unwrap_or(text.len()), separates: false })
        }
        [b'<', b'!' | b'?', ..] => Some(Markup { length: to_the_end(memchr(b'>', text)), separates: false }),
        [b'<', b'/', next, ..] if !next.is_ascii_alphabetic() => {
            Some(Markup { length: to_the_end(memchr(b'>', text)), separates: false })
        }
        _ => {
            let name = tag_name(text)?;
            let end = to_the_end(tag_end(text));
            let length = end + silent_length(text, name, &text[end..]);
            Some(Markup { length, separates: separates(name) })
        }
    }
}

/// The length of the comment with which a text begins, where it ends.
pub(super) fn comment(text: &[u8]) -> Option<usize> {
    memmem::find(&text[2..], b"-->").map(|at| at + 5)
}

/// The name of the tag with which a text begins.
pub(super) fn tag_name(text: &[u8]) -> Option<&[u8]> {
    let name = text.strip_prefix(b"<")?;
    let name = name.strip_prefix(b"/").unwrap_or(name);
    name.first()?.is_ascii_alphabetic().then_some(())?;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    Some(&name[..name.iter().position(ends).unwrap_or(name.len())])
}

/// Whether the tags of this name separate words.
pub(super) fn separates(name: &[u8]) -> bool {
    !INLINE.iter().any(|inline| name.eq_ignore_ascii_case(inline.as_bytes()))
}

/// Where the tag ends with which a text begins: at the first `>` that no quoted value holds.
fn tag_end(text: &[u8]) -> Option<usize> {
    let (mut quote, mut value) = (None, false);
    text.iter().position(|&byte| {
        match (quote, byte) {
            (Some(open), _) => {
                quote = Some(open).filter(|&open| open != byte);
                return false;
            }
            (None, b'"' | b'\'') if value => quote = Some(byte),
            _ => {}
        }
        // A quote begins a value only right after its `=`.
        value = byte == b'=' || (value && byte.is_ascii_whitespace());
        byte == b'>'
    })
}

/// How much of what follows the tag of this name is no text: the content of a script, with its closing tag.
pub(super) fn silent_length(tag: &[u8], name: &[u8], content: &[u8]) -> usize {
    let is_silent = |silent: &&str| name.eq_ignore_ascii_case(silent.as_bytes());
    if tag.starts_with(b"</") || !SILENT.iter().any(is_silent) {
        return 0;
    }
    let mut at = 0;
    while let Some(next) = memchr(b'<', &content[at..]) {
        at += next;
        let rest = &content[at..];
        if rest.starts_with(b"</") && tag_name(rest).is_some_and(|other| other.eq_ignore_ascii_case(name)) {
            return at + tag_end(rest).map_or(rest.len(), |end| end + 1);
        }
        at += 1;
    }
    content.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(page: &str) -> String {
        String::from_utf8(text(page.as_bytes())).unwrap()
    }

    #[test]
    fn markup_is_dropped_and_words_stay_apart() {
        for (page, expected) in [
            ("<p>space <b>al</b>ien</p>", " space alien "),
            ("<td>a</td><td>b</td>", " a  b "),
            ("a<br>b<BR/>c", "a b c"),
            ("<!DOCTYPE html><html><title>T</title>", "  T "),
            ("a<!-- <b>x</b> > -->b<!-->c", "abc"),
            ("a<script>if (a < b) { '</b>' }</script>b", "a b"),
            ("a<STYLE type=\"x\">p > b</style >b", "a b"),
            ("<a title=\"x > y\" href='>'>t</a>", "t"),
            ("<p it's>a</p>", " a "),
            ("<a title = '>' >t</a>", "t"),
            ("fish &amp; chips &lt;3 &eacute;", "fish & chips <3 é"),
            ("1 < 2 & 3 <4", "1 < 2 & 3 <4"),
            ("</>a</ x>b<?php ?>c", "abc"),
            ("a<b", "a"),
            ("a<p title=\"x>b", "a "),
            ("a<script>b", "a "),
            ("a<!--b", "a"),
            ("a<scripting>b", "a b"),
            ("a</script>b", "a b"),
            ("<script></scripty></script>b", " b"),
        ] {
            assert_eq!(of(page), expected, "{page}");
        }
        assert_eq!(text(b"a\xff<i>\xfe</i>"), b"a\xff\xfe");
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_text_that_is_no_longer(page in prop::collection::vec(prop::sample::select(&b"<>!-/&;#x\"'= \nascript\xc3\xa9"[..]), 0..200)) {
            prop_assert!(text(&page).len() <= page.len());
        }

        #[test]
        fn text_without_markup_stays(page in "[^<&]{0,80}") {
            prop_assert_eq!(of(&page), page);
        }

        /// Words that are written as a page writes them come back, whatever stands between them.
        #[test]
        fn words_come_back(words in prop::collection::vec("[a-z<&>é\"]{1,8}", 1..12), between in prop::sample::select(&["<p class='a>b'>", "<br/>", "<!-- x --> ", "<script>'<p>'</script>", "</li>\n<li>"][..])) {
            let written = words.iter().map(|word| word.replace('&', "&amp;").replace('<', "&lt;"));
            let page = written.collect::<Vec<_>>().join(between);
            let text = of(&page);
            prop_assert_eq!(text.split_ascii_whitespace().collect::<Vec<_>>(), words);
        }
    }
}
