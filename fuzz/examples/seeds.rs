//! Writes the seeds that are not text: sound containers and Parquet files, as small as they get.
//!
//! `cargo run --example seeds` in this folder.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, Int32Type,
    Int64Type,
};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tamis::Params;
use tamis::blocked::Blocked;
use tamis::bloom::Bloom;
use tamis::counting::Counting;
use tamis::countmin::{self, CountMin, Heavy, Update};
use tamis::format::{Beside, Extras, seal, write};
use tamis::fuse::Fuse;
use tamis::hash::{Scheme, xxh3};
use tamis::key::Recipe;
use tamis::layered::Layered;
use tamis::params::{Common, Goal, GroupParams, Name};
use tamis::ribbon::{Ribbon, Widths};
use tamis::scalable::Scalable;
use tamis::sizing::Kind;
use tamis_jobs::parquet::index;
use tamis_make::build::{self, Bits, FilterSizing, Sketches};
use tamis_make::exact;
use tamis_make::plan::Size;

fn main() {
    for kind in Kind::ALL {
        save("container", kind.name(), &container(kind, &[5, 1, 20]));
    }
    save("keys", "pairs", &keys("id,g\na,1\nb,2\nboth,2\nboth,3\n"));
    let many: String = (0..6000).map(|i| format!("{i},{}\n", i % 3)).collect();
    save("keys", "blocks", &keys(&format!("id,g\n{many}")));
    save("container", "empty", &container(Kind::Blocked, &[]));
    let [one, other] = [Kind::Blocked, Kind::Bloom].map(|kind| container(kind, &[5, 1, 20]));
    save("pipe", "two", &[one, other].concat()); // `line` is the first in base64

    let plain = || WriterProperties::builder().set_dictionary_enabled(false);
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let v2 = plain().set_writer_version(WriterVersion::PARQUET_2_0);
    for (name, properties) in [
        ("plain", plain()),
        ("dictionary", WriterProperties::builder().set_compression(zstd)),
        ("delta", v2.set_compression(Compression::SNAPPY)),
    ] {
        let table = table(properties);
        save("parquet", name, &table);
        save("parquet_filters", name, &indexed(&table));
    }
    let lengths = plain().set_encoding(Encoding::DELTA_LENGTH_BYTE_ARRAY);
    save("parquet", "lengths", &strings(lengths));
}

fn save(target: &str, name: &str, bytes: &[u8]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus-seeds").join(target);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), bytes).unwrap();
}

/// The same table with Bloom filters.
fn indexed(table: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("t.parquet"), folder.path().join("indexed.parquet"));
    fs::write(&input, table).unwrap();
    let columns = ["id", "at", "day"].map(str::to_owned).to_vec();
    let job = index::Job { input, columns, rate: 0.1, output: output.clone(), threads: 1 };
    index::index(&job, &Default::default()).unwrap();
    fs::read(output).unwrap()
}

/// The exact keys of a table.
fn keys(table: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("t.csv"), folder.path().join("t.tamis"));
    fs::write(&input, table).unwrap();
    let recipe =
        Recipe { key: vec!["id".parse().unwrap()], group: Some("g".parse().unwrap()), ..Recipe::lines() };
    let job = build::Job {
        inputs: vec![input.display().to_string()],
        options: Default::default(),
        recipe,
        sketches: Sketches::Bits {
            kind: Bits::Blocked,
            seed: 0,
            sizing: FilterSizing::Planned(1, Size::Fpr(0.1)),
        },
        bad_rows: Default::default(),
        threads: 1,
        about: Default::default(),
    };
    build::build_exact(&job, exact::MEMORY, &output, &Default::default()).unwrap();
    fs::read(exact::path_beside(&output)).unwrap()
}

