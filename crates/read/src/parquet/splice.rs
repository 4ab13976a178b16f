//! A footer in which other places of Bloom filters stand, and everything else as it did: fields that this program does
//! not know, too.
//!
//! Structures on the way to the places are written again, field by field. The fields of a structure are numbered by
//! their distance to the one before, so a field that comes or goes changes the head of its neighbour, and nothing else.

use std::collections::HashMap;

use super::bad::Broken;
use super::thrift::{I32, I64, LIST, STRUCT, Thrift, put_field, put_zigzag};

/// Where the filter of a column lies: its first byte, and its bytes with the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterPlace {
    /// Its first byte.
    pub offset: u64,
    /// Its bytes, those of its header among them.
    pub length: u32,
}

// Numbers of fields, as the format has them.
const ROW_GROUPS: i64 = 4;
const ENCRYPTION: i64 = 8;
const COLUMNS: i64 = 1;
const META_DATA: i64 = 3;
const CRYPTO: [i64; 2] = [8, 9];
const FILTER_OFFSET: i64 = 14;
const FILTER_LENGTH: i64 = 15;

/// Whether anything in the file is encrypted, or its footer signed: what is changed in it would be refused.
pub(super) fn is_encrypted(footer: &[u8]) -> Result<bool, Broken> {
    let mut encrypted = false;
    let mut of_chunk = |thrift: &mut Thrift<'_>| {
        thrift.fields(|thrift, number, kind| {
            encrypted |= CRYPTO.contains(&number);
            thrift.skip(kind, 0)
        })
    };
    let mut algorithm = false;
    let walked = Thrift::of(footer).fields(|thrift, number, kind| {
        algorithm |= number == ENCRYPTION;
        if (number, kind) != (ROW_GROUPS, LIST) {
            return thrift.skip(kind, 0);
        }
        let (groups, _) = thrift.list()?;
        (0..groups).try_for_each(|_| {
            thrift.fields(|thrift, number, kind| {
                if (number, kind) != (COLUMNS, LIST) {
                    return thrift.skip(kind, 0);
                }
                let (chunks, _) = thrift.list()?;
                (0..chunks).try_for_each(|_| of_chunk(thrift))
            })
        })
    });
    walked.map(|()| encrypted || algorithm).ok_or(Broken::Footer)
}

/// The same footer with filters in these places, by row group and column.
pub(super) fn with_filters(
    footer: &[u8],
    places: &HashMap<(usize, usize), FilterPlace>,
) -> Result<Vec<u8>, Broken> {
    let mut out = Vec::with_capacity(footer.len() + 16 * places.len());
    let mut thrift = Thrift::of(footer);
    rewrite(&mut thrift, &mut out, |thrift, number, kind, out| {
        if (number, kind) != (ROW_GROUPS, LIST) {
            return copy(thrift, kind, out);
        }
        each(thrift, out, |thrift, group, out| {
            rewrite(thrift, out, |thrift, number, kind, out| {
                if (number, kind) != (COLUMNS, LIST) {
                    return copy(thrift, kind, out);
                }
                each(thrift, out, |thrift, column, out| match places.get(&(group, column)) {
                    Some(place) => chunk(thrift, *place, out),
                    None => copy(thrift, STRUCT, out),
                })
            })
        })
    })
    .ok_or(Broken::Footer)?;
    out.extend_from_slice(thrift.rest());
    Ok(out)
}

/// A column of a row group, with its filter in this place.
fn chunk(thrift: &mut Thrift<'_>, place: FilterPlace, out: &mut Vec<u8>) -> Option<()> {
    let mut done = false;
    rewrite(thrift, out, |thrift, number, kind, out| {
        if (number, kind) != (META_DATA, STRUCT) {
            return copy(thrift, kind, out);
        }
        done = true;
        meta_data(thrift, place, out)
    })?;
    done.then_some(())
}

/// What a file says of a column of a row group: without the place of a filter that it has, and with this one.
fn meta_data(thrift: &mut Thrift<'_>, place: FilterPlace, out: &mut Vec<u8>) -> Option<()> {
    let mut fields: Vec<(i64, u8, &[u8])> = Vec::new();
    thrift.fields(|thrift, number, kind| {
        let value = thrift.passed(|thrift| thrift.skip(kind, 0))?;
        fields.push((number, kind, value));
        Some(())
    })?;
    fields.retain(|(number, ..)| ![FILTER_OFFSET, FILTER_LENGTH].contains(number));
    let (mut offset, mut length) = (Vec::new(), Vec::new());
    put_zigzag(i64::try_from(place.offset).ok()?, &mut offset);
    put_zigzag(place.length.into(), &mut length);
    let at = fields.iter().position(|(number, ..)| *number > FILTER_OFFSET).unwrap_or(fields.len());
    fields.splice(at..at, [(FILTER_OFFSET, I64, &offset[..]), (FILTER_LENGTH, I32, &length[..])]);
    let mut last = 0;
    for (number, kind, value) in fields {
        put_field(number, kind, last, out);
        out.extend_from_slice(value);
        last = number;
    }
    out.push(0);
    Some(())
}

/// Copies a value.
fn copy(thrift: &mut Thrift<'_>, kind: u8, out: &mut Vec<u8>) -> Option<()> {
    out.extend_from_slice(thrift.passed(|thrift| thrift.skip(kind, 0))?);
    Some(())
}

