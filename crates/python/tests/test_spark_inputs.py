"""What Spark reads and writes for the command line is what the program reads and writes on one machine."""

from __future__ import annotations

import datetime
import decimal
import gzip
import json
import lzma
import os
from pathlib import Path
from typing import Any, Callable, Optional

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.spark import _batch, _inputs, _read, _tasks, job

pytestmark = pytest.mark.spark


def _filter(spark: Any, filters: Path, inputs: list[Path], output: Optional[Path], **more: Any) -> dict[str, int]:
    asked = {
        "inputs": [str(path) for path in inputs], "filters": str(filters), "output": output and str(output),
        "output_format": None, "invert": False, "partial": False, "group": None, "bad_rows": "skip", **more,
    }
    told: dict[str, int] = job._filter(spark, asked)[0]
    return told


def _written(folder: Path) -> list[bytes]:
    return [line for path in sorted(folder.glob("part-*")) for line in path.read_bytes().split(b"\n")[:-1]]


# Numbers as they are written, blanks around values, quotes that need not be, CRLF, empty lines, a byte order mark,
# values that are no UTF-8, a record without a key.
RECORDS: dict[str, tuple[list[bytes], list[str], str]] = {
    "ndjson": (
        [b'{"id":7,"n":1.50}\n{"id":8.5}\r\n{"n":3}\n', b'{"id": 1.50 , "id2": 2}\n\n{"id":9}'],
        ["7", "1.50"],
        "id",
    ),
    "csv": (
        [b"\xef\xbb\xbfid,who\n1, ann \n\"2\",\"b,ob\"\n3,\n,x\n", b"id,who\n4,\"\"\n1,J\xfcrgen\n\n5,eve"],
        ["1", "2", "4"],
        "id",
    ),
    "tsv": ([b"who\tid\r\na b\t07\r\n c\t 7\r\nd\t7\r\n"], ["07", "7"], "id"),
    "txt": ([b"ann\n bob\r\neve", b"ann\n"], ["ann", " bob"], ""),
}


# What does not pass is found as what does, whatever the format.
@pytest.mark.parametrize(
    "form, invert",
    [*((form, False) for form in RECORDS), ("csv", True)]
    + [pytest.param(form, True, marks=pytest.mark.full) for form in RECORDS if form != "csv"],
)
def test_lines_pass_that_pass_on_one_machine_and_as_they_are(
    spark: Any, cli: Callable[..., str], tmp_path: Path, form: str, invert: bool
) -> None:
    parts, keys, column = RECORDS[form]
    filters, inputs = tmp_path / "f.tamis", tmp_path / "in"
    inputs.mkdir()
    for number, data in enumerate(parts):
        (inputs / f"{number}.{form}").write_bytes(data)
    if column:
        tamis.build({column: keys}, key=column, fpr=1e-9).save(filters)
    else:
        tamis.build(keys, fpr=1e-9).save(filters)
    here, there = tmp_path / f"here.{form}", tmp_path / "there"
    cli("filter", filters, inputs, "-o", here, "--bad-rows", "skip", *(["--invert"] if invert else []))
    told = _filter(spark, filters, [inputs], there, invert=invert)
    expected = here.read_bytes().removeprefix("\ufeff".encode()).split(b"\n")
    expected = expected[:-1] if expected[-1] == b"" else expected
    header = [expected.pop(0)] if form in ("csv", "tsv") else []
    written = _written(there)
    assert sorted(line for line in written if line not in header) == sorted(expected)
    assert told == _filter(spark, filters, [inputs], None, invert=invert)
    assert (told["records"] - told["admitted"] if invert else told["admitted"]) == len(expected)
    if header:
        assert all(path.read_bytes().split(b"\n")[:1] == header for path in there.glob("part-*"))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_records_are_asked_partially_on_executors_too(spark: Any, tmp_path: Path, form: str) -> None:
    filters, data = tmp_path / "f.tamis", tmp_path / f"asked.{form}"
    rows = {"tags": ["space, alien", "love, war"]}
    tamis.build(rows, keywords="tags:split=,", kind="layered", layers=2, fpr=1e-6).save(filters)
    asked = ["love, war", "space", "space, war", "war"]
    if form == "csv":
        data.write_text("tags\n" + "".join(f'"{tags}"\n' for tags in asked))
    else:
        pq.write_table(pa.table({"tags": asked}), data)
    assert _filter(spark, filters, [data], None)["admitted"] == 1
    assert _filter(spark, filters, [data], None, partial=True)["admitted"] == 3
    tamis.build(rows, keywords="tags:split=,").save(filters)
    with pytest.raises(ValueError, match="blocked has none"):
        _filter(spark, filters, [data], None, partial=True)


