use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use tempfile::NamedTempFile;

use super::*;
use crate::sink::RowResult;
use crate::tests::Refused;

/// The values of one column in one row group, as the format stores them.
enum Data {
    Bool(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int96(Vec<[u32; 3]>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<Vec<u8>>),
    Fixed(Vec<Vec<u8>>),
}

/// Values with the definition levels of all rows; without levels every row has a value.
struct Chunk(Data, Option<Vec<i16>>);

fn chunk(data: Data) -> Chunk {
    Chunk(data, None)
}

fn strings(values: &[&str]) -> Data {
    Data::Bytes(values.iter().map(|value| value.as_bytes().to_vec()).collect())
}

fn write_chunk(mut writer: SerializedColumnWriter<'_>, Chunk(data, levels): &Chunk) {
    fn go<T: DataType>(writer: &mut SerializedColumnWriter<'_>, values: &[T::T], levels: &Option<Vec<i16>>) {
        // Lists of the tests have one element per row.
        let repetitions = vec![0; levels.as_ref().map_or(values.len(), Vec::len)];
        writer.typed::<T>().write_batch(values, levels.as_deref(), Some(&repetitions)).unwrap();
    }
    let writer_ref = &mut writer;
    match data {
        Data::Bool(values) => go::<BoolType>(writer_ref, values, levels),
        Data::Int32(values) => go::<Int32Type>(writer_ref, values, levels),
        Data::Int64(values) => go::<Int64Type>(writer_ref, values, levels),
        Data::Int96(values) => {
            let values: Vec<Int96> = values
                .iter()
                .map(|[low, high, day]| {
                    let mut value = Int96::new();
                    value.set_data(*low, *high, *day);
                    value
                })
                .collect();
            go::<Int96Type>(writer_ref, &values, levels);
        }
        Data::Float(values) => go::<FloatType>(writer_ref, values, levels),
        Data::Double(values) => go::<DoubleType>(writer_ref, values, levels),
        Data::Bytes(values) => {
            let values: Vec<ByteArray> = values.iter().map(|value| value.clone().into()).collect();
            go::<ByteArrayType>(writer_ref, &values, levels);
        }
        Data::Fixed(values) => {
            let values: Vec<FixedLenByteArray> = values.iter().map(|value| value.clone().into()).collect();
            go::<FixedLenByteArrayType>(writer_ref, &values, levels);
        }
    }
    writer.close().unwrap();
}

fn write(fields: &str, properties: WriterPropertiesBuilder, groups: &[Vec<Chunk>]) -> NamedTempFile {
    let schema = Arc::new(parse_message_type(&format!("message m {{ {fields} }}")).unwrap());
    let mut file = NamedTempFile::new().unwrap();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::new(properties.build())).unwrap();
    for group in groups {
        let mut group_writer = writer.next_row_group().unwrap();
        for chunk in group {
            write_chunk(group_writer.next_column().unwrap().unwrap(), chunk);
        }
        group_writer.close().unwrap();
    }
    writer.close().unwrap();
    file
}

fn plain() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_dictionary_enabled(false)
}

/// Keeps all rows.
#[derive(Default)]
struct Rows(Vec<Vec<Option<Vec<u8>>>>);

impl Sink for Rows {
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        if values.first() == Some(&Some(b"poison")) {
            return Err(Refused("bad row".into()).into());
        }
        self.0.push(values.iter().map(|value| value.map(<[u8]>::to_vec)).collect());
        Ok(())
    }
}

fn scan(path: &Path, columns: &[usize]) -> Result<Vec<Vec<Option<Vec<u8>>>>> {
    let file = ParquetFile::open(path, None)?;
    let mut rows = Rows::default();
    let control = Control::default();
    for group in 0..file.row_groups() {
        assert_eq!(file.first_row(group), rows.0.len() as u64);
        let (before, _) = control.progress();
        file.scan(group, &Picked::Texts(columns.to_vec()), &mut rows, &control)?;
        assert_eq!(control.progress().0 - before, file.bytes(group));
    }
    Ok(rows.0)
}

