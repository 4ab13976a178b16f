"""Files that are named: read as the command line reads them, with its bytes and its reports."""

from __future__ import annotations

import gzip
import io
import os
import pickle
from pathlib import Path
from typing import Any, Callable

import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis

USERS = "id,land,n\n" + "".join(f"user-{i},{'at' if i % 3 else 'it'},{i % 7 + 1}\n" for i in range(3000))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    half = USERS.index("user-1500,")
    (tmp_path / "users.csv").write_text(USERS)
    (tmp_path / "part-1.csv").write_text(USERS[:half])
    (tmp_path / "part-2.csv.gz").write_bytes(gzip.compress(("id,land,n\n" + USERS[half:]).encode()))
    (tmp_path / "users.ndjson").write_text("".join(f'{{"id":"user-{i}"}}\n' for i in range(3000)))
    (tmp_path / "keys.txt").write_text("".join(f"user-{i}\n" for i in range(3000)))
    pq.write_table(pa.table({"id": [f"user-{i}" for i in range(3000)], "n": range(3000)}), tmp_path / "users.parquet")
    (tmp_path / "visits.csv").write_text("who,page\nuser-7,/\nnobody,/login\nuser-7,/about\n")
    return tmp_path


CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("users.csv", {"key": "id"}, ["--key", "id"]),
    ("part-*", {"key": "id", "group": "land", "fpr": 0.001}, ["--key", "id", "--group", "land", "--fpr", "0.001"]),
    ("users.ndjson", {"key": "id:upper", "kind": "bloom"}, ["--key", "id:upper", "--kind", "bloom"]),
    ("keys.txt", {"kind": "fuse", "note": "n"}, ["--kind", "fuse", "--note", "n"]),
    ("users.parquet", {"key": "n", "kind": "counting"}, ["--key", "n", "--kind", "counting"]),
    ("users.csv", {"key": "id", "kind": "count-min", "weight": "n", "heavy": 0.01},
     ["--key", "id", "--kind", "count-min", "--weight", "n", "--heavy", "0.01"]),
    ("users.csv", {"key": "id", "hash": "murmur3"}, ["--key", "id", "--hash", "murmur3"]),
]


@pytest.mark.parametrize(("name", "options", "flags"), CASES, ids=[f"{name} {options}" for name, options, _ in CASES])
def test_files_give_the_bytes_of_the_command_line(
    folder: Path, cli: Callable[..., str], name: str, options: dict[str, Any], flags: list[str]
) -> None:
    cli("build", folder / name, *flags, "-o", folder / "theirs.tamis")
    theirs = (folder / "theirs.tamis").read_bytes()
    assert tamis.build(str(folder / name), **options).to_bytes() == theirs
    assert tamis.build(folder / name, **options, output=folder / "ours.tamis").to_bytes() == theirs
    assert (folder / "ours.tamis").read_bytes() == theirs
    planned = {name: value for name, value in options.items() if name not in ("note", "heavy")}
    if options.get("kind") != "fuse":
        assert tamis.plan(folder / name, **planned) == tamis.open(folder / "theirs.tamis").params


def test_how_text_is_read_can_be_said(folder: Path, cli: Callable[..., str]) -> None:
    (folder / "odd.txt").write_text("#c\nann;1\nbob;2\n")
    flags = ["--delimiter", ";", "--no-header", "--comment", "#", "--key", "1"]
    cli("build", folder / "odd.txt", *flags, "-o", folder / "theirs.tamis")
    odd = tamis.files(folder / "odd.txt", delimiter=";", no_header=True, comment="#")
    assert tamis.build(odd, key="1").to_bytes() == (folder / "theirs.tamis").read_bytes()
    assert "delimiter=59" in repr(odd)
    with pytest.raises(ValueError, match="one character"):
        tamis.files("x.csv", delimiter="::")
    with pytest.warns(UserWarning, match="delimiter had no effect"):
        tamis.build(tamis.files(folder / "users.parquet", delimiter=";"), key="id")


