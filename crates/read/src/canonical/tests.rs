use proptest::prelude::*;

use super::*;

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = b"before ".to_vec();
    write(&mut out);
    String::from_utf8(out).unwrap().strip_prefix("before ").unwrap().to_owned()
}

fn big(bytes: &[u8], scale: usize) -> String {
    text(|out| decimal_bytes(bytes, scale, out).unwrap())
}

#[test]
fn decimals_have_exactly_as_many_digits_after_the_point_as_their_scale() {
    let cases = [
        (0, 0, "0"),
        (0, 2, "0.00"),
        (5, 0, "5"),
        (-5, 0, "-5"),
        (5, 2, "0.05"),
        (-5, 2, "-0.05"),
        (12, 2, "0.12"),
        (123, 2, "1.23"),
        (-123_456, 3, "-123.456"),
        (100, 2, "1.00"),
        (i128::MAX, 0, "170141183460469231731687303715884105727"),
        (i128::MIN, 38, "-1.70141183460469231731687303715884105728"),
        (i128::MIN, 40, "-0.0170141183460469231731687303715884105728"),
    ];
    for (unscaled, scale, expected) in cases {
        assert_eq!(text(|out| decimal(unscaled, scale, out)), expected);
        assert_eq!(big(&unscaled.to_be_bytes(), scale), expected);
    }
}

#[test]
fn decimals_may_be_wider_than_any_machine_word() {
    assert_eq!(big(&[], 0), "0");
    assert_eq!(big(&[0xFF; 17], 0), "-1");
    assert_eq!(big(&[0; 40], 1), "0.0");
    let mut power = [0; 33];
    power[0] = 1; // 2^256
    assert_eq!(
        big(&power, 0),
        "115792089237316195423570985008687907853269984665640564039457584007913129639936"
    );
    power[0] = 0x80; // -2^263
    let expected = "-148213874223764730142170860811120522052185580372019921970505707530128805939118.08";
    assert_eq!(big(&power, 2), expected);
    assert!(decimal_bytes(&[1; 512], 0, &mut Vec::new()).is_ok());
    assert!(decimal_bytes(&[1; 513], 0, &mut Vec::new()).unwrap_err().to_string().contains("513 bytes"));
}

/// Whether a text is what `{:?}` prints, except for a last digit that two texts equally close to the
/// value may have: there it must be even.
fn check_float(got: &str, debug: &str) {
    if got != debug {
        let place = got.bytes().zip(debug.bytes()).position(|(a, b)| a != b).unwrap();
        let (got_digit, debug_digit) = (got.as_bytes()[place], debug.as_bytes()[place]);
        let (got_end, debug_end) = (&got[place + 1..], &debug[place + 1..]);
        assert!(got_end == debug_end && !got_end.starts_with(|c: char| c.is_ascii_digit()), "{got} {debug}");
        assert!(got_digit + 1 == debug_digit && got_digit % 2 == 0, "{got} {debug}");
    }
}

fn check_double(value: f64) {
    let got = text(|out| double(value, out));
    check_float(&got, &format!("{value:?}"));
    assert!(value.is_nan() || got.parse::<f64>().unwrap().to_bits() == value.to_bits(), "{got}");
}

fn check_single(value: f32) {
    let got = text(|out| single(value, out));
    check_float(&got, &format!("{value:?}"));
    assert!(value.is_nan() || got.parse::<f32>().unwrap().to_bits() == value.to_bits(), "{got}");
}