def test_lines_that_passed_become_other_formats(spark: Any, tmp_path: Path) -> None:
    filters, data = tmp_path / "f.tamis", tmp_path / "d.ndjson"
    data.write_text('{"id":7,"of":{"x":1}}\n{"id":8.5}\r\nno object\n{"id":9}\n')
    tamis.build({"id": ["7", "8.5"]}, key="id", fpr=1e-9).save(filters)
    _filter(spark, filters, [data], tmp_path / "a", output_format="parquet")
    assert sorted(pq.read_table(tmp_path / "a").column("id").to_pylist()) == [7.0, 8.5]
    tamis.build({"id": ["0"]}, key="id", fpr=1e-9).save(tmp_path / "none.tamis")
    _filter(spark, tmp_path / "none.tamis", [data], tmp_path / "b", output_format="parquet")
    assert spark.read.parquet(str(tmp_path / "b")).columns == ["id", "of"]
    data = tmp_path / "d.csv"
    data.write_text('id;a b\n7; x \n8.5;"y;"\n9;z\n')
    for form, expected in (("csv", ["id,a b", "7, x ", "8.5,y;"]), ("tsv", ["id\ta b", "7\t x ", "8.5\ty;"])):
        _filter(spark, filters, [data], tmp_path / form, output_format=form)
        assert _written(tmp_path / form) == [line.encode() for line in expected]
    _filter(spark, filters, [data], tmp_path / "own")
    assert _written(tmp_path / "own") == [b"id;a b", b"7; x ", b'8.5;"y;"']
    data = tmp_path / "d.txt"
    data.write_text("7\r\n8\n")
    tamis.build(["7"], fpr=1e-9).save(filters)
    _filter(spark, filters, [data], tmp_path / "lines", output_format="ndjson")
    assert _written(tmp_path / "lines") == [b'{"value":"7"}']


def test_a_filter_that_fails_leaves_no_folder(spark: Any, tmp_path: Path) -> None:
    filters, data, output = tmp_path / "f.tamis", tmp_path / "d.csv", tmp_path / "out"
    data.write_text("id,n\n1,1\n,2\n")
    tamis.build({"id": ["1"]}, key="id").save(filters)
    with pytest.raises(Exception, match="in the key"):
        _filter(spark, filters, [data], output, bad_rows="fail")
    assert not output.exists()


def _built(spark: Any, *inputs: object, key: str = "key") -> tamis.Sketch:
    options = {"key": [key], "bad_rows": "fail"}
    return _batch.build_source(_read.rows(spark, [str(one) for one in inputs], {}, options), options)[0]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_files_of_folders_and_patterns_are_those_of_one_machine(
    spark: Any, cli: Callable[..., str], tmp_path: Path, form: str
) -> None:
    """Subfolders, some with names that Spark makes columns of; markers, hidden files and files of filters."""
    folder = tmp_path / "data"

    def put(name: str, key: str) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if form == "csv":
            path.write_text(f"key\n{key}\n")
        else:
            pq.write_table(pa.table({"key": [key]}), path)

    names = [f"a.{form}", f"sub/b.{form}", f"k=v/c.{form}", f"_hidden/d.{form}", f"z[1]{{x}}.{form}", f"s p%20ce.{form}"]
    for number, name in enumerate(names):
        put(name, f"k{number}")
    for name in ("_SUCCESS", "sub/_metadata", ".h", "sub/.git/x"):
        put(name, "no key")
    for name in ("old.tamis", "sub/old.tamis.keys"):
        put(name, "no key")
    os.symlink(folder, folder / "sub" / "back")
    here = tmp_path / "here.tamis"
    for inputs in ([folder], [folder / "?.*", folder / "s*"], [folder / f"z[1]{{x}}.{form}"], [folder / "[!_o]*"]):
        cli("build", *inputs, "--key", "key", "-o", here)
        there = _built(spark, *inputs)
        assert there == tamis.open(here), inputs
    assert [_built(spark, folder).contains(f"k{number}") for number in range(len(names))] == [True] * len(names)