def test_a_str_is_a_path_and_a_list_of_str_is_one_of_keys(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    parts = [Path("part-1.csv"), Path("part-2.csv.gz")]
    of_files = tamis.build("users.csv", key="id")
    assert tamis.build(parts, key="id") == of_files == tamis.build(tamis.files(*map(str, parts)), key="id")
    assert tamis.build("part-*", key="id") == of_files
    with pytest.warns(UserWarning, match=r"list of str is one of keys, and 'users.csv' is a file here: tamis.files"):
        keys = tamis.build(["users.csv"])
    assert "users.csv" in keys and "user-7" not in keys
    with pytest.raises(FileNotFoundError, match=r"a str names files; one key is given in a list: \['ann'\]"):
        tamis.build("ann")
    with pytest.raises(TypeError, match="rb"), open("keys.txt") as text:
        tamis.build(text)


def test_open_files_and_addresses_are_read_and_written(folder: Path) -> None:
    expected = tamis.build(folder / "users.csv", key="id")
    with open(folder / "users.csv", "rb") as file:
        assert tamis.build(file, key="id") == expected
    assert tamis.build(tamis.files(io.BytesIO(USERS.encode()), format="csv"), key="id") == expected
    memory: Any = fsspec.filesystem("memory")
    for name in ("part-1.csv", "part-2.csv.gz"):
        memory.pipe(f"/lake/{name}", (folder / name).read_bytes())
    assert tamis.build("memory://lake/part-*", key="id") == tamis.build("memory://lake", key="id") == expected
    expected.save("memory://lake/users.tamis")
    assert tamis.open("memory://lake/users.tamis") == expected
    assert "user-7" in tamis.Filter.open("memory://lake/users.tamis")
    buffer = io.BytesIO()
    expected.save(buffer)
    buffer.seek(0)
    assert tamis.open(buffer) == expected
    tamis.Filter(["ann"]).save("memory://lake/seen.tamis")
    assert "ann" in tamis.open("memory://lake/seen.tamis")
    with pytest.raises(FileNotFoundError):
        tamis.build("memory://lake/none-*.csv", key="id")


def test_records_of_files_pass_as_on_the_command_line(folder: Path, cli: Callable[..., str]) -> None:
    users = tamis.build(folder / "users.csv", key="id", group="land", fpr=1e-6)
    told = tamis.filter(folder / "visits.csv", users, "who", output=folder / "known.csv", rejected=folder / "others.csv")
    assert isinstance(told, tamis.FilterReport)
    assert (told.records, told.admitted, told.rejected, told.without_key) == (3, 2, 1, 0)
    assert (folder / "known.csv").read_text() == "who,page\nuser-7,/\nuser-7,/about\n"
    assert (folder / "others.csv").read_text() == "who,page\nnobody,/login\n"
    users.save(folder / "users.tamis")
    cli("filter", folder / "users.tamis", folder / "visits.csv", "--key", "who", "--tag", "-o", folder / "theirs.csv")
    tamis.filter(str(folder / "visits.csv"), folder / "users.tamis", "who", tag="tamis_groups", output=folder / "ours.csv")
    assert (folder / "ours.csv").read_text() == (folder / "theirs.csv").read_text()
    assert tamis.filter(folder / "visits.csv", users, "who", count=True, invert=True).details["admitted"] == 2
    with pytest.raises(ValueError, match="output="):
        tamis.filter(folder / "visits.csv", users, "who")
    seen = tamis.Filter(["nobody"])
    assert tamis.filter(folder / "visits.csv", seen, "who", count=True).admitted == 1


def test_repetitions_in_files_are_dropped_as_on_the_command_line(folder: Path) -> None:
    told = tamis.dedup(folder / "visits.csv", "who", output=folder / "first.csv", state=folder / "state.tamis")
    assert isinstance(told, tamis.DedupReport) and (told.records, told.first, told.repeated) == (3, 2, 1)
    assert (folder / "first.csv").read_text() == "who,page\nuser-7,/\nnobody,/login\n"
    exact = tamis.dedup(folder / "visits.csv", "who", strict=True, count=True)
    assert exact.first == 2 and exact.dropped_expected == 0
    with pytest.raises(ValueError, match="count=True"):
        tamis.dedup(folder / "visits.csv")


def test_exact_keys_lie_beside_the_file_and_leave_no_false_positives(folder: Path, cli: Callable[..., str]) -> None:
    cli("build", folder / "users.csv", "--key", "id", "--group", "land", "--bits-per-key", "2", "--exact", "-o", folder / "t.tamis")
    options: dict[str, Any] = {"key": "id", "group": "land", "bits_per_key": 2, "exact": True}
    frame = pd.read_csv(folder / "users.csv", dtype=str)
    for data, name in [(folder / "users.csv", "a.tamis"), (frame, "b.tamis")]:
        users = tamis.build(data, **options, output=folder / name)
        assert users.exact and (folder / name).read_bytes() == (folder / "t.tamis").read_bytes()
        assert (folder / f"{name}.keys").read_bytes() == (folder / "t.tamis.keys").read_bytes()
    asked = pd.DataFrame({"id": [f"user-{i}" for i in range(2000, 6000)], "land": ["at"] * 4000})
    loose, strict = users.filter(asked), users.filter(asked, strict=True)
    assert len(strict) == 1000 < len(loose) and strict["id"].tolist() == [f"user-{i}" for i in range(2000, 3000)]
    assert len(users.filter(asked, strict=True, invert=True)) == 3000
    assert len(users.filter(asked, strict=True, group="it")) == len(users.filter(asked[asked.index % 3 == 1], strict=True)) == 333
    own = users.filter(asked, strict=True, own_group=True)
    assert own["id"].tolist() == [f"user-{i}" for i in range(2000, 3000) if i % 3]
    assert tamis.filter(folder / "visits.csv", folder / "a.tamis", "who", strict=True, count=True).admitted == 2
    assert not tamis.build(["ann"]).exact
    with pytest.raises(ValueError, match="name that of the filters by output="):
        tamis.build(["ann"], exact=True)
    with pytest.raises(ValueError, match="build with exact=True"):
        tamis.build(["ann"]).filter(["ann"], strict=True)
    numbers = tamis.build([1, 2, 3], exact=True, output=folder / "numbers.tamis")
    assert numbers.filter(pd.Series([1.0, None, 9.0]), strict=True, bad_rows="skip").tolist() == [1.0]


def test_filters_and_counts_are_tested_without_spark(folder: Path, cli: Callable[..., str]) -> None:
    frame = pd.read_csv(folder / "users.csv", dtype={"id": str})
    users = tamis.build(frame, key="id", group="land", fpr=0.05, output=folder / "users.tamis")
    for data in (frame, folder / "users.csv", pa.Table.from_pandas(frame)):
        told = tamis.test(data, users, random=10_000)
        assert isinstance(told, tamis.TestReport) and told.passed and told.keys >= 3000 and told.false_negatives == 0
        assert [group.group for group in told.groups] == ["at", "it"] and told.fpr is not None and 0.03 < told.fpr < 0.07
        assert told.groups[0].target_fpr == 0.05
    by_rows, by_files = tamis.test(frame, users), tamis.test(folder / "users.csv", folder / "users.tamis")
    assert by_rows == by_files
    wrong = tamis.test(pd.DataFrame({"id": ["zoe"], "land": ["at"]}), users)
    assert isinstance(wrong, tamis.TestReport) and not wrong.passed and wrong.false_negatives == 1
    outside = tamis.test(None, users, negatives={"id": [f"x{i}" for i in range(1000)]})
    assert isinstance(outside, tamis.TestReport) and outside.negatives == 2000
    seen = tamis.Filter(frame["id"], keys=3000)
    assert tamis.test(frame["id"], seen, random=1000).passed
    counts = tamis.build(frame, key="id", kind="count-min", weight="n")
    for data in (frame, folder / "users.csv"):
        report = tamis.test(data, counts)
        assert isinstance(report, tamis.CountsTestReport) and report.passed and report.groups[0].keys == 3000
    with pytest.raises(ValueError, match="nothing to test|name the data|give"):
        tamis.test(None, users)


def test_the_pickle_of_a_mapped_file_is_its_path_and_falls_back_to_its_bytes(folder: Path) -> None:
    users = tamis.build(folder / "users.csv", key="id", output=folder / "users.tamis")
    by_path = pickle.dumps(users)
    assert len(by_path) < 400 and pickle.loads(by_path) == users
    os.rename(folder / "users.tamis", folder / "moved.tamis")
    by_bytes = pickle.dumps(users)
    assert len(by_bytes) > users.nbytes and pickle.loads(by_bytes) == users
    with pytest.raises(tamis.Error, match="the pickle names this file"):
        pickle.loads(by_path)
    tamis.build(["eve"]).save(folder / "users.tamis")
    with pytest.raises(tamis.Error, match="the pickle names this file"):
        pickle.loads(by_path)
    assert pickle.loads(pickle.dumps(users)) == users
    assert len(pickle.dumps(tamis.build(["ann"]))) > 200