/// A container of groups of this many keys each.
fn container(kind: Kind, sizes: &[u64]) -> Vec<u8> {
    let of_keys = if kind == Kind::Layered { ":split=,,lower,sort" } else { ":trim,before=@" };
    let key = vec![of_keys.parse().unwrap()];
    let weight = kind.counts().then(|| "bytes:trim".parse().unwrap());
    let recipe =
        Recipe { key, group: Some("rating:round".parse().unwrap()), weight, null: None, ..Recipe::lines() };
    let common = Common { kind, hash: Scheme::DEFAULT, recipe };
    let group = |(i, &keys): (usize, &u64)| GroupParams {
        group: Name::from(i.to_string().as_str()),
        goal: if kind.counts() { Goal::Error { epsilon: 0.5 } } else { Goal::Rate { keys, fpr: 0.01 } },
        shape: match kind {
            Kind::CountMin => countmin::shape(0.5, 0.2, 32).unwrap(),
            Kind::CountMinConservative => countmin::shape(0.5, 0.2, 64).unwrap(),
            _ => kind.shape_for_rate(keys, 0.01).unwrap(),
        },
    };
    let params = Params::new(common, sizes.iter().enumerate().map(group).collect()).unwrap();
    let (starts, words) = params.layout();
    let mut data = vec![0; words];
    let mut tallies = Vec::new();
    for ((group, &start), &size) in params.groups.iter().zip(&starts).zip(sizes) {
        let section = &mut data[start..start + group.shape.words() as usize];
        let mut keys: Vec<u64> = (0..size).map(|key| xxh3(&key.to_le_bytes(), 0)).collect();
        let mut seed = 0;
        match kind {
            Kind::Blocked => {
                Blocked::from_words(&mut *section, group.shape.hashes()).unwrap().insert_hashes(&keys)
            }
            Kind::Counting => {
                let mut filter = Counting::from_words(&mut *section, group.shape.hashes()).unwrap();
                filter.insert_hashes(&keys);
                seed = filter.remove_hashes(&keys[..1]);
            }
            Kind::Bloom => Bloom::from_words(&mut *section, group.shape.slots(), group.shape.hashes())
                .unwrap()
                .insert_hashes(&keys),
            Kind::Fuse => {
                let built = Fuse::build(&mut keys, group.shape.width()).unwrap();
                section.copy_from_slice(built.words());
                seed = built.seed();
            }
            Kind::Ribbon => {
                let widths = Widths { bits: group.shape.width(), shorter: group.shape.shorter() };
                let built = Ribbon::build(&mut keys, widths).unwrap();
                section.copy_from_slice(built.words());
                seed = built.seed();
            }
            Kind::Layered => {
                let mut filter = Layered::from_words(&mut *section, group.shape).unwrap();
                keys.chunks(3).for_each(|record| filter.insert_keywords(record));
            }
            Kind::Scalable => {
                let mut filter = Scalable::new(group.keys(), group.fpr()).unwrap();
                filter.insert_hashes(&keys, &mut vec![false; keys.len()]).unwrap();
                section.copy_from_slice(filter.words());
                seed = filter.newest();
            }
            Kind::CountMin | Kind::CountMinConservative => {
                let update = if kind == Kind::CountMin { Update::Plain } else { Update::Conservative };
                let mut sketch = CountMin::from_words(&mut *section, group.shape, update, 0).unwrap();
                sketch.add_hashes(&keys);
                seed = sketch.total();
            }
        }
        tallies.push(seal(&group.shape, section, size, Beside::from_number(kind, seed)));
    }
    let listed = vec![vec![b"a".to_vec(), b"bc".to_vec()], vec![], vec![b"".to_vec()]];
    let heavy = (kind == Kind::CountMin && sizes.len() == 3).then(|| Heavy { share: 0.1, groups: listed });
    let mut bytes = Vec::new();
    let extras = Extras { heavy: heavy.as_ref(), about: None, journal: b"" };
    write(&mut bytes, &params, &tallies, &data, extras).unwrap();
    bytes
}

/// A table of three rows, with a column of most kinds.
fn table(properties: WriterPropertiesBuilder) -> Vec<u8> {
    let schema = "message m {
        required binary id (UTF8); optional int64 at (TIMESTAMP(MICROS,true)); required boolean seen;
        optional group user { optional double score; }
        required fixed_len_byte_array(3) price (DECIMAL(5,2)); required int32 day (DATE); }";
    let mut out = Vec::new();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(&mut out, schema, Arc::new(properties.build())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    macro_rules! column {
        ($kind:ty, $values:expr, $levels:expr) => {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<$kind>().write_batch(&$values, $levels, None).unwrap();
            column.close().unwrap();
        };
    }
    column!(ByteArrayType, ["a", "bb", "a"].map(ByteArray::from), None);
    column!(Int64Type, [1_600_000_000_000_000, -1], Some(&[1, 0, 1]));
    column!(BoolType, [true, false, true], None);
    column!(DoubleType, [6.5], Some(&[0, 1, 2]));
    let fixed = |bytes: &[u8; 3]| FixedLenByteArray::from(bytes.to_vec());
    column!(FixedLenByteArrayType, [fixed(b"\0\0\x07"), fixed(b"\xff\xff\x9c"), fixed(b"\x01\0\0")], None);
    column!(Int32Type, [0, 19_000, -800_000], None);
    group.close().unwrap();
    writer.close().unwrap();
    out
}

/// A table of one column of strings.
fn strings(properties: WriterPropertiesBuilder) -> Vec<u8> {
    let mut out = Vec::new();
    let schema = Arc::new(parse_message_type("message m { required binary id (UTF8); }").unwrap());
    let mut writer = SerializedFileWriter::new(&mut out, schema, Arc::new(properties.build())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let values: Vec<ByteArray> = (0..40).map(|i| ByteArray::from(&*"x".repeat(i % 5))).collect();
    column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    out
}
