use std::fs::{self, File};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

use super::*;
use crate::sink::RowResult;

const SCHEMA: &str = "message m {
    required binary k (STRING);
    optional int32 i (INTEGER(8,true));
    required boolean b;
    optional int96 t;
    optional float f;
    optional int64 at (TIMESTAMP(MICROS,true));
    optional fixed_len_byte_array (3) x (DECIMAL(6,2));
    optional group l (LIST) { repeated group list { optional int64 element; } }
    optional group s {
        required int32 a;
        optional group m (MAP) { repeated group key_value { required binary key (STRING); optional binary value; } }
    }
    optional group ll (LIST) {
        repeated group list { optional group element (LIST) { repeated group list { required double element; } } }
    }
}";

type Map = Vec<(String, Option<Vec<u8>>)>;

/// A row of that schema.
#[derive(Debug, Clone)]
struct Row {
    k: String,
    i: Option<i8>,
    b: bool,
    t: Option<[u32; 3]>,
    f: Option<f32>,
    at: Option<i64>,
    x: Option<[u8; 3]>,
    l: Option<Vec<Option<i64>>>,
    s: Option<(i32, Option<Map>)>,
    ll: Option<Vec<Option<Vec<f64>>>>,
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let few = 0..4usize;
    let map = prop::collection::vec(
        ("[a-c]", prop::option::of(prop::collection::vec(any::<u8>(), 0..3))),
        few.clone(),
    );
    let flat = (
        "[a-z\n\"é]{0,6}",
        any::<Option<i8>>(),
        any::<bool>(),
        // Times that the library can show.
        prop::option::of((any::<u32>(), 2_440_588..2_500_000u32).prop_map(|(low, day)| [low, 0, day])),
        any::<Option<f32>>(),
        prop::option::of(0..4_000_000_000_000_000i64),
        any::<Option<[u8; 3]>>(),
    );
    let lists = prop::collection::vec(
        prop::option::of(prop::collection::vec(any::<f64>(), few.clone())),
        few.clone(),
    );
    let nested = (
        prop::option::of(prop::collection::vec(any::<Option<i64>>(), few)),
        prop::option::of((any::<i32>(), prop::option::of(map))),
        prop::option::of(lists),
    );
    let row = (flat, nested).prop_map(|((k, i, b, t, f, at, x), (l, s, ll))| Row {
        k,
        i,
        b,
        t,
        f,
        at,
        x,
        l,
        s,
        ll,
    });
    prop::collection::vec(row, 0..60)
}

/// The levels and values of a column.
type Shredded<T> = (Vec<T>, Vec<i16>, Vec<i16>);

fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    (values, definitions, repetitions): Shredded<T::T>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    let there = |levels: Vec<i16>| (!levels.is_empty()).then_some(levels);
    let (definitions, repetitions) = (there(definitions), there(repetitions));
    column.typed::<T>().write_batch(&values, definitions.as_deref(), repetitions.as_deref()).unwrap();
    column.close().unwrap();
}

fn optional<T>(values: impl Iterator<Item = Option<T>>) -> Shredded<T> {
    let (mut found, mut definitions) = (Vec::new(), Vec::new());
    for value in values {
        definitions.push(value.is_some().into());
        found.extend(value);
    }
    (found, definitions, Vec::new())
}

/// Shreds rows, each given as its entries: repetition and definition level, and the value where there is one.
fn repeated<T>(rows: impl Iterator<Item = Vec<(i16, i16, Option<T>)>>) -> Shredded<T> {
    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    for (repetition, definition, value) in rows.flatten() {
        repetitions.push(repetition);
        definitions.push(definition);
        values.extend(value);
    }
    (values, definitions, repetitions)
}

fn first(number: usize) -> i16 {
    i16::from(number > 0)
}

fn list(row: &Row) -> Vec<(i16, i16, Option<i64>)> {
    match row.l.as_deref() {
        None => vec![(0, 0, None)],
        Some([]) => vec![(0, 1, None)],
        Some(some) => {
            some.iter().enumerate().map(|(n, one)| (first(n), 2 + i16::from(one.is_some()), *one)).collect()
        }
    }
}

