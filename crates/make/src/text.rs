//! Text from data, made fit to be shown: names of groups are arbitrary bytes.

use std::borrow::Cow;
use std::fmt::Write;

use tamis::params::Name;

use crate::number;

/// The text of arbitrary bytes: what is not UTF-8 is shown as `\xff`, control characters likewise.
pub fn printable(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&visible(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// The name of a group for people; `(all)` where there are no groups.
pub fn group_name(name: &Name) -> String {
    if name.0.is_empty() { "(all)".into() } else { printable(&name.0) }
}

/// Which group something is of, behind its noun: ` of group north`; nothing where there are no groups.
pub(crate) fn of_group(name: &Name) -> String {
    if name.0.is_empty() { String::new() } else { format!(" of group {}", printable(&name.0)) }
}

/// Names of groups, and how many more there are.
pub fn listed_names(names: &[Name], more: usize) -> String {
    let names: Vec<String> = names.iter().map(group_name).collect();
    let more = if more == 0 { String::new() } else { format!(" and {} more", number::count(more as u64)) };
    names.join(", ") + &more
}

/// The name of a group in a list of names: what separates them is escaped, and so is what escapes.
pub fn listed_name(name: &[u8]) -> String {
    let parts = name.split_inclusive(|byte| b"\\,".contains(byte));
    let escape = |part: &[u8]| match part {
        [before @ .., byte @ (b'\\' | b',')] => format!("{}\\{}", printable(before), char::from(*byte)),
        part => printable(part),
    };
    parts.map(escape).collect()
}

/// Shows what would otherwise be unseen or would disturb the text around it: control characters,
/// marks that turn the direction of writing, and code points that XML forbids.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        let _ = match c {
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            c if is_hidden(c) && c.is_ascii() => write!(out, "\\x{:02x}", u32::from(c)),
            c if is_hidden(c) => write!(out, "\\u{{{:x}}}", u32::from(c)),
            c => write!(out, "{c}"),
        };
    }
    Cow::Owned(out)
}

/// The same of lines, which stay lines.
pub fn visible_lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fdd0}'..='\u{fdef}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Text for HTML and SVG, in content and in quoted attributes.
pub fn escape(text: &str) -> String {
    let text = visible(text);
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// How many columns of a terminal the text takes: a simple rule of ranges, with no tables.
pub fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36f | 0x200c | 0x200d | 0x20d0..=0x20ff | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff => 2,
        0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6 => 2,
        0x1f300..=0x1f64f | 0x1f680..=0x1f6ff | 0x1f900..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// The text, visible and no wider than this many columns; an ellipsis stands for what was cut.
pub fn clip(text: &str, columns: usize) -> String {
    // Enough characters to fill the columns: a name of a megabyte is not looked at to its end.
    let head: String = text.chars().take(columns.saturating_mul(4).saturating_add(4)).collect();
    let shown = visible(&head);
    if head.len() == text.len() && width(&shown) <= columns {
        return shown.into_owned();
    }
    let mut out = String::new();
    let mut taken = 1;
    for c in shown.chars() {
        taken += char_width(c);
        if taken > columns {
            break;
        }
        out.push(c);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// Cuts text into at most `lines` lines of this many columns, between words where it can.
pub fn wrap(text: &str, columns: usize, lines: usize) -> Vec<String> {
    let text = clip(text, columns * lines);
    let mut out: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let full = out.len() == lines;
        match out.last_mut() {
            // The last line takes what is left, and is clipped.
            Some(line) if full || width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => out.push(word.to_owned()),
        }
    }
    out.into_iter().filter(|line| !line.is_empty()).map(|line| clip(&line, columns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markup_is_escaped() {
        assert_eq!(
            escape("<script>alert(\"a\" & 'b')</script>"),
            "&lt;script&gt;alert(&quot;a&quot; &amp; &#39;b&#39;)&lt;/script&gt;"
        );
    }

    #[test]
    fn control_characters_and_bytes_that_are_not_utf_8_are_shown() {
        assert_eq!(visible("a\0b\n\x1b[31m\u{202e}\u{85}"), "a\\x00b\\n\\x1b[31m\\u{202e}\\u{85}");
        assert_eq!(printable(b"caf\xe9 \xc3\xa9\x07"), "caf\\xe9 é\\x07");
    }

    #[test]
    fn wide_and_combining_characters_have_their_width() {
        assert_eq!(width("é"), 1);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(width("東京"), 4);
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("false positives by group", 16, 2), ["false positives", "by group"]);
        assert_eq!(wrap("", 16, 2), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn clipped_text_fits(text in any::<String>(), columns in 0usize..40) {
            prop_assert!(width(&clip(&text, columns)) <= columns);
        }

        #[test]
        fn wrapped_lines_fit(text in any::<String>(), columns in 1usize..40, lines in 1usize..4) {
            let wrapped = wrap(&text, columns, lines);
            prop_assert!(wrapped.len() <= lines);
            prop_assert!(wrapped.iter().all(|line| width(line) <= columns));
        }

        #[test]
        fn escaped_text_has_neither_markup_nor_controls(text in any::<String>()) {
            let escaped = escape(&text);
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
            prop_assert!(!escaped.chars().any(is_hidden));
        }

        #[test]
        fn any_bytes_become_visible_text(bytes: Vec<u8>) {
            let text = printable(&bytes);
            prop_assert_eq!(visible(&text), text.as_str());
        }
    }
}