def test_files_that_spark_would_leave_out_or_misread_are_refused(spark: Any, tmp_path: Path) -> None:
    text = b"key\na\n"
    for name in ("_a.csv", ".a.csv", "a.csv._COPYING_", "d/_b.csv", "f.tamis"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text)
    for name in ("_a.csv", ".a.csv", "a.csv._COPYING_", "d", "_*.csv"):
        with pytest.raises(tamis.Error, match="Spark reads no file whose name begins with _"):
            _built(spark, tmp_path / name)
    (tmp_path / "a.csv.xz").write_bytes(lzma.compress(text))
    (tmp_path / "b.csv").write_bytes(gzip.compress(text))
    (tmp_path / "empty").mkdir()
    times = tmp_path / "times"
    for name in ("9.csv", "10:00.csv", "10:00/9.csv", "10:00/[9].csv"):
        (times / name).parent.mkdir(parents=True, exist_ok=True)
        (times / name).write_bytes(text)
    for name in ("10:00.csv", ".", "10:00/[9].csv"):
        with pytest.raises(tamis.Error, match="Spark cannot read a file whose name has a colon"):
            _built(spark, times / name)
    assert _built(spark, times / "10:00" / "9.csv").contains("a")
    for name, why in {
        "times/9*": r"no names where one has a colon .10:00(.csv)?.: name the folder", "times/10:00/9*": "one has a colon",
        "a.csv.xz": "cannot decompress xz", "b.csv": "its name must tell", "f.tamis": "a file of filters",
        "**/b.csv": "name a folder", "empty": "contains no files", "none*": "no file matches", "none": "no such file",
    }.items():  # fmt: skip
        with pytest.raises(tamis.Error, match=why):
            _built(spark, tmp_path / name)


def test_a_file_that_is_meant_twice_is_refused(spark: Any, tmp_path: Path) -> None:
    """One machine counts its rows twice, and Spark reads it once."""
    for name in ("a.csv", "a.parquet"):
        path = tmp_path / "in" / name
        path.parent.mkdir(exist_ok=True)
        if name == "a.csv":
            path.write_text("key\na\n")
        else:
            pq.write_table(pa.table({"key": ["a"]}), path)
        for other in (path, f"file://{path}", f"{path.parent}/./{name}", path.with_name(f"?{name[1:]}")):
            with pytest.raises(tamis.Error, match=f"{name}: this file is named twice, or matched by two inputs"):
                _read.rows(spark, [str(path), str(other)], {}, {"key": ["key"]})
    with pytest.raises(tamis.Error, match="a.csv: this file is named twice"):
        _read.rows(spark, [str(path.parent), str(path.with_name("*.csv"))], {}, {"key": ["key"]})


M = datetime.datetime(2026, 11, 15, 12, 34)
D = decimal.Decimal

# What Spark takes for one type, and one machine makes other texts of.
UNLIKE: list[tuple[pa.Array, Optional[pa.Array]]] = [
    (pa.array([0.5]), pa.array([0.1], pa.float32())),
    (pa.array([0.5]), pa.array([7], pa.int32())),
    (pa.array([D("1.50")], pa.decimal128(9, 2)), pa.array([D("2.5")], pa.decimal128(8, 1))),
    (pa.array([M], pa.timestamp("us")), pa.array([M.date()])),
    (pa.array(["a"]), None),
]