fn map<T>(
    row: &Row,
    entry: impl Fn(&(String, Option<Vec<u8>>)) -> (i16, Option<T>),
) -> Vec<(i16, i16, Option<T>)> {
    match &row.s {
        None => vec![(0, 0, None)],
        Some((_, None)) => vec![(0, 1, None)],
        Some((_, Some(map))) if map.is_empty() => vec![(0, 2, None)],
        Some((_, Some(map))) => {
            let entries = map.iter().map(entry).enumerate();
            entries.map(|(n, (definition, value))| (first(n), definition, value)).collect()
        }
    }
}

fn lists(row: &Row) -> Vec<(i16, i16, Option<f64>)> {
    match row.ll.as_deref() {
        None => vec![(0, 0, None)],
        Some([]) => vec![(0, 1, None)],
        Some(outer) => outer
            .iter()
            .enumerate()
            .flat_map(|(n, inner)| match inner.as_deref() {
                None => vec![(first(n), 2, None)],
                Some([]) => vec![(first(n), 3, None)],
                Some(inner) => (inner.iter().enumerate())
                    .map(|(m, value)| (if m > 0 { 2 } else { first(n) }, 4, Some(*value)))
                    .collect(),
            })
            .collect(),
    }
}

/// Writes rows with the library itself, column by column.
fn write(path: &Path, groups: &[&[Row]], properties: WriterProperties) {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let mut file =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties)).unwrap();
    let bytes = |text: &str| ByteArray::from(text.as_bytes().to_vec());
    for rows in groups {
        let mut group = file.next_row_group().unwrap();
        let to = &mut group;
        let all = || rows.iter();
        put::<ByteArrayType>(to, (all().map(|row| bytes(&row.k)).collect(), vec![], vec![]));
        put::<Int32Type>(to, optional(all().map(|row| row.i.map(i32::from))));
        put::<BoolType>(to, (all().map(|row| row.b).collect(), vec![], vec![]));
        put::<Int96Type>(to, optional(all().map(|row| row.t.map(|words| Int96::from(words.to_vec())))));
        put::<FloatType>(to, optional(all().map(|row| row.f)));
        put::<Int64Type>(to, optional(all().map(|row| row.at)));
        put::<FixedLenByteArrayType>(
            to,
            optional(all().map(|row| row.x.map(|x| FixedLenByteArray::from(x.to_vec())))),
        );
        put::<Int64Type>(to, repeated(all().map(list)));
        put::<Int32Type>(to, optional(all().map(|row| row.s.as_ref().map(|s| s.0))));
        put::<ByteArrayType>(to, repeated(all().map(|row| map(row, |(key, _)| (3, Some(bytes(key)))))));
        put::<ByteArrayType>(
            to,
            repeated(all().map(|row| {
                map(row, |(_, value)| (3 + i16::from(value.is_some()), value.clone().map(ByteArray::from)))
            })),
        );
        put::<DoubleType>(to, repeated(all().map(lists)));
        group.close().unwrap();
    }
    file.close().unwrap();
}

/// Every row of a file, as the library itself shows it.
fn shown(path: &Path) -> Vec<String> {
    let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

/// Keeps whole rows.
#[derive(Default)]
struct Whole(Vec<Vec<u8>>);

impl Sink for Whole {
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        self.0.push(values.last().unwrap().unwrap().to_vec());
        Ok(())
    }
}

