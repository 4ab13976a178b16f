//! Forms of a value: other texts that mean the same as its own.

use std::borrow::Cow;

use tamis_read::canonical;

/// Digits that come back from a float as they were.
const DIGITS: usize = 15;

/// A way to write a value that means the same as its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// A float or a decimal that is whole, as an integer: `42.0`, `42.00` → `42`.
    Whole,
    /// An integer as a float: `42` → `42.0`.
    PointZero,
    /// A decimal as the float of its digits: `42.50` → `42.5`, `42.00` → `42.0`.
    Stripped,
    /// A zero as a float: `-0.0` → `0.0`.
    Zero,
    /// A zero as the other float that is zero: `0`, `0.0`, `0.00` → `-0.0`.
    MinusZero,
    /// A float of 64 bits that one of 32 bits holds, as that: `0.10000000149011612` → `0.1`.
    Narrow,
    /// A float of 32 bits as one of 64: `0.1` → `0.10000000149011612`.
    Wide,
    /// A day as its beginning: `2026-11-15` → `2026-11-15T00:00:00`.
    Midnight,
    /// A local time at the beginning of a day as that day.
    Day,
    /// A time with a blank: `2026-11-15T12:00:00` → `2026-11-15 12:00:00`.
    Blank,
    /// A point in UTC with a blank and its offset: `2026-11-15 12:00:00+00:00`.
    BlankOffset,
    /// A point in UTC with its offset: `2026-11-15T12:00:00+00:00`.
    Offset,
    /// A truth as Python writes it: `True`.
    Capital,
    /// A truth in capitals: `TRUE`.
    Upper,
}

impl Form {
    /// Appends this form of a value, whose text this is; false where it has none but that text.
    pub fn write(self, text: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let written = self.written(text, out).is_some() && out[start..] != *text;
        if !written {
            out.truncate(start);
        }
        written
    }

    fn written(self, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
        match self {
            Form::Whole => {
                let whole = whole(text)?;
                out.extend_from_slice(if &*whole == b"-0" { b"0" } else { &whole });
            }
            Form::PointZero => {
                let number: i128 = str::from_utf8(text).ok()?.parse().ok()?;
                let float = number as f64;
                (exactly(float) == Some(number)).then(|| canonical::double(float, out))?;
            }
            Form::Stripped => stripped(text, out)?,
            Form::Zero => {
                is_zero(text)?;
                out.extend_from_slice(b"0.0");
            }
            Form::MinusZero => {
                is_zero(text)?;
                out.extend_from_slice(b"-0.0");
            }
            Form::Narrow => {
                let value: f64 = str::from_utf8(text).ok()?.parse().ok()?;
                let single = value as f32;
                (f64::from(single) == value).then(|| canonical::single(single, out))?;
            }
            Form::Wide => {
                let value: f32 = str::from_utf8(text).ok()?.parse().ok()?;
                canonical::double(value.into(), out);
            }
            Form::Midnight => {
                out.extend_from_slice(text);
                out.extend_from_slice(b"T00:00:00");
            }
            Form::Day => out.extend_from_slice(text.strip_suffix(b"T00:00:00")?),
            Form::Blank => blank(text, out)?,
            Form::BlankOffset => {
                blank(text.strip_suffix(b"Z")?, out)?;
                out.extend_from_slice(b"+00:00");
            }
            Form::Offset => {
                out.extend_from_slice(text.strip_suffix(b"Z")?);
                out.extend_from_slice(b"+00:00");
            }
            Form::Capital => {
                let (first, rest) = text.split_first()?;
                out.push(first.to_ascii_uppercase());
                out.extend_from_slice(rest);
            }
            Form::Upper => out.extend(text.iter().map(u8::to_ascii_uppercase)),
        }
        Some(())
    }
}

/// The digits of a number that is whole: before a point that has nothing but zeros after it, or those of a float
/// that has an exponent.
fn whole(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    if text.contains(&b'e') {
        let number = exactly(str::from_utf8(text).ok()?.parse().ok()?)?;
        return Some(number.to_string().into_bytes().into());
    }
    let at = text.iter().position(|&byte| byte == b'.')?;
    let (before, after) = (&text[..at], &text[at + 1..]);
    let digits = before.strip_prefix(b"-").unwrap_or(before);
    let is_whole = digits.iter().all(u8::is_ascii_digit) && after.iter().all(|&byte| byte == b'0');
    is_whole.then_some(before.into())
}

/// The integer that a float is.
fn exactly(float: f64) -> Option<i128> {
    /// 2^126: integers have room for it and its negative.
    const ROOM: f64 = (1u128 << 126) as f64;
    (float.fract() == 0.0 && float.abs() < ROOM).then_some(float as i128)
}

/// That a number is zero.
fn is_zero(text: &[u8]) -> Option<()> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let zero = digits.iter().all(|byte| matches!(byte, b'0' | b'.')) && digits.contains(&b'0');
    zero.then_some(())
}

/// A decimal as the text of the float of its digits, where a float has room for them.
fn stripped(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let significant = text.iter().filter(|byte| byte.is_ascii_digit()).skip_while(|&&byte| byte == b'0');
    let mut digits: Vec<u8> = significant.copied().collect();
    if text.contains(&b'.') {
        digits.truncate(digits.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1));
    }
    if digits.len() > DIGITS {
        return None;
    }
    canonical::double(str::from_utf8(text).ok()?.parse().ok()?, out);
    Some(())
}