#[test]
fn floats_are_written_as_short_as_they_read_back() {
    for exponent in -330..310 {
        for digits in ["1", "1.5", "-9.999", "1.2345678901234567", "9.9999999"] {
            check_double(format!("{digits}e{exponent}").parse().unwrap());
            check_single(format!("{digits}e{exponent}").parse().unwrap());
        }
    }
    for value in [0.0, -0.0, f64::MAX, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        check_double(value);
        check_single(value as f32);
    }
    let cases = [
        (5.0, "5.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (0.0001, "0.0001"),
        (0.00001, "1e-5"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e16"),
        (1.5e21, "1.5e21"),
        (f64::NAN, "NaN"),
        (f64::NEG_INFINITY, "-inf"),
        // Two texts are equally close.
        (64.0 + 2f64.powi(-15), "64.00003051757812"),
        (140_737_488_355_328.0 + 0.625, "140737488355328.62"),
    ];
    for (value, expected) in cases {
        assert_eq!(text(|out| double(value, out)), expected);
    }
    assert_eq!(text(|out| single(0.1, out)), "0.1");
    assert_eq!(text(|out| single(1e15, out)), "1000000000000000.0");
}

#[test]
fn halves_are_widened_exactly() {
    let cases = [
        (0x0000, "0.0"),
        (0x8000, "-0.0"),
        (0x3C00, "1.0"),
        (0xC100, "-2.5"),
        (0x7BFF, "65504.0"),
        (0x0001, "5.9604645e-8"),
        (0x0400, "6.1035156e-5"),
        (0x7C00, "inf"),
        (0xFC00, "-inf"),
        (0x7E00, "NaN"),
    ];
    for (bits, expected) in cases {
        assert_eq!(text(|out| single(widen(bits), out)), expected);
    }
}

/// Counts the days of six thousand years one by one.
#[test]
fn dates_follow_the_gregorian_calendar() {
    let (mut year, mut month, mut day) = (-2000, 1, 1);
    let mut days = -(1..=3970 / 400).map(|_| 146_097).sum::<i64>() - {
        // What is left of the 3970 years before 1970, the first of which is -2000.
        (-2000..-2000 + 3970 % 400).map(|y: i64| if leap(y) { 366 } else { 365 }).sum::<i64>()
    };
    while year < 4000 {
        assert_eq!(civil(days), (year, month, day), "day {days}");
        let length = match month {
            2 => 28 + u64::from(leap(year)),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        day += 1;
        if day > length {
            (month, day) = (month + 1, 1);
        }
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
        days += 1;
    }
}

fn leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

#[test]
fn dates_are_written_as_iso_8601_has_them() {
    let cases = [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (20_772, "2026-11-15"),
        (-719_528, "0000-01-01"),
        (-719_529, "-0001-12-31"),
        (2_932_896, "9999-12-31"),
        (2_932_897, "+10000-01-01"),
        (i32::MAX.into(), "+5881580-07-11"),
        (i32::MIN.into(), "-5877641-06-23"),
    ];
    for (days, expected) in cases {
        assert_eq!(text(|out| date(days, out)), expected);
    }
}

#[test]
fn times_drop_the_zeros_at_the_end_of_their_fraction() {
    let cases = [
        (45_296_000, MILLIS, "12:34:56"),
        (45_296_700, MILLIS, "12:34:56.7"),
        (0, NANOS, "00:00:00"),
        (1, NANOS, "00:00:00.000000001"),
        (1_000, NANOS, "00:00:00.000001"),
        (86_399_999_999, MICROS, "23:59:59.999999"),
        (86_400_000, MILLIS, "24:00:00"),
        (-1, MILLIS, "-00:00:00.001"),
        (i64::MIN, MILLIS, "-2562047788015:12:55.808"),
    ];
    for (value, unit, expected) in cases {
        assert_eq!(text(|out| time(value, unit, out)), expected);
    }
}

#[test]
fn timestamps_end_in_z_where_they_are_utc() {
    let cases = [
        (0, MILLIS, true, "1970-01-01T00:00:00Z"),
        (-1, MILLIS, false, "1969-12-31T23:59:59.999"),
        (1_794_746_096_500, MILLIS, true, "2026-11-15T12:34:56.5Z"),
        (1_794_746_096_000_001, MICROS, false, "2026-11-15T12:34:56.000001"),
        (i64::MAX, NANOS, true, "2262-04-11T23:47:16.854775807Z"),
        (i64::MIN, NANOS, true, "1677-09-21T00:12:43.145224192Z"),
        (i64::MIN, MILLIS, false, "-292275055-05-16T16:47:04.192"),
        (i64::MAX, MILLIS, false, "+292278994-08-17T07:12:55.807"),
    ];
    for (value, unit, utc, expected) in cases {
        assert_eq!(text(|out| timestamp(value, unit, utc, out)), expected);
    }
}

#[test]
fn timestamps_of_96_bits_are_a_julian_day_and_its_nanoseconds() {
    let words = |nanos: i64, day: i32| [nanos as u32, (nanos as u64 >> 32) as u32, day as u32];
    let cases = [
        (0, 2_440_588, "1970-01-01T00:00:00"),
        (45_296_000_000_001, 2_461_360, "2026-11-15T12:34:56.000000001"),
        (-1, 2_440_588, "1969-12-31T23:59:59.999999999"),
        (86_400_000_000_000, 2_440_588, "1970-01-02T00:00:00"),
    ];
    for (nanos, day, expected) in cases {
        assert_eq!(text(|out| int96(&words(nanos, day), out)), expected);
    }
    for (nanos, day) in [(i64::MIN, i32::MIN), (i64::MAX, i32::MAX)] {
        assert!(text(|out| int96(&words(nanos, day), out)).contains('T'));
    }
}

#[test]
fn uuids_are_lower_case_with_hyphens() {
    let bytes = 0x0123_4567_89AB_CDEF_0011_2233_4455_66FFu128.to_be_bytes();
    assert_eq!(text(|out| uuid(&bytes, out)), "01234567-89ab-cdef-0011-2233445566ff");
}

proptest! {
    #[test]
    fn floats_read_back(bits: u64, short in -1_000_000_000i64..1_000_000_000, shift in 0..12, dyadic: i32) {
        check_double(f64::from_bits(bits));
        check_single(f32::from_bits(bits as u32));
        for value in [short as f64 / 10f64.powi(shift), f64::from(dyadic) / f64::from(1 << shift)] {
            check_double(value);
            check_single(value as f32);
        }
    }

    #[test]
    fn the_width_of_a_decimal_does_not_matter(value: i128, fill in 1..300usize, scale in 0..60usize) {
        let mut wide = vec![if value < 0 { 0xFF } else { 0 }; fill];
        wide.extend_from_slice(&value.to_be_bytes());
        prop_assert_eq!(big(&wide, scale), text(|out| decimal(value, scale, out)));
    }

    #[test]
    fn a_decimal_of_two_words_is_what_arithmetic_says(high in 1u64.., low: u64, negative: bool) {
        // high * 10^30 + low * 10^9 + 7, in 256 bits.
        let mut digits = format!("{high}{low:021}{:09}", 7);
        let mut words = [0u32; 8];
        for digit in digits.bytes() {
            let mut carry = u64::from(digit - b'0');
            for word in &mut words {
                let product = u64::from(*word) * 10 + carry;
                (*word, carry) = (product as u32, product >> 32);
            }
        }
        if negative {
            digits.insert(0, '-');
            let mut carry = true;
            for word in &mut words {
                (*word, carry) = (!*word).overflowing_add(carry.into());
            }
        }
        let bytes: Vec<u8> = words.iter().rev().flat_map(|word| word.to_be_bytes()).collect();
        prop_assert_eq!(big(&bytes, 0), digits);
    }

    #[test]
    fn a_timestamp_reads_back(value: i64) {
        for unit in [MILLIS, MICROS, NANOS] {
            let whole = text(|out| timestamp(value, unit, false, out));
            let (date_text, time_text) = whole.split_once('T').unwrap();
            let (seconds_text, fraction) = time_text.split_once('.').unwrap_or((time_text, ""));
            let clock: Vec<i64> = seconds_text.split(':').map(|part| part.parse().unwrap()).collect();
            let days = value.div_euclid(unit.per_second * SECONDS_PER_DAY);
            prop_assert_eq!(date_text, text(|out| date(days, out)));
            let fraction: i64 = format!("{fraction:0<width$}", width = unit.digits).parse().unwrap();
            let of_day = (clock[0] * 3600 + clock[1] * 60 + clock[2]) * unit.per_second + fraction;
            prop_assert_eq!(of_day, value.rem_euclid(unit.per_second * SECONDS_PER_DAY));
        }
    }
}

proptest! {
    #[test]
    fn the_text_of_an_integer_is_its_own(value: i64, shift in 0..64u32) {
        for value in [value >> shift, value.unsigned_abs().unbounded_shr(shift) as i64] {
            let mut text = IntegerText::default();
            prop_assert_eq!(String::from_utf8_lossy(text.of(value)), value.to_string());
        }
    }
}

#[test]
fn the_text_of_an_integer_has_all_of_its_digits() {
    let near = |power: u32| (-2..=2).map(move |beside| 10i64.pow(power) + beside);
    let mut text = IntegerText::default();
    let values = (0..19).flat_map(near).chain(0..100_000).chain([i64::MAX, i64::MIN, -1]);
    for value in values.chain((0..100_000_000).step_by(9_973)) {
        assert_eq!(text.of(value), value.to_string().as_bytes());
    }
}