def test_parquet_files_whose_keys_are_of_other_types_or_are_missing_are_refused(
    spark: Any, cli: Callable[..., str], tmp_path: Path
) -> None:
    first, second = tmp_path / "0.parquet", tmp_path / "1.parquet"
    for one, other in UNLIKE:
        pq.write_table(pa.table({"key": one, "n": [1]}), first)
        pq.write_table(pa.table({"n": [2]} if other is None else {"n": [2], "key": other}), second)
        why = "there is no column 'key', and .* has it" if other is None else "column 'key' is .*, and .* in .*: Spark"
        for inputs in ([first, second], [second, first]):
            with pytest.raises(tamis.Error, match=why):
                _read.rows(spark, [str(path) for path in inputs], {}, {"key": ["key"], "null": "none"})
    # Where columns stand is of interest where they are asked for by number, and what the others are is not.
    pq.write_table(pa.table({"n": [1.5], "key": ["a"], "of": [{"key": 1}]}), first)
    pq.write_table(pa.table([["b"], [7]], pa.schema([pa.field("key", pa.string(), False), ("n", pa.int64())])), second)
    assert _built(spark, first, second).contains(["a", "b"]) == [True, True]
    for key, why in (("2", "its column 2 is not the one that Spark counts so"), ("of.key", "no column 'of.key'")):
        with pytest.raises(tamis.Error, match=why):
            _read.rows(spark, [str(first), str(second)], {}, {"key": [key]})
    pq.write_table(pa.table({"of": [{"x": 1, "y": 2}], "key": ["a"]}), first)
    for number in (2, 3):
        with pytest.raises(tamis.Error, match=f"its column {number} is not the one that Spark counts so: ask for it by name"):
            _read.rows(spark, [str(first)], {}, {"key": [str(number)]})
    pq.write_table(pa.table({"n": [1], "2026": ["a"]}), first)
    assert _built(spark, first, key="2026").contains("a")


def test_a_quoted_value_over_a_line_end_is_refused_wherever_batches_end(spark: Any, tmp_path: Path) -> None:
    """Between two batches it would be cut, and where lines become another format in any case."""
    lines = [b"key,n", b'a,"one', b'two"', b"c,3"]
    columns = [pa.array(lines), pa.array([1] * 4), pa.array([0] * 4)]
    batch = pa.RecordBatch.from_arrays(columns, names=["value", "file", "start"])
    text = {"format": "csv", "delimiter": ord(","), "no_header": False, "quotes": "csv", "header": b"key,n\n"}
    for size in (4, 2):
        for bad_rows in ("fail", "skip"):
            with pytest.raises(tamis.Error, match='"a,.*"one" opens a quoted .* cannot hold a line end'):
                task = _tasks.CountRows({"key": ["key"], "bad_rows": bad_rows, "text": text}, 1, 1 << 20)
                list(task(batch.slice(start, size) for start in range(0, 4, size)))
    options = {"key": ["key"], "text": {**text, "quotes": "none"}}
    assert list(_tasks.CountRows(options, 1, 1 << 20)([batch]))
    filters, data = tmp_path / "f.tamis", tmp_path / "d.csv"
    tamis.build({"key": ["a", "c"]}, key="key").save(filters)
    data.write_bytes(b"\n".join(lines))
    with pytest.raises(Exception, match="cannot hold a line end"):
        _filter(spark, filters, [data], tmp_path / "out", output_format="parquet")
    assert not (tmp_path / "out").exists()
    data.write_bytes(b'key,"of\nmany"\na,1\n')
    with pytest.raises(tamis.Error, match="a quoted value of its header holds a line end"):
        _built(spark, data)