/// The texts of one column; a null is shown as `-`.
fn texts(path: &Path, column: usize) -> Vec<String> {
    let rows = scan(path, &[column]).unwrap();
    let text = |value: &Option<Vec<u8>>| match value {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => "-".to_owned(),
    };
    rows.iter().map(|row| text(&row[0])).collect()
}

#[track_caller]
fn check(field: &str, data: Data, expected: &[&str]) {
    let file = write(field, plain(), &[vec![chunk(data)]]);
    assert_eq!(texts(file.path(), 0), expected, "{field}");
}

fn message(result: Result<Vec<Vec<Option<Vec<u8>>>>>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn integers_are_decimal_numbers() {
    check("REQUIRED INT32 a;", Data::Int32(vec![42, -1, i32::MIN]), &["42", "-1", "-2147483648"]);
    check("REQUIRED INT32 a (INTEGER(8,true));", Data::Int32(vec![-128, 127]), &["-128", "127"]);
    check("REQUIRED INT32 a (INTEGER(32,false));", Data::Int32(vec![42, -1]), &["42", "4294967295"]);
    check("REQUIRED INT32 a (UINT_16);", Data::Int32(vec![65_535]), &["65535"]);
    check("REQUIRED INT64 a;", Data::Int64(vec![42, i64::MIN]), &["42", "-9223372036854775808"]);
    check("REQUIRED INT64 a (INTEGER(64,false));", Data::Int64(vec![-1]), &["18446744073709551615"]);
    check("REQUIRED INT64 a (UINT_64);", Data::Int64(vec![-2]), &["18446744073709551614"]);
}

#[test]
fn decimals_have_a_point_where_their_scale_says() {
    check("REQUIRED INT32 a (DECIMAL(9,2));", Data::Int32(vec![12_345, -5, 0]), &["123.45", "-0.05", "0.00"]);
    check("REQUIRED INT64 a (DECIMAL(18,0));", Data::Int64(vec![-42]), &["-42"]);
    let fixed = |value: i128, length: usize| value.to_be_bytes()[16 - length..].to_vec();
    check(
        "REQUIRED FIXED_LEN_BYTE_ARRAY (16) a (DECIMAL(38,10));",
        Data::Fixed(vec![fixed(i128::MAX, 16), fixed(-1, 16)]),
        &["17014118346046923173168730371.5884105727", "-0.0000000001"],
    );
    check(
        "REQUIRED FIXED_LEN_BYTE_ARRAY (5) a (DECIMAL(11,3));",
        Data::Fixed(vec![fixed(-12_345_678_901, 5)]),
        &["-12345678.901"],
    );
    let mut wide = vec![0; 25];
    wide[0] = 1; // 2^192
    check(
        "REQUIRED BYTE_ARRAY a (DECIMAL(60,2));",
        Data::Bytes(vec![vec![0x7B], vec![0xFF, 0x85], vec![], wide]),
        &["1.23", "-1.23", "0.00", "62771017353866807638357894232076664161023554444640345128.96"],
    );
}

#[test]
fn a_decimal_that_is_too_long_is_an_error_of_its_row() {
    let values = Data::Bytes(vec![vec![1], vec![1; 2000]]);
    let levels = Some(vec![1, 0, 1]);
    let file = write("OPTIONAL BYTE_ARRAY a (DECIMAL(60,2));", plain(), &[vec![Chunk(values, levels)]]);
    assert!(message(scan(file.path(), &[0])).contains("row 3: a decimal of 2000 bytes"));
}

#[test]
fn floats_are_the_shortest_text_that_reads_back() {
    let doubles = vec![5.0, 0.1, 1e21, -0.0, f64::NAN, f64::INFINITY];
    check("REQUIRED DOUBLE a;", Data::Double(doubles), &["5.0", "0.1", "1e21", "-0.0", "NaN", "inf"]);
    check("REQUIRED FLOAT a;", Data::Float(vec![0.1, 16_777_216.0]), &["0.1", "16777216.0"]);
    check(
        "REQUIRED FIXED_LEN_BYTE_ARRAY (2) a (FLOAT16);",
        Data::Fixed(vec![0x3E00u16.to_le_bytes().to_vec(), 0xFC00u16.to_le_bytes().to_vec()]),
        &["1.5", "-inf"],
    );
}

#[test]
fn dates_and_times_are_iso_8601() {
    check("REQUIRED INT32 a (DATE);", Data::Int32(vec![20_772, -719_529]), &["2026-11-15", "-0001-12-31"]);
    let noon = 45_296_000;
    check(
        "REQUIRED INT32 a (TIME(MILLIS,true));",
        Data::Int32(vec![noon, noon + 120]),
        &["12:34:56", "12:34:56.12"],
    );
    check("REQUIRED INT32 a (TIME_MILLIS);", Data::Int32(vec![noon]), &["12:34:56"]);
    check("REQUIRED INT64 a (TIME(MICROS,false));", Data::Int64(vec![1]), &["00:00:00.000001"]);
    check("REQUIRED INT64 a (TIME(NANOS,false));", Data::Int64(vec![1]), &["00:00:00.000000001"]);
    let day = 1_794_746_096;
    let cases = [
        ("TIMESTAMP(MILLIS,true)", day * 1000 + 5, "2026-11-15T12:34:56.005Z"),
        ("TIMESTAMP(MICROS,false)", day * 1_000_000, "2026-11-15T12:34:56"),
        ("TIMESTAMP(NANOS,true)", day * 1_000_000_000 + 10, "2026-11-15T12:34:56.00000001Z"),
        ("TIMESTAMP_MILLIS", -1, "1969-12-31T23:59:59.999Z"),
        ("TIMESTAMP_MICROS", day * 1_000_000, "2026-11-15T12:34:56Z"),
    ];
    for (annotation, value, expected) in cases {
        check(&format!("REQUIRED INT64 a ({annotation});"), Data::Int64(vec![value]), &[expected]);
    }
    let nanos = 45_296_000_000_000u64;
    let words = [nanos as u32, (nanos >> 32) as u32, 2_461_360];
    check("REQUIRED INT96 a;", Data::Int96(vec![words]), &["2026-11-15T12:34:56"]);
}

#[test]
fn strings_and_the_rest_are_what_they_are() {
    check("REQUIRED BOOLEAN a;", Data::Bool(vec![true, false]), &["true", "false"]);
    for annotation in ["", "(UTF8)", "(STRING)", "(ENUM)", "(JSON)", "(BSON)"] {
        check(&format!("REQUIRED BYTE_ARRAY a {annotation};"), strings(&["", "é", "x y"]), &["", "é", "x y"]);
    }
    check("REQUIRED FIXED_LEN_BYTE_ARRAY (3) a;", Data::Fixed(vec![b"abc".to_vec()]), &["abc"]);
    check(
        "REQUIRED FIXED_LEN_BYTE_ARRAY (16) a (UUID);",
        Data::Fixed(vec![(0..16).map(|i| i * 17).collect()]),
        &["00112233-4455-6677-8899-aabbccddeeff"],
    );
    let file = write("REQUIRED BYTE_ARRAY a;", plain(), &[vec![chunk(Data::Bytes(vec![vec![0xFF, 0]]))]]);
    assert_eq!(scan(file.path(), &[0]).unwrap(), [[Some(vec![0xFF, 0])]]);
}

#[test]
fn intervals_and_repeated_columns_are_refused_with_the_reason() {
    let file = write(
        "REQUIRED FIXED_LEN_BYTE_ARRAY (12) span (INTERVAL); REQUIRED BYTE_ARRAY id;
         REQUIRED group tags (LIST) { REPEATED group list { REQUIRED BYTE_ARRAY element; } }",
        plain(),
        &[vec![
            chunk(Data::Fixed(vec![vec![0; 12]])),
            chunk(strings(&["x"])),
            Chunk(strings(&["y"]), Some(vec![1])),
        ]],
    );
    assert!(message(scan(file.path(), &[0])).contains("\"span\" is an interval"));
    assert!(message(scan(file.path(), &[2])).contains("\"tags.list.element\" is repeated"));
    assert_eq!(texts(file.path(), 1), ["x"]);
    let opened = ParquetFile::open(file.path(), None).unwrap();
    assert!(opened.check(0).is_err() && opened.check(1).is_ok() && opened.check(2).is_err());
}

#[test]
fn nulls_and_columns_in_structures_are_found() {
    let file = write(
        "OPTIONAL BYTE_ARRAY name (UTF8);
         OPTIONAL group user { REQUIRED INT64 id; OPTIONAL group home { OPTIONAL INT32 zip; } }",
        WriterProperties::builder(),
        &[vec![
            Chunk(strings(&["a", "", "d"]), Some(vec![1, 1, 0, 1])),
            Chunk(Data::Int64(vec![1, 2, 3]), Some(vec![1, 0, 1, 1])),
            Chunk(Data::Int32(vec![9]), Some(vec![2, 0, 3, 1])),
        ]],
    );
    let opened = ParquetFile::open(file.path(), None).unwrap();
    assert_eq!(opened.columns(), ["name", "user.id", "user.home.zip"]);
    assert_eq!(texts(file.path(), 0), ["a", "", "-", "d"]);
    assert_eq!(texts(file.path(), 1), ["1", "-", "2", "3"]);
    assert_eq!(texts(file.path(), 2), ["-", "-", "9", "-"]);
    let rows = scan(file.path(), &[1, 0, 1]).unwrap();
    assert_eq!(rows[0], [Some(b"1".to_vec()), Some(b"a".to_vec()), Some(b"1".to_vec())]);
    assert_eq!(rows[1], [None, Some(b"".to_vec()), None]);
    assert!(scan(file.path(), &[]).unwrap().iter().all(Vec::is_empty));
}

const EVERYTHING: &str =
    "REQUIRED BOOLEAN flag; OPTIONAL INT32 small; REQUIRED INT64 large; REQUIRED INT96 old;
    OPTIONAL FLOAT single; REQUIRED DOUBLE double; OPTIONAL BYTE_ARRAY text (UTF8);
    REQUIRED FIXED_LEN_BYTE_ARRAY (4) fixed (DECIMAL(9,1));";

/// Rows from..to of a table with every way of storing, and what they are as text.
fn everything(from: u32, to: u32) -> (Vec<Chunk>, Vec<Vec<Option<String>>>) {
    let rows = || from..to;
    let there = |i: &u32| i % 3 != 1;
    let levels = || Some(rows().map(|i| i16::from(there(&i))).collect());
    let word = |i: u32| format!("word {}", i % 50);
    let chunks = vec![
        chunk(Data::Bool(rows().map(|i| i % 5 == 0).collect())),
        Chunk(Data::Int32(rows().filter(there).map(|i| i as i32 - 500).collect()), levels()),
        chunk(Data::Int64(rows().map(|i| i64::from(i) << 33).collect())),
        chunk(Data::Int96(rows().map(|i| [0, 0, 2_440_588 + i]).collect())),
        Chunk(Data::Float(rows().filter(there).map(|i| i as f32 / 8.0).collect()), levels()),
        chunk(Data::Double(rows().map(|i| f64::from(i % 100) / 10.0).collect())),
        Chunk(Data::Bytes(rows().filter(there).map(|i| word(i).into_bytes()).collect()), levels()),
        chunk(Data::Fixed(rows().map(|i| i.to_be_bytes().to_vec()).collect())),
    ];
    let expected = rows()
        .map(|i| {
            let mut day = Vec::new();
            crate::canonical::date(i.into(), &mut day);
            vec![
                Some((i % 5 == 0).to_string()),
                there(&i).then(|| (i as i32 - 500).to_string()),
                Some((i64::from(i) << 33).to_string()),
                Some(format!("{}T00:00:00", String::from_utf8(day).unwrap())),
                there(&i).then(|| format!("{:?}", i as f32 / 8.0)),
                Some(format!("{:?}", f64::from(i % 100) / 10.0)),
                there(&i).then(|| word(i)),
                Some(format!("{}.{}", i / 10, i % 10)),
            ]
        })
        .collect();
    (chunks, expected)
}

#[test]
fn all_encodings_and_compressions_give_the_same_rows() {
    let (first, mut expected) = everything(0, 9_000);
    let (second, more) = everything(9_000, 9_001);
    let (third, most) = everything(9_001, 14_000);
    expected.extend(more);
    expected.extend(most);
    let expected: Vec<Vec<Option<Vec<u8>>>> = expected
        .into_iter()
        .map(|row| row.into_iter().map(|text| text.map(String::into_bytes)).collect())
        .collect();
    let groups = [first, second, third];

    let compressions = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::BROTLI(BrotliLevel::try_new(3).unwrap()),
    ];
    for (i, compression) in compressions.into_iter().enumerate() {
        // Small pages, so that batches and pages end at different rows.
        let base =
            WriterProperties::builder().set_compression(compression).set_data_page_row_count_limit(700 + i);
        let variants = [
            base.clone(),
            base.clone().set_dictionary_enabled(false),
            base.clone().set_writer_version(WriterVersion::PARQUET_2_0),
            // The writer chooses delta encodings where it may.
            base.clone().set_writer_version(WriterVersion::PARQUET_2_0).set_dictionary_enabled(false),
            base.set_dictionary_enabled(false)
                .set_column_encoding("text".into(), Encoding::DELTA_LENGTH_BYTE_ARRAY)
                .set_column_encoding("double".into(), Encoding::BYTE_STREAM_SPLIT),
        ];
        for properties in variants {
            let file = write(EVERYTHING, properties, &groups);
            assert!(scan(file.path(), &[0, 1, 2, 3, 4, 5, 6, 7]).unwrap() == expected, "{compression}");
        }
    }
}

