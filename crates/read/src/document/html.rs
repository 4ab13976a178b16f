//! What remains of HTML without markup.
//!
//! No page is wrong: tags, comments and the elements whose content has no tags end where the HTML standard
//! lets them end, and what is not closed goes on to the end, as browsers have it. Each byte is passed over
//! once, whatever a page holds.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2};

use super::entities;

/// Elements within words and sentences: their tags separate nothing. Files depend on the list.
const INLINE: [&str; 30] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var",
    "wbr",
];

/// Elements whose content is no text.
const SILENT: [&str; 2] = ["script", "style"];

/// Elements whose content is text without tags, and whether it has references. Files depend on the list.
const TAGLESS: [(&str, bool); 4] =
    [("title", true), ("textarea", true), ("xmp", false), ("plaintext", false)];

/// Elements in which a tag that ends with `/>` has no content, and no element is without tags.
const FOREIGN: [&str; 2] = ["svg", "math"];

/// The text of a page.
pub(crate) fn text(page: &[u8]) -> Vec<u8> {
    let mut reader = Reader { out: Vec::with_capacity(page.len()), foreign: 0 };
    let mut at = 0;
    while let Some(next) = memchr2(b'<', b'&', &page[at..]) {
        reader.out.extend_from_slice(&page[at..at + next]);
        at += next;
        let rest = &page[at..];
        at += match (rest[0], tag_name(rest)) {
            (b'&', _) => entities::take(rest, &mut reader.out),
            (_, Some(name)) => reader.tag(rest, name),
            (_, None) => match declaration(rest) {
                Some(length) => length,
                None => {
                    reader.out.push(b'<');
                    1
                }
            },
        };
    }
    reader.out.extend_from_slice(&page[at..]);
    reader.out
}

struct Reader {
    out: Vec<u8>,
    /// How many foreign elements are open.
    foreign: usize,
}

impl Reader {
    /// Takes the tag of this name with which a text begins, and its content where that has no tags: their
    /// length.
    fn tag(&mut self, text: &[u8], name: &[u8]) -> usize {
        leave_tag(name, &mut self.out);
        let Some((end, slashed)) = tag_end(text) else { return text.len() };
        let (closes, content) = (text[1] == b'/', &text[end + 1..]);
        if FOREIGN.iter().any(|foreign| is_name(name, foreign)) {
            match closes {
                true => self.foreign = self.foreign.saturating_sub(1),
                false => self.foreign += usize::from(!slashed),
            }
        }
        if closes || (slashed && self.foreign > 0) {
            return end + 1;
        }
        if is_silent(name) {
            return end + 1 + closing_tag(name, content).map_or(content.len(), |tag| tag.end);
        }
        let tagless = TAGLESS.iter().find(|(other, _)| self.foreign == 0 && is_name(name, other));
        end + 1 + tagless.map_or(0, |&(_, references)| self.tagless(name, content, references))
    }

    /// Takes text up to the closing tag of this name: its length.
    fn tagless(&mut self, name: &[u8], content: &[u8], references: bool) -> usize {
        let tag = closing_tag(name, content).filter(|_| !is_name(name, "plaintext"));
        let length = tag.map_or(content.len(), |tag| tag.start);
        let (mut at, content) = (0, &content[..length]);
        while let Some(next) = memchr(b'&', &content[at..]).filter(|_| references) {
            self.out.extend_from_slice(&content[at..at + next]);
            at += next;
            at += entities::take(&content[at..], &mut self.out);
        }
        self.out.extend_from_slice(&content[at..]);
        length
    }
}

fn is_name(name: &[u8], other: &str) -> bool {
    name.eq_ignore_ascii_case(other.as_bytes())
}

/// The length of the comment, the declaration or the like with which a text begins, if any.
fn declaration(text: &[u8]) -> Option<usize> {
    let end = match text {
        [b'<', b'!', b'-', b'-', ..] => comment(text),
        [b'<', b'!' | b'?', ..] => memchr(b'>', text).map(|end| end + 1),
        [b'<', b'/', next, ..] if !next.is_ascii_alphabetic() => memchr(b'>', text).map(|end| end + 1),
        _ => return None,
    };
    Some(end.unwrap_or(text.len()))
}

/// The length of the comment with which a text begins, where it ends: with `-->`, which may share the
/// hyphens of its beginning, or with `--!>`, which may not.
pub(super) fn comment(text: &[u8]) -> Option<usize> {
    let ends = |&at: &usize| text[2..at].ends_with(b"--") || text[4..at].ends_with(b"--!");
    memchr_iter(b'>', text).find(ends).map(|at| at + 1)
}