def test_timestamps_are_those_of_one_machine_or_refused(
    spark: Any, cli: Callable[..., str], tmp_path: Path
) -> None:
    """Spark reads an INT96 as a point in time, `…Z`; it is a local time."""
    setting = "spark.sql.parquet.outputTimestampType"
    rows = spark.sql("select timestamp '2026-11-15 12:34:56.5' as key, timestamp_ntz '2026-11-15 12:34:56' as local")
    nested = rows.selectExpr("struct(key as at) as key", "'x' as other")
    for kind in ("TIMESTAMP_MICROS", "INT96"):
        spark.conf.set(setting, kind)
        rows.write.parquet(str(tmp_path / kind))
        nested.write.parquet(str(tmp_path / "nested" / kind))
    spark.conf.unset(setting)
    here = tmp_path / "here.tamis"
    cli("build", tmp_path / "TIMESTAMP_MICROS", "--key", "key", "-o", here)
    assert _built(spark, tmp_path / "TIMESTAMP_MICROS") == tamis.open(here)
    with pytest.raises(tamis.Error, match="column 'key' is an INT96"):
        _built(spark, tmp_path / "TIMESTAMP_MICROS", tmp_path / "INT96")
    with pytest.raises(tamis.Error, match="column 'key' is an INT96"):
        _filter(spark, here, [tmp_path / "INT96"], None)
    with pytest.raises(tamis.Error, match="column 'key.at' is an INT96"):
        _read.rows(spark, [str(tmp_path / "nested" / "INT96")], {}, {"key": ["key.at"]})
    # Other columns may be what they are.
    local = {"key": ["local"]}
    cli("build", tmp_path / "INT96", "--key", "local", "-o", here)
    there, _ = _batch.build_source(_read.rows(spark, [str(tmp_path / "INT96")], {}, local), local)
    assert there == tamis.open(here)


def test_an_output_that_is_an_input_is_refused(spark: Any, tmp_path: Path) -> None:
    data = tmp_path / "in" / "x.csv"
    data.parent.mkdir()
    data.write_text("key\na\n")
    (tmp_path / "link.csv").symlink_to(data)
    asked = {"key": ["key"], "bad_rows": "fail"}
    for named in (data, data.parent, tmp_path / "in" / "*", f"file://{data}"):
        for output in (data, tmp_path / "link.csv"):
            with pytest.raises(tamis.Error, match="is an input and would be overwritten"):
                job._build(spark, {**asked, "inputs": [str(named)], "output": str(output)})
    assert data.read_text() == "key\na\n"


