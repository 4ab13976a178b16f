//! The text of each kind of value: what a column of Parquet, one in memory and one of CSV have in
//! common, so that keys are the same wherever a value comes from.

#[cfg(test)]
mod tests;

use crate::BadRow;
use crate::calendar::civil;

/// Decimals may have this many bytes; their number comes from the file.
const MAX_DECIMAL_BYTES: usize = 512;

const SECONDS_PER_DAY: i64 = 86_400;

/// Parts of a second: how many make one, and how many digits that takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    per_second: i64,
    digits: usize,
}

/// Whole seconds.
pub const SECONDS: Unit = Unit { per_second: 1, digits: 0 };
/// Thousandths.
pub const MILLIS: Unit = Unit { per_second: 1_000, digits: 3 };
/// Millionths.
pub const MICROS: Unit = Unit { per_second: 1_000_000, digits: 6 };
/// Billionths.
pub const NANOS: Unit = Unit { per_second: 1_000_000_000, digits: 9 };

/// An integer.
pub fn integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Where the text of an integer stands, as [`integer`] writes it; no memory is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct IntegerText {
    bytes: [u8; 24],
    len: u8,
}

impl IntegerText {
    /// The text of this one. Most are short and not negative: eight digits of these are made at once.
    #[inline]
    pub fn of(&mut self, value: i64) -> &[u8] {
        const EIGHT: u64 = 100_000_000;
        self.len = 0;
        const SIXTEEN: u64 = EIGHT * EIGHT;
        match value as u64 {
            short @ ..EIGHT => self.push(short, true),
            long @ ..SIXTEEN => {
                self.push(long / EIGHT, true);
                self.push(long % EIGHT, false);
            }
            _ => self.push_any(value),
        }
        self.as_bytes()
    }

    /// Adds a number of up to eight digits; otherwise with zeros before them.
    #[inline]
    fn push(&mut self, number: u64, short: bool) {
        let digits = eight_digits(number);
        let zeros = if short { (digits.trailing_zeros() / 8).min(7) } else { 0 };
        let text = (digits | 0x3030_3030_3030_3030) >> (8 * zeros);
        let at = usize::from(self.len);
        self.bytes[at..at + 8].copy_from_slice(&text.to_le_bytes());
        self.len += 8 - zeros as u8;
    }

    #[cold]
    fn push_any(&mut self, value: i64) {
        let mut buffer = itoa::Buffer::new();
        let text = buffer.format(value).as_bytes();
        self.bytes[..text.len()].copy_from_slice(text);
        self.len = text.len() as u8;
    }

    /// The text.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The digits of a number of up to eight, one in each byte, the first in the lowest: pairs of numbers are taken apart
/// side by side.
#[inline]
fn eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - 10 * tens) << 8)
}

/// The shortest text that reads back to the same value; where two are equally short, the closer
/// one; where both are equally close, the one whose last digit is even. Python and Java do the
/// same, so a number that they write to CSV is the same key (`{:?}` breaks such ties upwards).
///
/// Laid out as by `{:?}`: with an exponent below 1e-4 and from 1e16 on, else with a point.
pub fn double(value: f64, out: &mut Vec<u8>) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format(value).as_bytes();
    if (1e-4..1e15).contains(&value.abs()) { out.extend_from_slice(text) } else { lay_out(text, out) }
}

/// The same for numbers of half the size.
pub fn single(value: f32, out: &mut Vec<u8>) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format(value).as_bytes();
    if (1e-4..1e6).contains(&value.abs()) { out.extend_from_slice(text) } else { lay_out(text, out) }
}

