//! Bloom filters inside Parquet files: looked at, added, checked. The library of the format reads what was written.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::bloom_filter::Sbbf;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type,
};
use parquet::file::metadata::{
    KeyValue, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, SortingColumn,
};
use parquet::file::properties::{ReaderProperties, WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnPath;

use crate::support::Folder;

const SCHEMA: &str = "message visits {
    required int64 id;
    optional int32 number;
    required binary user (UTF8);
    optional binary city (UTF8);
    required double x;
    required float y;
    required fixed_len_byte_array(5) code;
    required binary raw;
    required boolean flag;
    optional group tags (LIST) { repeated group list { optional binary element (UTF8); } }
}";

/// The columns that can have a filter.
const COLUMNS: [&str; 9] = ["id", "number", "user", "city", "x", "y", "code", "raw", "tags.list.element"];

/// Rows of a row group.
const ROWS: i64 = 1000;

/// Row groups.
const GROUPS: i64 = 3;

fn user(row: i64) -> String {
    format!("user {}", row * 7919 % 100_003)
}

fn is_null(row: i64) -> bool {
    row % 5 == 0
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
    levels: Option<&[i16]>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, levels, None).unwrap();
    column.close().unwrap();
}

/// A file of several types, pages, row groups; with page indexes, a note, a sort order, and filters of one column.
fn write(path: &Path, compression: Compression, version: WriterVersion) {
    let schema = Arc::new(parquet::schema::parser::parse_message_type(SCHEMA).unwrap());
    let mut properties = WriterProperties::builder()
        .set_compression(compression)
        .set_writer_version(version)
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(300)
        .set_write_batch_size(100)
        .set_created_by("a test".into())
        .set_key_value_metadata(Some(vec![KeyValue::new("note".into(), "kept".to_owned())]))
        .set_sorting_columns(Some(vec![SortingColumn {
            column_idx: 0,
            descending: false,
            nulls_first: false,
        }]))
        .set_column_bloom_filter_enabled(ColumnPath::from("raw"), true);
    properties = properties.set_column_dictionary_enabled(ColumnPath::from("city"), true);
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    for group in 0..GROUPS {
        let rows = group * ROWS..(group + 1) * ROWS;
        let mut out = writer.next_row_group().unwrap();
        let there: Vec<i64> = rows.clone().filter(|row| !is_null(*row)).collect();
        let levels: Vec<i16> = rows.clone().map(|row| i16::from(!is_null(row))).collect();
        let bytes = |text: String| ByteArray::from(text.into_bytes());
        column::<Int64Type>(&mut out, &rows.clone().collect::<Vec<_>>(), None);
        column::<Int32Type>(
            &mut out,
            &there.iter().map(|row| *row as i32 * 1000).collect::<Vec<_>>(),
            Some(&levels),
        );
        column::<ByteArrayType>(
            &mut out,
            &rows.clone().map(|row| bytes(user(row))).collect::<Vec<_>>(),
            None,
        );
        let cities: Vec<_> = there.iter().map(|row| bytes(format!("city {} {}", group, row % 20))).collect();
        column::<ByteArrayType>(&mut out, &cities, Some(&levels));
        column::<DoubleType>(&mut out, &rows.clone().map(|row| row as f64 / 3.0).collect::<Vec<_>>(), None);
        column::<FloatType>(&mut out, &rows.clone().map(|row| row as f32 / 7.0).collect::<Vec<_>>(), None);
        let code = |row: i64| FixedLenByteArray::from(format!("{row:05}").into_bytes());
        column::<FixedLenByteArrayType>(&mut out, &rows.clone().map(code).collect::<Vec<_>>(), None);
        let raw = |row: i64| ByteArray::from(row.to_be_bytes().to_vec());
        column::<ByteArrayType>(&mut out, &rows.clone().map(raw).collect::<Vec<_>>(), None);
        column::<BoolType>(&mut out, &rows.clone().map(|row| row % 2 == 0).collect::<Vec<_>>(), None);
        // Two tags in each row.
        let tags: Vec<_> =
            rows.clone().flat_map(|row| [row, -row]).map(|tag| bytes(format!("tag {tag}"))).collect();
        let mut tagged = out.next_column().unwrap().unwrap();
        let (definitions, repetitions) = (vec![3; tags.len()], [0i16, 1].repeat(ROWS as usize));
        tagged.typed::<ByteArrayType>().write_batch(&tags, Some(&definitions), Some(&repetitions)).unwrap();
        tagged.close().unwrap();
        out.close().unwrap();
    }
    writer.close().unwrap();
}