# Files of lines and those of CSV are read as one.
FORMS = ["txt", pytest.param("csv", marks=pytest.mark.full), "parquet"]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder of files of a format, in whose names stand characters that mean something elsewhere."""

    def made(form: str) -> Path:
        folder = tmp_path_factory.mktemp(form) / "in"
        for number, name in enumerate(("a", "sub/b c", "k=v/100%20", "sub/-x", "z[1]", "sub/\u00fc+&")):
            path = folder / f"{name}.{form}"
            path.parent.mkdir(parents=True, exist_ok=True)
            keys = [f"k{number}", f"l{number}", "shared"]
            if form == "parquet":
                pq.write_table(pa.table({"n": [1, 2, 3], "key": keys}), path)
            elif form == "csv":
                path.write_text("n,key\n" + "".join(f"1,{key}\n" for key in keys))
            else:
                path.write_text("".join(f"{key}\n" for key in keys))
        return folder

    return made


@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_called_as_on_one_machine(
    spark: Any, cli: Callable[..., str], tmp_path: Path, named: Callable[[str], Path], form: str
) -> None:
    """The bytes are the same, however files are named, and whatever is made of their names."""
    folder = named(form)
    near = os.path.relpath(folder)
    key_of = None if form == "txt" else ["key"]
    here, there = tmp_path / "here.tamis", tmp_path / "there.tamis"

    def same(inputs: list[str], *, key: Optional[list[str]] = None, **more: Any) -> tamis.Sketch:
        key = key or key_of or []
        flags = [flag for part in key for flag in ("--key", part)]
        flags += [flag for name, value in more.items() for flag in (f"--{name}", value)]
        # A scheme is no part of a name, and one machine knows none.
        cli("build", *(name.removeprefix("file://") for name in inputs), *flags, "-o", here)
        asked = {"inputs": inputs, "output": str(there), "key": key or None, "bad_rows": "fail", **more}
        job._build(spark, asked)
        assert there.read_bytes() == here.read_bytes(), (inputs, more)
        return tamis.open(here)

    below = os.path.join(near, "sub")
    ways = [
        [near], [f"file://{folder}"], [f"{near}/a.{form}", f"./{below}/*"], [f"./{near}//"], [str(folder)],
        [f"{near}/*/*.{form}"], [f"file://{folder}/s*"], [f"{near}/z[1].{form}", f"{below}/../k=v"],
    ]  # fmt: skip
    # How files are found does not depend on what is in them.
    for inputs in ways[:3] if form == "parquet" else ways:
        index = same(inputs, group="(file)")
        assert all(str(name).startswith(near if inputs[0][0] == "." else "/") for name in index.group_names), inputs
    spark._jsc.hadoopConfiguration().set(f"fs.viewfs.mounttable.{form}.link./logs", f"file://{folder}")
    for far in (f"viewfs://{form}/logs", f"viewfs://{form}/logs/*"):
        job._build(spark, {"inputs": [far], "output": str(there), "group": "(file)", "key": key_of, "bad_rows": "fail"})
        below_far = sorted(f"/logs/{path.relative_to(folder)}" for path in folder.glob("**/*.*"))
        assert tamis.open(there).group_names == below_far
    same([near], group="(file):after=/,before=.")
    same([near], group="(file)", hash="murmur3")
    same([near], key=["(file)"])
    # A line is a column where that is declared.
    two = {"key": ["(file):after=/", "key"]} if form != "txt" else {"key": ["1", "(file):after=/"], "format": "lines"}
    same([near], group="(file)", kind="count-min", **two)


@pytest.mark.parametrize("form", FORMS)
def test_files_are_asked_by_their_names_as_on_one_machine(
    spark: Any, cli: Callable[..., str], tmp_path: Path, named: Callable[[str], Path], form: str
) -> None:
    folder = named(form)
    near, index, seen = os.path.relpath(folder), tmp_path / "index.tamis", tmp_path / "seen.tamis"
    key = [] if form == "txt" else ["--key", "key"]
    cli("build", near, *key, "--group", "(file)", "-o", index)
    asked = {"inputs": [near], "negatives": [], "filters": str(index), "random": 0, "seed": 1, "bad_rows": "fail"}
    found = job._test(spark, asked)[0]["findings"]
    report = json.loads(cli("test", index, near, "--json"))
    concluded = json.loads(tamis._tamis.conclude_test(tamis.open(index)._file, json.dumps(found), True, False))
    assert concluded["groups"] == report["groups"] and report["false_negatives"] == 0
    # A key of the name: what is in some of the files passes.
    cli("build", f"{near}/sub", "--key", "(file)", "--fpr", "1e-9", "-o", seen)
    told = _filter(spark, seen, [Path(near)], tmp_path / "out")
    of_key = ["text"] if form == "parquet" else []
    assert told == {"records": 18, "admitted": 9, "keyless": 0, "quoted": [], "classes": of_key}
    assert job._test(spark, {**asked, "inputs": [f"{near}/sub"], "filters": str(seen)})[0]["findings"]
    # Of an index, the key alone is asked.
    assert _filter(spark, index, [Path(near)], None)["admitted"] == 18


def test_names_of_files_that_would_mislead_are_refused(spark: Any, tmp_path: Path) -> None:
    """Those of two files at once, of columns, and of rows that come from no file."""
    for name in ("a.csv", "a.parquet"):
        path = tmp_path / name
        if name == "a.csv":
            path.write_text("key,(file)\na,b\n")
        else:
            pq.write_table(pa.table({"key": ["a"], "(file)": ["b"]}), path)
        with pytest.raises(tamis.Error, match='it has a column called "\\(file\\)"'):
            _read.rows(spark, [str(path)], {}, {"key": ["key"], "group": "(file)"})
    plain = tmp_path / "_" / "plain.parquet"
    plain.parent.mkdir()
    pq.write_table(pa.table({"key": ["a"]}), plain)
    for inputs in ([plain, path], [path, plain]):
        with pytest.raises(tamis.Error, match='it has a column called "\\(file\\)"'):
            _read.rows(spark, [str(one) for one in inputs], {}, {"key": ["key"], "group": "(file)"})
    files = _inputs.find(spark, [str(plain), str(path)])
    files[1].called = f"/{files[0].called}"  # as in another file system
    with pytest.raises(tamis.Error, match=r"plain.parquet and .*a.parquet: \(file\) is '.*plain.parquet' for both"):
        _inputs.names(spark, files)
    with pytest.raises(ValueError, match="rows come from no file that was named; add a column of names"):
        tamis.spark.build(spark.read.parquet(str(path)), key="key", group="(file)")