/// Writes a number that is given with or without an exponent in the way that its size asks for.
#[cold]
fn lay_out(text: &[u8], out: &mut Vec<u8>) {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    out.extend_from_slice(&text[..text.len() - unsigned.len()]);
    if !unsigned[0].is_ascii_digit() || unsigned == b"0.0" {
        return out.extend_from_slice(unsigned);
    }
    // The value is 0.DIGITS times ten to the power of `exponent`.
    let mut digits = [0; 24];
    let (mut count, mut exponent, mut fraction) = (0, 0i32, false);
    let (mantissa, power) = match memchr::memchr(b'e', unsigned) {
        Some(at) => (&unsigned[..at], &unsigned[at + 1..]),
        None => (unsigned, &b"0"[..]),
    };
    for &byte in mantissa {
        if byte == b'.' {
            fraction = true;
            continue;
        }
        let leading = count == 0 && byte == b'0';
        exponent += i32::from(!fraction && !leading) - i32::from(fraction && leading);
        if !leading {
            digits[count] = byte;
            count += 1;
        }
    }
    let (negative, power) = (power[0] == b'-', power.strip_prefix(b"-").unwrap_or(power));
    let power = power.iter().filter(|byte| byte.is_ascii_digit());
    let power = power.fold(0, |sum, byte| sum * 10 + i32::from(byte - b'0'));
    exponent += if negative { -power } else { power };
    while count > 1 && digits[count - 1] == b'0' {
        count -= 1;
    }

    let digits = &digits[..count];
    match usize::try_from(exponent) {
        Ok(whole @ 1..=16) if whole >= count => {
            out.extend_from_slice(digits);
            out.resize(out.len() + whole - count, b'0');
            out.extend_from_slice(b".0");
        }
        Ok(whole @ 1..=16) => {
            out.extend_from_slice(&digits[..whole]);
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        }
        _ => {
            out.push(digits[0]);
            if count > 1 {
                out.push(b'.');
                out.extend_from_slice(&digits[1..]);
            }
            out.push(b'e');
            integer(exponent - 1, out);
        }
    }
}

/// The number that 16 bits of IEEE 754 stand for; every such number is a single, too.
pub fn widen(half: u16) -> f32 {
    let sign = if half >> 15 == 1 { -1.0 } else { 1.0 };
    let fraction = (half & 0x3FF) as f32 / 1024.0;
    match half >> 10 & 0x1F {
        0 => sign * fraction * 2f32.powi(-14),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        exponent => sign * (1.0 + fraction) * 2f32.powi(exponent as i32 - 15),
    }
}

/// A decimal number of which `unscaled` is 10^scale times the value.
pub fn decimal(unscaled: i128, scale: usize, out: &mut Vec<u8>) {
    if unscaled < 0 {
        out.push(b'-');
    }
    let start = out.len();
    match u64::try_from(unscaled.unsigned_abs()) {
        Ok(small) => integer(small, out),
        Err(_) => integer(unscaled.unsigned_abs(), out),
    }
    point(start, scale, out);
}

/// Sets the point into digits that begin at `start`.
fn point(start: usize, scale: usize, out: &mut Vec<u8>) {
    if scale == 0 {
        return;
    }
    let digits = out.len() - start;
    if digits <= scale {
        let zeros = scale + 1 - digits;
        out.resize(out.len() + zeros, b'0');
        out[start..].rotate_right(zeros);
    }
    out.insert(out.len() - scale, b'.');
}

/// A decimal number in two's complement, the highest byte first.
pub fn decimal_bytes(bytes: &[u8], scale: usize, out: &mut Vec<u8>) -> Result<(), BadRow> {
    let negative = bytes.first().is_some_and(|&byte| byte >= 0x80);
    let filler = if negative { 0xFF } else { 0 };
    if bytes.len() <= 16 {
        let mut wide = [filler; 16];
        wide[16 - bytes.len()..].copy_from_slice(bytes);
        decimal(i128::from_be_bytes(wide), scale, out);
        return Ok(());
    }
    if bytes.len() > MAX_DECIMAL_BYTES {
        return Err(BadRow::LongDecimal { bytes: bytes.len(), most: MAX_DECIMAL_BYTES });
    }

    // Long division by 10^9, nine digits at a time, of the absolute value in 32-bit limbs.
    let mut limbs = [0u32; MAX_DECIMAL_BYTES / 4 + 1];
    let mut carry = u64::from(negative);
    for (limb, chunk) in limbs.iter_mut().zip(bytes.rchunks(4)) {
        let mut wide = [filler; 4];
        wide[4 - chunk.len()..].copy_from_slice(chunk);
        let word = u32::from_be_bytes(wide);
        let sum = u64::from(if negative { !word } else { word }) + carry;
        (*limb, carry) = (sum as u32, sum >> 32);
    }
    let mut length = bytes.len().div_ceil(4);
    limbs[length] = carry as u32;
    length += 1;

    if negative {
        out.push(b'-');
    }
    let start = out.len();
    loop {
        while length > 0 && limbs[length - 1] == 0 {
            length -= 1;
        }
        if length == 0 {
            break;
        }
        let mut rest = 0;
        for limb in limbs[..length].iter_mut().rev() {
            let part = rest << 32 | u64::from(*limb);
            *limb = (part / 1_000_000_000) as u32;
            rest = part % 1_000_000_000;
        }
        for _ in 0..9 {
            out.push(b'0' + (rest % 10) as u8);
            rest /= 10;
        }
    }
    while out.len() > start + 1 && out.last() == Some(&b'0') {
        out.pop();
    }
    if out.len() == start {
        out.push(b'0');
    }
    out[start..].reverse();
    point(start, scale, out);
    Ok(())
}