/// A time with a blank between its day and its hours.
fn blank(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let at = text.iter().position(|&byte| byte == b'T')?;
    out.extend_from_slice(&text[..at]);
    out.push(b' ');
    out.extend_from_slice(&text[at + 1..]);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn form(form: Form, text: &str) -> Option<String> {
        let mut out = b"before".to_vec();
        let there = form.write(text.as_bytes(), &mut out);
        assert!(there || out == b"before");
        there.then(|| String::from_utf8(out[6..].to_vec()).unwrap())
    }

    #[test]
    fn forms_mean_the_same() {
        for (of, text, expected) in [
            (Form::Whole, "42.0", "42"),
            (Form::Whole, "42.00", "42"),
            (Form::Whole, "-0.0", "0"),
            (Form::Whole, "9007199254740992.0", "9007199254740992"),
            (Form::Whole, "1e16", "10000000000000000"),
            (Form::Whole, "-1.152921504606847e18", "-1152921504606846976"),
            (Form::PointZero, "10000000000000000", "1e16"),
            (Form::PointZero, "9007199254740992", "9007199254740992.0"),
            (Form::Whole, "12345678901234567890.00", "12345678901234567890"),
            (Form::PointZero, "-7", "-7.0"),
            (Form::Stripped, "42.50", "42.5"),
            (Form::Stripped, "42.00", "42.0"),
            (Form::Stripped, "0.00", "0.0"),
            (Form::Stripped, "0.000010", "1e-5"),
            (Form::MinusZero, "0.0", "-0.0"),
            (Form::MinusZero, "0", "-0.0"),
            (Form::Zero, "-0.0", "0.0"),
            (Form::Narrow, "0.10000000149011612", "0.1"),
            (Form::Wide, "0.1", "0.10000000149011612"),
            (Form::Midnight, "2026-11-15", "2026-11-15T00:00:00"),
            (Form::Day, "2026-11-15T00:00:00", "2026-11-15"),
            (Form::Blank, "2026-11-15T12:00:00", "2026-11-15 12:00:00"),
            (Form::BlankOffset, "2026-11-15T12:00:00Z", "2026-11-15 12:00:00+00:00"),
            (Form::Offset, "2026-11-15T12:00:00Z", "2026-11-15T12:00:00+00:00"),
            (Form::Capital, "true", "True"),
            (Form::Upper, "false", "FALSE"),
        ] {
            assert_eq!(form(of, text).as_deref(), Some(expected), "{of:?} {text}");
        }
    }

    #[test]
    fn a_form_that_is_not_certain_is_none() {
        for (of, text) in [
            (Form::Whole, "42.5"),
            (Form::Whole, "1e-5"),
            (Form::Whole, "1e300"),
            (Form::Whole, "NaN"),
            (Form::PointZero, "9007199254740993"),
            (Form::Stripped, "1234567890.12345678"),
            (Form::MinusZero, "0.5"),
            (Form::Zero, "0.0"),
            (Form::Narrow, "0.1"),
            (Form::Narrow, "0.5"),
            (Form::Narrow, "NaN"),
            (Form::Wide, "0.5"),
            (Form::Day, "2026-11-15T00:00:01"),
            (Form::Day, "2026-11-15T00:00:00Z"),
            (Form::Blank, "12:00:00"),
            (Form::Offset, "2026-11-15T12:00:00"),
        ] {
            assert_eq!(form(of, text), None, "{of:?} {text}");
        }
    }

    proptest! {
        #[test]
        fn numbers_are_the_same_in_each_form(number in -(1i64 << 53)..1 << 53, single: f32) {
            let mut double = Vec::new();
            canonical::double(number as f64, &mut double);
            let double = String::from_utf8(double).unwrap();
            if number.unsigned_abs() < 10u64.pow(16) {
                prop_assert_eq!(form(Form::Whole, &double), Some(number.to_string()));
                prop_assert_eq!(form(Form::PointZero, &number.to_string()), Some(double));
            }
            let (mut narrow, mut wide) = (Vec::new(), Vec::new());
            canonical::single(single, &mut narrow);
            canonical::double(single.into(), &mut wide);
            let (narrow, wide) = (String::from_utf8(narrow).unwrap(), String::from_utf8(wide).unwrap());
            if narrow != wide {
                prop_assert_eq!(form(Form::Wide, &narrow), Some(wide.clone()));
                prop_assert_eq!(form(Form::Narrow, &wide), Some(narrow));
            }
        }

        #[test]
        fn no_text_makes_a_form_panic(text in proptest::collection::vec(any::<u8>(), 0..20)) {
            for of in [Form::Whole, Form::PointZero, Form::Stripped, Form::Zero, Form::MinusZero, Form::Midnight, Form::Day,
                Form::Wide, Form::Narrow, Form::Blank, Form::BlankOffset,
                Form::Offset, Form::Capital, Form::Upper] {
                of.write(&text, &mut Vec::new());
            }
        }
    }
}