fn with_visits() -> Folder {
    let folder = Folder::new();
    write(&folder.path("visits.parquet"), Compression::SNAPPY, WriterVersion::PARQUET_1_0);
    folder
}

fn metadata(path: &Path) -> ParquetMetaData {
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
    reader.parse_and_finish(&File::open(path).unwrap()).unwrap()
}

/// The same without the places of filters.
fn without_filters(metadata: ParquetMetaData) -> ParquetMetaData {
    let mut builder = metadata.into_builder();
    let groups = builder.take_row_groups().into_iter().map(|group| {
        let mut group = group.into_builder();
        let columns = group.take_columns().into_iter().map(|column| {
            let column = column.into_builder().set_bloom_filter_offset(None).set_bloom_filter_length(None);
            column.build().unwrap()
        });
        let columns = columns.collect();
        group.set_column_metadata(columns).build().unwrap()
    });
    let groups = groups.collect();
    builder.set_row_groups(groups).build()
}

/// The filters of a column, as the library of the format reads them.
fn filters(path: &Path, column: &str) -> Vec<Option<Sbbf>> {
    let properties = ReaderProperties::builder().set_read_bloom_filter(true).build();
    let options = ReadOptionsBuilder::new().with_reader_properties(properties).build();
    let reader = SerializedFileReader::new_with_options(File::open(path).unwrap(), options).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    let at = schema.columns().iter().position(|other| other.path().string() == column).unwrap();
    (0..reader.num_row_groups())
        .map(|group| reader.get_row_group(group).unwrap().get_column_bloom_filter(at).cloned())
        .collect()
}

/// How many bytes a file has before its footer.
fn body(bytes: &[u8]) -> &[u8] {
    let (rest, end) = bytes.split_last_chunk::<8>().unwrap();
    let footer = u32::from_le_bytes(*end.first_chunk().unwrap()) as usize;
    &rest[..rest.len() - footer]
}

#[test]
fn filters_are_added_and_everything_else_stays_as_it_is() {
    let folder = Folder::new();
    for (name, compression, version) in [
        ("none", Compression::UNCOMPRESSED, WriterVersion::PARQUET_1_0),
        ("snappy", Compression::SNAPPY, WriterVersion::PARQUET_2_0),
        ("gzip", Compression::GZIP(Default::default()), WriterVersion::PARQUET_1_0),
        ("zstd", Compression::ZSTD(Default::default()), WriterVersion::PARQUET_2_0),
        ("lz4", Compression::LZ4_RAW, WriterVersion::PARQUET_1_0),
        ("brotli", Compression::BROTLI(Default::default()), WriterVersion::PARQUET_2_0),
    ] {
        let (from, to) = (folder.path("from.parquet"), folder.path("to.parquet"));
        write(&from, compression, version);
        let columns: String =
            COLUMNS.iter().filter(|name| **name != "raw").map(|name| format!(" --column {name}")).collect();
        let done = folder.json(&format!("parquet index from.parquet{columns} --fpr 0.001 -o to.parquet"));
        let (before, after) = (folder.read("from.parquet"), folder.read("to.parquet"));
        assert!(
            after.starts_with(body(&before)),
            "{name}: pages, indexes and old filters stay in their places"
        );
        assert_eq!(done["bytes"], after.len());
        assert_eq!(done["filters"].as_array().unwrap().len(), (COLUMNS.len() - 1) * GROUPS as usize);
        assert_eq!(without_filters(metadata(&from)), without_filters(metadata(&to)), "{name}");
        let rows = |path: &Path| -> Vec<String> {
            let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
        };
        assert_eq!(rows(&from), rows(&to), "{name}");
        for column in COLUMNS {
            folder.ok(&format!("parquet check to.parquet --column {column} --complete"));
        }
    }
    folder.is_clean();
}

#[test]
fn the_library_of_the_format_finds_all_values_and_few_others() {
    let folder = with_visits();
    folder.ok("parquet index visits.parquet --column user --column number --column x --column code --fpr 0.01 -o to.parquet");
    let path = folder.path("to.parquet");
    for group in 0..GROUPS {
        let of = |column| filters(&path, column)[group as usize].clone().unwrap();
        let (users, numbers, doubles, codes) = (of("user"), of("number"), of("x"), of("code"));
        let rows = group * ROWS..(group + 1) * ROWS;
        for row in rows.clone() {
            assert!(users.check(&user(row).as_str()) && doubles.check(&(row as f64 / 3.0)));
            assert!(is_null(row) || numbers.check(&(row as i32 * 1000)));
            assert!(codes.check(&FixedLenByteArray::from(format!("{row:05}").into_bytes())));
        }
        let here: HashSet<String> = rows.map(user).collect();
        let absent = (0..30_000).map(user).filter(|user| !here.contains(user));
        let (all, found) = absent
            .fold((0, 0), |(all, found), user| (all + 1, found + u32::from(users.check(&user.as_str()))));
        // Half of what was asked for is usual, since sizes are powers of two.
        assert!(f64::from(found) < 0.015 * f64::from(all), "{found} of {all}");
    }
    assert!(filters(&path, "id").iter().all(Option::is_none));
    // The filters of another column stand where they stood.
    assert!(filters(&path, "raw").iter().all(Option::is_some));
}