fn whole_rows(file: &ParquetFile, texts: &[usize]) -> Result<Vec<Vec<u8>>> {
    let mut whole = Whole::default();
    for group in 0..file.row_groups() {
        file.scan(group, &Picked::AndRow(texts.to_vec()), &mut whole, &Control::default())?;
    }
    Ok(whole.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rows_that_are_copied_keep_types_nested_columns_and_nulls(
        rows in rows(),
        cut in 0..60usize,
        version in prop::sample::select(vec![WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]),
        dictionary: bool,
        page in 1..40usize,
        group_bytes in 1..4000usize,
        codec in prop::sample::select(Codec::ALL.to_vec()),
        pick: u64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let properties = WriterProperties::builder()
            .set_writer_version(version)
            .set_dictionary_enabled(dictionary)
            .set_data_page_row_count_limit(page)
            .set_write_batch_size(page);
        let (before, after) = rows.split_at(cut.min(rows.len()));
        write(&from, &[before, after], properties.build());
        let file = ParquetFile::open(&from, None).unwrap();
        let whole = whole_rows(&file, &[0, 1]).unwrap();
        prop_assert_eq!(whole.len(), rows.len());

        let mut schema = file.schema().unwrap();
        schema.codec = codec;
        let mut writer = Writer::with_groups_of(group_bytes, Vec::new(), &schema).unwrap();
        let picked = |row: usize| pick >> (row % 64) & 1 == 1;
        let kept: Vec<u8> = (0..rows.len()).filter(|row| picked(*row)).flat_map(|row| whole[row].clone()).collect();
        std::io::Write::write_all(&mut writer, &kept).unwrap();
        fs::write(&to, writer.finish().unwrap()).unwrap();

        let (model, found) = (shown(&from), shown(&to));
        let model: Vec<&String> = (0..model.len()).filter(|row| picked(*row)).map(|row| &model[row]).collect();
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), model);
        let copy = ParquetFile::open(&to, None).unwrap();
        prop_assert!(copy.schema().unwrap().takes(&schema));
        prop_assert_eq!(whole_rows(&copy, &[]).unwrap().concat(), kept);
    }
}

#[test]
fn a_nested_file_with_a_changed_byte_is_copied_or_refused_without_a_panic() {
    let row = |n: usize| Row {
        k: "k".repeat(n),
        i: Some(n as i8),
        b: true,
        t: None,
        f: Some(1.5),
        at: Some(7),
        x: Some([1, 2, 3]),
        l: Some(vec![Some(1), None]),
        s: Some((1, Some(vec![("a".into(), None), ("b".into(), Some(vec![1]))]))),
        ll: Some(vec![None, Some(vec![]), Some(vec![0.5, 1.5])]),
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let rows: Vec<Row> = (0..5).map(row).collect();
    write(&path, &[&rows], WriterProperties::builder().build());
    let bytes = fs::read(&path).unwrap();
    let (mut read, mut refused) = (0, 0);
    for at in (0..bytes.len()).step_by(2) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at / 2 % 8);
        fs::write(&path, &changed).unwrap();
        match ParquetFile::open(&path, None).and_then(|file| whole_rows(&file, &[])) {
            Ok(_) => read += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(read > 50 && refused > 50, "{read} {refused}");
}

#[test]
fn a_tag_is_a_list_and_what_was_said_of_the_columns_is_dropped() {
    let names = ["a".to_owned(), "b".to_owned()];
    let schema = Schema::of_texts(&names).unwrap();
    assert_eq!(schema.with_list("b").unwrap_err(), NoTable::Twice("b".into()));
    assert_eq!(Schema::of_texts(&["a".into(), "a".into()]).unwrap_err(), NoTable::Twice("a".into()));
    assert_eq!(Schema::of_texts(&[]).unwrap_err(), NoTable::Nothing);
    let tagged = schema.with_list("groups").unwrap();
    let mut rows = Vec::new();
    for (texts, groups) in [([Some("1"), None], &[][..]), ([Some(""), Some("é\n")], &["x", "y"])] {
        let mut row = Vec::new();
        row::of_texts(&texts.map(|text| text.map(str::as_bytes)), &mut row);
        row::with_list(&row, groups.iter().map(|group| group.as_bytes()), &mut rows);
    }
    let mut writer = Writer::new(Vec::new(), &tagged).unwrap();
    std::io::Write::write_all(&mut writer, &rows).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), writer.finish().unwrap()).unwrap();
    assert_eq!(
        shown(file.path()),
        ["{a: \"1\", b: null, groups: []}", "{a: \"\", b: \"é\n\", groups: [\"x\", \"y\"]}"]
    );
}

#[test]
fn rows_that_are_none_are_an_error_and_no_panic() {
    let schema = Schema::of_texts(&["a".into()]).unwrap();
    for bytes in
        [&b"\x01\x05ab\n"[..], b"\x01\x01a", b"\x01\x01a.", b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"]
    {
        let mut writer = Writer::new(Vec::new(), &schema).unwrap();
        assert!(std::io::Write::write_all(&mut writer, bytes).is_err(), "{bytes:?}");
    }
}
