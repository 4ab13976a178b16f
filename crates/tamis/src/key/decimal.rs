//! Rounding a decimal number on its text, so that 6.5 is exactly a half whatever a binary
//! fraction would make of it.

use super::BadValue;
use alloc::string::String;
use alloc::vec::Vec;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    HalfEven,
    Floor,
    Ceil,
}

/// Integers of more digits than this are refused: no column of ratings or amounts holds them,
/// and an exponent must not size an allocation unchecked.
const MOST_DIGITS: i64 = 400;

pub(super) fn to_integer(text: &[u8], mode: Mode) -> Result<Vec<u8>, BadValue> {
    let bad = || BadValue::NotANumber(String::from_utf8_lossy(text).into_owned());
    let (negative, unsigned) = match text.trim_ascii() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (mantissa, exponent) = match unsigned.iter().position(|b| matches!(b, b'e' | b'E')) {
        Some(at) => {
            let exponent = core::str::from_utf8(&unsigned[at + 1..]).ok().and_then(|e| e.parse::<i64>().ok());
            (&unsigned[..at], exponent.ok_or_else(bad)?)
        }
        None => (unsigned, 0),
    };
    let (whole, fraction) = match mantissa.iter().position(|&b| b == b'.') {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &b""[..]),
    };
    let mut digits: Vec<u8> = [whole, fraction].concat();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(bad());
    }
    // The point stands after this many of the digits.
    let point = (whole.len() as i64).checked_add(exponent).ok_or_else(bad)?;
    if digits.iter().all(|&d| d == b'0') {
        return Ok(b"0".to_vec());
    }
    if point > MOST_DIGITS {
        return Err(bad());
    }
    let below = if point < 0 {
        digits.insert(0, b'0'); // less than a tenth: never a half
        digits.split_off(0)
    } else {
        let point = point as usize;
        if digits.len() < point {
            digits.resize(point, b'0');
        }
        digits.split_off(point)
    };

    let inexact = below.iter().any(|&d| d != b'0');
    let away = match mode {
        Mode::Floor => negative && inexact,
        Mode::Ceil => !negative && inexact,
        Mode::HalfEven => match below.first() {
            None => false,
            Some(b'5') if below[1..].iter().all(|&d| d == b'0') => {
                digits.last().is_some_and(|d| (d - b'0') % 2 == 1)
            }
            Some(&d) => d >= b'5',
        },
    };
    if away {
        increment(&mut digits);
    }
    let zeros = digits.iter().take_while(|&&d| d == b'0').count();
    digits.drain(..zeros);
    if digits.is_empty() {
        return Ok(b"0".to_vec());
    }
    if negative {
        digits.insert(0, b'-');
    }
    Ok(digits)
}

fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    digits.insert(0, b'1');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, mode: Mode) -> Option<String> {
        to_integer(text.as_bytes(), mode).ok().map(|digits| String::from_utf8(digits).unwrap())
    }

    #[test]
    fn rounds_half_to_even_on_the_text() {
        for (text, expected) in [
            ("6.5", "6"),
            ("7.5", "8"),
            ("6.51", "7"),
            ("0.5", "0"),
            ("1.5", "2"),
            ("-0.5", "0"),
            ("-1.5", "-2"),
            ("9.99", "10"),
            ("10", "10"),
            ("007.4", "7"),
            (".6", "1"),
            ("5.", "5"),
            ("65e-1", "6"),
            ("0.75e1", "8"),
            ("1e3", "1000"),
            ("0.04", "0"),
            ("5e-2", "0"),
            ("2.5000000000000000000000001", "3"),
            ("99999999999999999999.5", "100000000000000000000"),
            ("+7.5", "8"),
            (" 7.4 ", "7"),
            ("-0.2", "0"),
            ("0.0", "0"),
            ("0e9999", "0"),
        ] {
            assert_eq!(run(text, Mode::HalfEven).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn floor_and_ceil_look_at_the_sign() {
        for (text, floor, ceil) in [
            ("6.5", "6", "7"),
            ("-6.5", "-7", "-6"),
            ("6", "6", "6"),
            ("-0.001", "-1", "0"),
            ("1e-9", "0", "1"),
        ] {
            assert_eq!(run(text, Mode::Floor).as_deref(), Some(floor), "{text}");
            assert_eq!(run(text, Mode::Ceil).as_deref(), Some(ceil), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in
            ["", ".", "-", "abc", "1.2.3", "1e", "e5", "1e9999999999999999999", "1e500", "0x10", "NaN", "1,5"]
        {
            assert_eq!(run(text, Mode::HalfEven), None, "{text}");
        }
    }
}