#[test]
fn a_filter_that_is_there_is_replaced_and_that_is_said() {
    let folder = with_visits();
    let done = folder.run("parquet index visits.parquet --column raw --fpr 0.5 -o to.parquet");
    assert_eq!(done.code, 0);
    assert!(done.err.contains("3 filters replaced") && done.err.contains("unused"), "{}", done.err);
    let (before, after) =
        (filters(&folder.path("visits.parquet"), "raw"), filters(&folder.path("to.parquet"), "raw"));
    for (before, after) in before.iter().zip(&after) {
        assert!(after.as_ref().unwrap().num_blocks() < before.as_ref().unwrap().num_blocks());
    }
    folder.ok("parquet check to.parquet --column raw");
    // Indexing what was indexed gives the same filters.
    folder.ok("parquet index to.parquet --column raw --fpr 0.5 -o again.parquet --quiet");
    let of = |name| filters(&folder.path(name), "raw").into_iter().flatten().map(bits).collect::<Vec<_>>();
    assert_eq!(of("to.parquet"), of("again.parquet"));
}

fn bits(filter: Sbbf) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_filter_has_the_bytes_that_the_library_of_the_format_gives_it() {
    let folder = with_visits();
    folder.ok("parquet index visits.parquet --column user --fpr 0.001 -o to.parquet");
    let ours = filters(&folder.path("to.parquet"), "user");
    for (group, ours) in (0..GROUPS).zip(ours) {
        let mut theirs = Sbbf::new_with_ndv_fpp(ROWS as u64, 0.001).unwrap();
        (group * ROWS..(group + 1) * ROWS).for_each(|row| theirs.insert(&user(row).as_str()));
        assert_eq!(bits(ours.unwrap()), bits(theirs));
    }
}

/// A file of one row group, with a column `n` of numbers or nulls.
fn write_numbers(path: &Path, values: &[Option<i64>], dictionary: bool, version: WriterVersion) {
    let schema = parquet::schema::parser::parse_message_type("message m { optional int64 n; }").unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(dictionary)
        .set_dictionary_page_size_limit(64 << 10)
        .set_encoding(Encoding::PLAIN)
        .set_data_page_row_count_limit(10_000)
        .set_write_batch_size(1000)
        .set_writer_version(version)
        .build();
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let there: Vec<i64> = values.iter().copied().flatten().collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    column::<Int64Type>(&mut group, &there, Some(&levels));
    group.close().unwrap();
    writer.close().unwrap();
}

/// Values of a column of this size are not counted: the bits of a filter tell how many there are, unless they leave
/// open how large it should be.
#[test]
fn a_large_column_has_the_filter_that_counting_its_values_gives() {
    const RATE: f64 = 0.01;
    let folder = Folder::new();
    // As many values as a filter of 2²⁰ bits is just large enough for. The library rounds to bytes first: a few bits
    // above a power of two, it makes a filter of half the size that the formula gives.
    let edge = (f64::from(1 << 20) / (-8.0 / (-RATE.powf(0.125)).ln_1p())) as u64;
    let blocks = |values: u64| Sbbf::new_with_ndv_fpp(values, RATE).unwrap().num_blocks();
    assert_eq!(2 * blocks(edge), blocks(edge + 2));
    let mut estimated = 0;
    for (distinct, rows) in [
        (50_000, 50_000),
        (50_000, 200_000),
        (1, 100_000),
        (700, 100_000),
        (edge - 1, 120_000),
        (edge, 120_000),
        (edge + 2, edge + 2),
        (edge + 2, 120_000),
    ] {
        for (dictionary, nulls, version) in [
            (false, 0, WriterVersion::PARQUET_1_0),
            (false, 3, WriterVersion::PARQUET_1_0),
            (true, 0, WriterVersion::PARQUET_1_0),
            (true, 3, WriterVersion::PARQUET_2_0),
        ] {
            let value = |row: u64| (row % distinct).wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64;
            let values: Vec<Option<i64>> = (0..rows)
                .flat_map(|row| {
                    [Some(value(row)), None].into_iter().take(1 + usize::from(nulls > 0 && row % nulls == 0))
                })
                .collect();
            write_numbers(&folder.path("from.parquet"), &values, dictionary, version);
            let done = folder.json("parquet index from.parquet --column n --fpr 0.01 -o to.parquet");
            let mut theirs = Sbbf::new_with_ndv_fpp(distinct, RATE).unwrap();
            values.iter().flatten().for_each(|value| theirs.insert(value));
            let ours = filters(&folder.path("to.parquet"), "n").remove(0).unwrap();
            assert!(bits(ours) == bits(theirs), "{distinct} in {rows}, {dictionary}, {nulls}");
            let made = &done["filters"][0];
            let told = made["distinct"].as_f64().unwrap();
            assert!((told / distinct as f64 - 1.0).abs() < 0.01, "{told} of {distinct}");
            estimated += u32::from(made["distinct_estimated"].as_bool().unwrap());
            folder.ok("parquet check to.parquet --column n");
        }
    }
    assert!((8..28).contains(&estimated), "{estimated} of 32 are told by their bits");
}