#[test]
fn threads_may_scan_row_groups_at_once() {
    let groups: Vec<(Vec<Chunk>, Vec<_>)> = (0..8).map(|i| everything(i * 5_000, (i + 1) * 5_000)).collect();
    let (chunks, expected): (Vec<_>, Vec<_>) = groups.into_iter().unzip();
    let file = write(EVERYTHING, WriterProperties::builder().set_data_page_row_count_limit(100), &chunks);
    let opened = &ParquetFile::open(file.path(), None).unwrap();
    std::thread::scope(|scope| {
        for (group, expected) in expected.iter().enumerate() {
            scope.spawn(move || {
                let mut rows = Rows::default();
                opened.scan(group, &Picked::Texts(vec![6, 2]), &mut rows, &Control::default()).unwrap();
                for (row, expected) in rows.0.iter().zip(expected) {
                    assert_eq!(row[0].as_deref(), expected[6].as_ref().map(String::as_bytes));
                    assert_eq!(row[1].as_deref(), expected[2].as_ref().map(String::as_bytes));
                }
                assert_eq!(rows.0.len(), expected.len());
            });
        }
    });
}

#[test]
fn an_empty_file_has_no_rows() {
    let none = write("REQUIRED BYTE_ARRAY a;", plain(), &[]);
    assert_eq!(texts(none.path(), 0), Vec::<String>::new());
    let empty = write("REQUIRED BYTE_ARRAY a;", plain(), &[vec![chunk(strings(&[]))]]);
    assert_eq!(texts(empty.path(), 0), Vec::<String>::new());
}