/// A day, counted from 1970-01-01.
pub fn date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil(days);
    let size = year.unsigned_abs();
    if !(0..=9999).contains(&year) {
        out.push(if year < 0 { b'-' } else { b'+' });
    }
    let [y1, y2] = two(size / 100 % 100);
    let [y3, y4] = two(size % 100);
    let [m1, m2] = two(month);
    let [d1, d2] = two(day);
    if size > 9999 {
        integer(size / 10_000, out);
    }
    out.extend_from_slice(&[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2]);
}

/// A time of day. What lies outside the day is counted on: `24:00:01`, `-00:00:01`.
pub fn time(value: i64, unit: Unit, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    let value = value.unsigned_abs();
    clock(value / unit.per_second as u64, value % unit.per_second as u64, unit, out);
}

/// A point in time, counted from the beginning of 1970.
pub fn timestamp(value: i64, unit: Unit, utc: bool, out: &mut Vec<u8>) {
    let seconds = value.div_euclid(unit.per_second);
    let fraction = value.rem_euclid(unit.per_second);
    point_in_time(seconds, fraction as u64, unit, out);
    if utc {
        out.push(b'Z');
    }
}

/// A point in time as 96 bits: nanoseconds of the day, then the Julian day.
pub fn int96(words: &[u32], out: &mut Vec<u8>) {
    const JULIAN_1970: i64 = 2_440_588;
    let [low, high, day] = words else { return };
    let nanos = (u64::from(*high) << 32 | u64::from(*low)) as i64;
    let seconds =
        (i64::from(*day as i32) - JULIAN_1970) * SECONDS_PER_DAY + nanos.div_euclid(NANOS.per_second);
    point_in_time(seconds, nanos.rem_euclid(NANOS.per_second) as u64, NANOS, out);
}

fn point_in_time(seconds: i64, fraction: u64, unit: Unit, out: &mut Vec<u8>) {
    date(seconds.div_euclid(SECONDS_PER_DAY), out);
    out.push(b'T');
    clock(seconds.rem_euclid(SECONDS_PER_DAY) as u64, fraction, unit, out);
}

fn clock(seconds: u64, mut fraction: u64, unit: Unit, out: &mut Vec<u8>) {
    let hours = seconds / 3600;
    if hours > 99 {
        integer(hours / 100, out);
    }
    let [h1, h2] = two(hours % 100);
    let [m1, m2] = two(seconds / 60 % 60);
    let [s1, s2] = two(seconds % 60);
    out.extend_from_slice(&[h1, h2, b':', m1, m2, b':', s1, s2]);
    if fraction == 0 {
        return;
    }
    let mut digits = *b".000000000";
    for digit in digits[1..=unit.digits].iter_mut().rev() {
        *digit = b'0' + (fraction % 10) as u8;
        fraction /= 10;
    }
    let length = digits.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1);
    out.extend_from_slice(&digits[..length]);
}

/// Two digits of a number below 100.
fn two(number: u64) -> [u8; 2] {
    [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]
}

/// 16 bytes as a UUID.
pub fn uuid(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}