/// Writes the fields of a structure again; `field` writes the value of each.
fn rewrite<'a>(
    thrift: &mut Thrift<'a>,
    out: &mut Vec<u8>,
    mut field: impl FnMut(&mut Thrift<'a>, i64, u8, &mut Vec<u8>) -> Option<()>,
) -> Option<()> {
    let mut last = 0;
    thrift.fields(|thrift, number, kind| {
        put_field(number, kind, last, out);
        last = number;
        field(thrift, number, kind, out)
    })?;
    out.push(0);
    Some(())
}

/// Writes a list of structures again; `element` writes each.
fn each<'a>(
    thrift: &mut Thrift<'a>,
    out: &mut Vec<u8>,
    mut element: impl FnMut(&mut Thrift<'a>, usize, &mut Vec<u8>) -> Option<()>,
) -> Option<()> {
    let mut count = (0, 0);
    let head = thrift.passed(|thrift| {
        count = thrift.list()?;
        Some(())
    })?;
    if count.1 != STRUCT {
        return None;
    }
    out.extend_from_slice(head);
    (0..count.0).try_for_each(|number| element(thrift, usize::try_from(number).ok()?, out))
}

#[cfg(test)]
mod tests {
    use super::super::thrift::put_varint;
    use super::*;
    use proptest::prelude::*;

    const BINARY: u8 = 8;

    /// A structure of these fields: number, kind, value.
    fn structure(fields: &[(i64, u8, Vec<u8>)]) -> Vec<u8> {
        let (mut out, mut last) = (Vec::new(), 0);
        for (number, kind, value) in fields {
            put_field(*number, *kind, last, &mut out);
            out.extend_from_slice(value);
            last = *number;
        }
        out.push(0);
        out
    }

    fn list(elements: &[Vec<u8>]) -> Vec<u8> {
        let mut out = vec![0xf0 | STRUCT];
        put_varint(elements.len() as u64, &mut out);
        out.extend(elements.concat());
        out
    }

    fn number(value: i64) -> Vec<u8> {
        let mut out = Vec::new();
        put_zigzag(value, &mut out);
        out
    }

    /// A footer of columns with these fields in what is said of them; unknown fields stand everywhere.
    fn footer(groups: usize, columns: &[Vec<(i64, u8, Vec<u8>)>]) -> Vec<u8> {
        let chunk = |fields: &Vec<(i64, u8, Vec<u8>)>| {
            structure(&[(2, I64, number(4)), (3, STRUCT, structure(fields)), (40, 1, Vec::new())])
        };
        let columns: Vec<_> = columns.iter().map(chunk).collect();
        let group =
            structure(&[(1, LIST, list(&columns)), (3, I64, number(-7)), (300, BINARY, b"\x02no".to_vec())]);
        let fields =
            [(1, I32, number(2)), (4, LIST, list(&vec![group; groups])), (6, BINARY, b"\x04test".to_vec())];
        structure(&fields)
    }

    fn fields() -> impl Strategy<Value = Vec<(i64, u8, Vec<u8>)>> {
        let value = prop_oneof![
            any::<i64>().prop_map(|value| (I64, number(value))),
            any::<i32>().prop_map(|value| (I32, number(value.into()))),
            any::<bool>().prop_map(|value| (if value { 1 } else { 2 }, Vec::new())),
            Just((STRUCT, structure(&[(3, I32, number(1))]))),
        ];
        prop::collection::btree_map(1i64..60, value, 0..12).prop_map(|fields| {
            fields.into_iter().map(|(number, (kind, value))| (number, kind, value)).collect()
        })
    }

    proptest! {
        #[test]
        fn nothing_but_places_changes(
            columns in prop::collection::vec(fields(), 1..20), groups in 1usize..4,
            offset in 0u64..1 << 40, length in 0u32..1 << 27, at in any::<prop::sample::Index>(),
        ) {
            let place = FilterPlace { offset, length };
            let before = footer(groups, &columns);
            prop_assert_eq!(&with_filters(&before, &HashMap::new()).unwrap(), &before);
            let column = at.index(columns.len());
            let places: HashMap<_, _> = (0..groups).map(|group| ((group, column), place)).collect();
            let after = with_filters(&before, &places).unwrap();
            let mut expected = columns.clone();
            expected[column].retain(|(number, ..)| ![FILTER_OFFSET, FILTER_LENGTH].contains(number));
            expected[column].push((FILTER_OFFSET, I64, number(offset as i64)));
            expected[column].push((FILTER_LENGTH, I32, number(length.into())));
            expected[column].sort_by_key(|(number, ..)| *number);
            prop_assert_eq!(&after, &footer(groups, &expected));
            // Once more is not twice.
            prop_assert_eq!(&with_filters(&after, &places).unwrap(), &after);
        }

        #[test]
        fn any_bytes_are_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let place = FilterPlace { offset: 1, length: 1 };
            let _ = with_filters(&bytes, &HashMap::from([((0, 0), place)]));
            let _ = is_encrypted(&bytes);
        }
    }

    #[test]
    fn what_is_encrypted_is_seen() {
        let plain = footer(2, &[vec![(1, I32, number(1))]]);
        assert!(!is_encrypted(&plain).unwrap());
        let signed = structure(&[(1, I32, number(2)), (8, STRUCT, structure(&[]))]);
        assert!(is_encrypted(&signed).unwrap());
        let chunk = structure(&[(2, I64, number(4)), (8, STRUCT, structure(&[]))]);
        let group = structure(&[(1, LIST, list(&[chunk]))]);
        assert!(is_encrypted(&structure(&[(4, LIST, list(&[group]))])).unwrap());
        assert!(is_encrypted(&plain[..plain.len() / 2]).is_err());
    }
}