#[test]
fn an_error_of_the_sink_names_the_row_in_the_file() {
    let many: Vec<&str> = std::iter::repeat_n("x", 6_000).collect();
    let mut poisoned = many.clone();
    poisoned[5_000] = "poison";
    let groups = [vec![chunk(strings(&many))], vec![chunk(strings(&poisoned))]];
    let file = write("REQUIRED BYTE_ARRAY a;", plain(), &groups);
    match scan(file.path(), &[0]).unwrap_err() {
        Error::FileRow { row, why, path } => {
            assert_eq!((row, &*why.to_string(), path.as_path()), (11_001, "bad row", file.path()));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_scan_stops_when_asked_to() {
    let file = write("REQUIRED BYTE_ARRAY a;", plain(), &[vec![chunk(strings(&["x"]))]]);
    let control = Control::default();
    control.stop();
    let mut rows = Rows::default();
    let result =
        ParquetFile::open(file.path(), None).unwrap().scan(0, &Picked::Texts(vec![0]), &mut rows, &control);
    assert!(matches!(result, Err(Error::Interrupted)));
}

#[test]
fn what_is_no_parquet_file_is_refused() {
    let file = NamedTempFile::new().unwrap();
    for content in ["", "PAR1", "a,b\n1,2\n", "PAR1\0\0\0\0PAR1", "PAR1\u{7f}\u{7f}\u{7f}\u{7f}PAR1"] {
        std::fs::write(file.path(), content).unwrap();
        assert!(message(scan(file.path(), &[])).contains("not a Parquet file"), "{content}");
    }
    assert!(matches!(ParquetFile::open(Path::new("no such file"), None), Err(Error::Io { .. })));
}

/// A file without rows whose schema is these groups, each with this many children.
fn schema_only(children: &[i32]) -> Vec<u8> {
    let varint = |mut value: u32, out: &mut Vec<u8>| {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    };
    let mut footer = vec![0x15, 0x02, 0x19, 0xFC]; // version 1; a list of structures
    varint(children.len() as u32, &mut footer);
    for &count in children {
        footer.extend_from_slice(&[0x35, 0x00, 0x18, 0x01, b'g', 0x15]); // required, named g
        varint((count as u32) << 1 ^ (count >> 31) as u32, &mut footer);
        footer.push(0);
    }
    footer.extend_from_slice(&[0x16, 0x00, 0x19, 0x0C, 0x00]); // no rows, no row groups
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", &footer[..], &length, b"PAR1"].concat()
}

#[test]
fn a_schema_that_would_exhaust_memory_or_stack_is_refused() {
    let file = NamedTempFile::new().unwrap();
    let open = |children: &[i32]| {
        std::fs::write(file.path(), schema_only(children)).unwrap();
        ParquetFile::open(file.path(), None).map(|_| ()).unwrap_err().to_string()
    };
    assert!(open(&[1, i32::MAX]).contains("claims more columns"));
    assert!(open(&[2, 0]).contains("claims more columns"));
    assert!(open(&[1, -1]).contains("footer is damaged"));
    let mut deep = vec![1; 1_000_000];
    deep.push(0);
    assert!(open(&deep).contains("nested deeper"));
}

/// Reads all that can be read of a file that may be damaged.
fn read_all(bytes: &[u8], file: &NamedTempFile) -> Result<()> {
    std::fs::write(file.path(), bytes).unwrap();
    let opened = ParquetFile::open(file.path(), None)?;
    for column in 0..opened.columns().len() {
        for group in 0..opened.row_groups() {
            opened.scan(group, &Picked::Texts(vec![column]), &mut Rows::default(), &Control::default())?;
        }
    }
    Ok(())
}

fn samples() -> Vec<Vec<u8>> {
    let base = WriterProperties::builder().set_data_page_row_count_limit(60);
    let variants = [
        base.clone(),
        base.clone().set_compression(Compression::SNAPPY),
        base.set_writer_version(WriterVersion::PARQUET_2_0).set_dictionary_enabled(false),
    ];
    let groups = [everything(0, 150).0, everything(150, 200).0];
    variants.map(|properties| std::fs::read(write(EVERYTHING, properties, &groups).path()).unwrap()).into()
}

#[test]
fn a_truncated_file_is_an_error() {
    let file = NamedTempFile::new().unwrap();
    for sample in samples() {
        assert!(read_all(&sample, &file).is_ok());
        for length in (0..sample.len()).step_by(50) {
            assert!(read_all(&sample[..length], &file).is_err(), "{length}");
            // The footer is there, but what it speaks of is not where it says.
            let gap = length.min(sample.len() - 4000)..(length + 50).min(sample.len() - 4000);
            let cut = [&sample[..gap.start], &sample[gap.end..]].concat();
            let _ = read_all(&cut, &file);
        }
    }
}

#[test]
fn a_file_with_a_changed_byte_is_read_or_refused_without_a_panic() {
    let file = NamedTempFile::new().unwrap();
    let mut random = 1u64;
    for sample in samples() {
        for _ in 0..600 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut changed = sample.clone();
            let at = (random >> 33) as usize % changed.len();
            changed[at] = (random >> 20) as u8;
            let _ = read_all(&changed, &file);
        }
    }
}