/// The name of the tag with which a text begins.
pub(super) fn tag_name(text: &[u8]) -> Option<&[u8]> {
    let name = text.strip_prefix(b"<")?;
    let name = name.strip_prefix(b"/").unwrap_or(name);
    name.first()?.is_ascii_alphabetic().then_some(())?;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    Some(&name[..name.iter().position(ends).unwrap_or(name.len())])
}

/// Leaves a blank for a tag of this name, where what stands before it and after it are different words.
pub(super) fn leave_tag(name: &[u8], out: &mut Vec<u8>) {
    if !INLINE.iter().any(|inline| is_name(name, inline)) {
        out.push(b' ');
    }
}

/// Whether the content of the elements of this name is no text.
pub(super) fn is_silent(name: &[u8]) -> bool {
    SILENT.iter().any(|silent| is_name(name, silent))
}

/// What is read of a tag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Name,
    BeforeAttribute,
    Attribute,
    AfterAttribute,
    BeforeValue,
    Value,
    Quoted(u8),
    Slash,
}

/// Where the tag ends with which a text begins, and whether a `/` stands right before. A quote begins a value
/// only where a value begins, so that no other hides the end.
fn tag_end(text: &[u8]) -> Option<(usize, bool)> {
    use Within::*;
    let (first, mut within) = (if text.get(1) == Some(&b'/') { 2 } else { 1 }, Name);
    for (at, &byte) in text.iter().enumerate().skip(first) {
        let blank = byte.is_ascii_whitespace();
        within = match (within, byte) {
            (Quoted(open), _) => {
                if byte == open {
                    BeforeAttribute
                } else {
                    within
                }
            }
            (_, b'>') => return Some((at, within == Slash)),
            (BeforeValue, b'"' | b'\'') => Quoted(byte),
            (BeforeValue, _) if blank => BeforeValue,
            (BeforeValue | Value, _) => {
                if blank {
                    BeforeAttribute
                } else {
                    Value
                }
            }
            (_, b'/') => Slash,
            (Attribute | AfterAttribute, b'=') => BeforeValue,
            (Attribute | AfterAttribute, _) if blank => AfterAttribute,
            (_, _) if blank => BeforeAttribute,
            (Name, _) => Name,
            _ => Attribute,
        };
    }
    None
}

/// Where the next closing tag of this name stands, if any; one that does not end goes on to the end.
pub(super) fn closing_tag(name: &[u8], content: &[u8]) -> Option<Range<usize>> {
    let closes = |rest: &[u8]| {
        rest.starts_with(b"</") && tag_name(rest).is_some_and(|other| other.eq_ignore_ascii_case(name))
    };
    let at = memchr_iter(b'<', content).find(|&at| closes(&content[at..]))?;
    Some(at..tag_end(&content[at..]).map_or(content.len(), |(end, _)| at + end + 1))
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

    #[test]
    fn comments_end_where_the_standard_says_and_swallow_no_text() {
        for (page, expected) in [
            ("exampl words <!-- note --!> restart", "exampl words  restart"),
            ("a<!----!>b", "ab"),
            ("a<!--->b<!-->c", "abc"),
            ("a<!--x--!-->b", "ab"),
            ("a<!--x-- >y-->b", "ab"),
            // These do not end with their first `>`.
            ("a<!--!>b-->c", "ac"),
            ("a<!---!>b-->c", "ac"),
            ("a<!--x-!>b-->c", "ac"),
        ] {
            assert_eq!(of(page), expected, "{page}");
        }
    }

    #[test]
    fn elements_without_tags_swallow_no_text() {
        for (page, expected) in [
            ("<title>The <script> tag &amp; more</title><p>restart", " The <script> tag & more  restart"),
            ("<textarea rows=2><!-- x</TEXTAREA >y", " <!-- x y"),
            ("<xmp><style> &amp;</xmp>y", " <style> &amp; y"),
            ("<plaintext><script></plaintext>y", " <script></plaintext>y"),
            ("<title>a <b", " a <b"),
            // In pictures a tag may end itself, and titles have tags.
            ("<svg><script href='x.js'/><title/></svg>restart", "    restart"),
            ("<svg><style>p</style><title>a<i>b</i></title></svg><title><i></title>", "   ab   <i> "),
            ("<svg/><script/>hidden</script>shown", "  shown"),
        ] {
            assert_eq!(of(page), expected, "{page}");
        }
    }

    #[test]
    fn quotes_that_begin_no_value_hide_no_text() {
        for (page, expected) in [
            ("<a href=x?y=\"z>shown</a>", "shown"),
            ("<a href==\"x>shown</a>", "shown"),
            ("<a =\"x>shown", "shown"),
            ("<a b=\"1\"=\"x>shown", "shown"),
            ("</a=\"x>shown", " shown"),
            ("<a b = \"x>y\"c='>'/>shown", "shown"),
        ] {
            assert_eq!(of(page), expected, "{page}");
        }
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
