//! Recipes as they are typed, and values through them. The input is text of lines: a field of
//! the key, the field of the group, and values.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tamis::key::{Field, Maker, Recipe};

fuzz_target!(|data: &[u8]| {
    let mut lines = data.split(|&byte| byte == b'\n');
    let mut field = || str::from_utf8(lines.next()?).ok().and_then(read);
    let (key, group) = (field(), field());
    let values: Vec<&[u8]> = lines.collect();

    let recipes = [
        Recipe {
            key: Vec::from_iter(key.clone()),
            group: group.clone(),
            weight: None,
            null: None,
            ..Recipe::lines()
        },
        Recipe { key: key.into_iter().chain(group).collect(), null: Some("none".into()), ..Recipe::lines() },
    ];
    for recipe in &recipes {
        let mut maker = Maker::new(recipe);
        for value in values.iter().map(|value| Some(*value)).chain([None]) {
            if let Ok(group) = maker.group(value) {
                assert!(recipe.group.is_none() || !group.is_empty(), "an empty group is no group");
            }
            let parts = vec![value; recipe.key.len()];
            let first = maker.key(&parts).map(<[u8]>::to_vec);
            assert_eq!(first, Maker::new(recipe).key(&parts).map(<[u8]>::to_vec), "a maker keeps no state");
        }
    }
    values.into_iter().for_each(round);
});

/// Reads a field. Its text, and its JSON, give it back.
fn read(text: &str) -> Option<Field> {
    let field: Field = text.parse().ok()?;
    assert_eq!(field.to_string().parse::<Field>().expect("what is shown can be read"), field, "{text:?}");
    let json = serde_json::to_string(&field).unwrap();
    assert_eq!(serde_json::from_str::<Field>(&json).expect("what is written can be read"), field, "{json}");
    Some(field)
}

/// Rounds a value three ways, and checks the results against each other and against a model.
fn round(value: &[u8]) {
    let [floor, near, ceil] = ["x:floor", "x:round", "x:ceil"].map(|field| {
        let recipe = Recipe { key: vec![field.parse().unwrap()], ..Recipe::lines() };
        Maker::new(&recipe).key(&[Some(value)]).map(<[u8]>::to_vec)
    });
    let (floor, near, ceil) = match (floor, near, ceil) {
        (Ok(floor), Ok(near), Ok(ceil)) => (floor, near, ceil),
        (Err(_), Err(_), Err(_)) => {
            assert_eq!(model(value), None, "a plain number is refused");
            return;
        }
        other => panic!("the ways of rounding differ in what they read: {other:?}"),
    };
    assert!(near == floor || near == ceil);
    for text in [&floor, &near, &ceil] {
        assert!(canonical(text), "{:?}", String::from_utf8_lossy(text));
    }
    if let Some(expected) = model(value) {
        let got = [floor, near, ceil].map(|text| String::from_utf8(text).unwrap().parse::<i128>().unwrap());
        assert_eq!(got, expected, "floor, round and ceil of {:?}", String::from_utf8_lossy(value));
    }
}

/// Whether this is an integer as people write it: no zeros before it, no minus zero.
fn canonical(text: &[u8]) -> bool {
    match text.strip_prefix(b"-").unwrap_or(text) {
        b"0" => text == b"0",
        digits => digits.first().is_some_and(|&d| d != b'0') && digits.iter().all(u8::is_ascii_digit),
    }
}

/// Floor, nearest (half to even) and ceiling of `-?digits(.digits)?`, of at most 18 digits each,
/// computed with integers. `None` for everything else.
fn model(value: &[u8]) -> Option<[i128; 3]> {
    let text = str::from_utf8(value).ok()?;
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let plain = |digits: &str| matches!(digits.len(), 1..=18) && digits.bytes().all(|b| b.is_ascii_digit());
    if !plain(whole) || !plain(fraction) {
        return None;
    }
    let unit = 10i128.pow(fraction.len() as u32);
    let sign = if negative { -1 } else { 1 };
    let scaled = sign * (whole.parse::<i128>().ok()? * unit + fraction.parse::<i128>().ok()?);
    let (floor, rest) = (scaled.div_euclid(unit), scaled.rem_euclid(unit));
    let near = match (2 * rest).cmp(&unit) {
        std::cmp::Ordering::Less => floor,
        std::cmp::Ordering::Equal => floor + floor.rem_euclid(2),
        std::cmp::Ordering::Greater => floor + 1,
    };
    Some([floor, near, floor + i128::from(rest > 0)])
}