#[test]
fn a_page_that_holds_fewer_values_than_it_claims_is_refused() {
    let folder = Folder::new();
    let values: Vec<Option<i64>> = (0..20_000).map(Some).collect();
    write_numbers(&folder.path("from.parquet"), &values, false, WriterVersion::PARQUET_1_0);
    let bytes = folder.read("from.parquet");
    // The first run of levels: 10,000 times that a value is there, as 20,000 in seven bits a byte, and 1.
    let run = [0xa0, 0x9c, 0x01, 0x01];
    let at = bytes.windows(4).position(|window| window == run).expect("a page of 10,000 rows");
    for (level, words) in [(2, "claims values that it does not have"), (0, "")] {
        let mut forged = bytes.clone();
        forged[at + 3] = level;
        folder.write("forged.parquet", &forged);
        let line = "parquet index forged.parquet --column n -o to.parquet";
        match words {
            "" => _ = folder.ok(line),
            words => folder.refused(line, 1, &["\"n\"", words]),
        }
    }
}

#[test]
fn inspect_says_what_is_there_and_whether_it_is_worth_it() {
    let folder = with_visits();
    folder.ok("parquet index visits.parquet --column user --fpr 0.9 -o full.parquet --quiet");
    let json = folder.json("parquet inspect full.parquet visits.parquet");
    let chunk = |file: usize, column: &str| {
        let chunks = json["files"][file]["chunks"].as_array().unwrap();
        assert_eq!(chunks.len(), 10 * GROUPS as usize);
        chunks.iter().find(|chunk| chunk["column"] == column && chunk["row_group"] == 1).unwrap().clone()
    };
    let raw = chunk(1, "raw");
    assert!(raw["filter"]["rate"].as_f64().unwrap() < 0.1 && raw["rows"] == ROWS);
    let estimated = raw["filter"]["estimated_distinct"].as_f64().unwrap();
    assert!((estimated / ROWS as f64 - 1.0).abs() < 0.1, "{estimated}");
    let city = chunk(1, "city");
    assert_eq!(
        (&city["distinct"], &city["distinct_by"], &city["worth"]),
        (&16.into(), &"dictionary".into(), &"ranges".into())
    );
    assert_eq!((city["filter"].is_null(), &city["nulls"]), (true, &200.into()));
    assert_eq!(chunk(0, "user")["worth"], "too-full");
    assert_eq!(chunk(1, "user")["worth"], "missing");
    assert_eq!(chunk(1, "id")["worth"], "ranges");
    assert_eq!(chunk(1, "flag")["worth"], "boolean");
    let table = folder.ok("parquet inspect full.parquet --column user --column raw");
    assert!(table.contains("too full") && table.contains("rate now") && !table.contains("city"), "{table}");
}

#[test]
fn check_fails_where_a_value_is_not_found_and_names_the_row_group() {
    let folder = with_visits();
    folder.ok("parquet index visits.parquet --column user --fpr 0.01 -o good.parquet");
    let good = folder.json("parquet check good.parquet --column user");
    assert_eq!((&good["values"], &good["missing"], &good["filters"]), (&3000.into(), &0.into(), &3.into()));
    assert_eq!(good["probes"], 300_000);
    let (rate, expected) = (good["rate"].as_f64().unwrap(), good["expected_rate"].as_f64().unwrap());
    assert!((rate - expected).abs() < 0.15 * expected, "{rate} and {expected}");
    let (low, high) = (good["rate_low"].as_f64().unwrap(), good["rate_high"].as_f64().unwrap());
    assert!(low < rate && rate < high);

    // The bits of the second filter are lost.
    let place =
        metadata(&folder.path("good.parquet")).row_group(1).column(2).bloom_filter_offset().unwrap() as usize;
    let mut bytes = folder.read("good.parquet");
    bytes[place + 20..place + 600].fill(0);
    folder.write("bad.parquet", &bytes);
    let done = folder.run("parquet check good.parquet bad.parquet --column user");
    assert_eq!(done.code, 1);
    assert!(
        done.err.contains("bad.parquet, row group 1: ") && !done.err.contains("row group 0"),
        "{}",
        done.err
    );
    assert!(done.err.contains("\"user "), "{}", done.err);

    // Files without filters are named; with nothing to check, or all of them wanted, that is a failure.
    let done = folder.run("parquet check good.parquet visits.parquet --column user");
    assert!(done.code == 0 && done.err.contains("visits.parquet: no row group has a filter"), "{}", done.err);
    assert_eq!(folder.run("parquet check good.parquet visits.parquet --column user --complete").code, 1);
    folder.refused("parquet check visits.parquet --column user", 1, &["nothing to check"]);
}

#[test]
fn what_cannot_be_indexed_is_refused_and_nothing_is_left() {
    let folder = with_visits();
    let bytes = folder.read("visits.parquet");
    for (line, code, words) in [
        ("visits.parquet --column user -o visits.parquet", 2, &["is an input"][..]),
        ("visits.parquet --column user -o out.csv", 2, &["CSV"]),
        ("visits.parquet --column none -o out.parquet", 1, &["no column \"none\"", "user"]),
        ("visits.parquet --column flag -o out.parquet", 1, &["truth values"]),
        ("visits.parquet --column user --column user -o out.parquet", 2, &["twice"]),
        ("visits.parquet --column user --fpr 0 -o out.parquet", 2, &["between 0 and 1"]),
        ("none.parquet --column user -o out.parquet", 1, &["no such file"]),
        ("visits.parquet -o out.parquet", 2, &["required arguments"]),
    ] {
        folder.refused(&format!("parquet index {line}"), code, words);
    }
    let mut encrypted = bytes.clone();
    let end = encrypted.len() - 1;
    encrypted[end] = b'E';
    folder.write("encrypted.parquet", &encrypted);
    folder.write("short.parquet", &bytes[..bytes.len() / 2]);
    folder.write("text.parquet", "a,b\n1,2\n");
    folder.write("empty.parquet", "");
    for verb in ["inspect", "check", "index -o out.parquet"] {
        let line = |name: &str| format!("parquet {verb} {name} --column user");
        folder.refused(&line("encrypted.parquet"), 1, &["encrypted"]);
        folder.refused(&line("short.parquet"), 1, &["short.parquet", "not a Parquet file"]);
        folder.refused(&line("text.parquet"), 1, &["not a Parquet file"]);
        folder.refused(&line("empty.parquet"), 1, &["not a Parquet file"]);
    }
    // A filter of which nothing is left but its place.
    let place =
        metadata(&folder.path("visits.parquet")).row_group(2).column(7).bloom_filter_offset().unwrap();
    let mut broken = bytes.clone();
    broken[place as usize..place as usize + 4].copy_from_slice(&[0x15, 0xfe, 0xff, 0xff]);
    folder.write("broken.parquet", &broken);
    for verb in ["inspect", "check"] {
        let words = ["row group 2", "\"raw\"", "damaged"];
        folder.refused(&format!("parquet {verb} broken.parquet --column raw"), 1, &words);
    }
    assert!(!folder.path("out.parquet").exists());
    assert_eq!(folder.read("visits.parquet"), bytes);
    folder.is_clean();
}

#[test]
fn a_column_without_values_has_a_filter_that_finds_nothing() {
    let folder = Folder::new();
    let schema = "message m { optional int32 a; }";
    let schema = Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let file = File::create(folder.path("null.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    column::<Int32Type>(&mut group, &[], Some(&[0; 10]));
    group.close().unwrap();
    writer.close().unwrap();
    folder.ok("parquet index null.parquet --column a -o to.parquet");
    let json = folder.json("parquet inspect to.parquet");
    let chunk = &json["files"][0]["chunks"][0];
    assert_eq!(
        (&chunk["worth"], &chunk["filter"]["bytes"], &chunk["filter"]["fill"]),
        (&"empty".into(), &32.into(), &0.0.into())
    );
    folder.ok("parquet check to.parquet --column a");
}
