"""Opening, saving, closing, and what goes wrong."""

from __future__ import annotations

import copy
import datetime
import inspect
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, Callable

import pyarrow as pa
import pytest

import tamis


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "users.tamis"
    tamis.build({"id": ["ann", "bob"], "country": ["at", "it"]}, key="id", group="country", fpr=1e-6).save(path)
    return path


def test_a_file_is_open_until_it_is_closed(file: Path) -> None:
    with tamis.open(file) as users:
        assert users.contains("ann") and users.kind == "blocked"
        assert users.nbytes == os.path.getsize(file)
        assert users.inspect()["path"] == str(file)
    assert repr(users) == "<tamis.Sketch, closed>"
    with pytest.raises(ValueError, match="closed"):
        users.contains("ann")
    users.close()


def test_a_file_is_mapped_not_read(tmp_path: Path, memory_of: Callable[[str, str], int]) -> None:
    path = tmp_path / "large.tamis"
    tamis.build(["ann"], keys=50_000_000).save(path)
    grown = memory_of("import tamis", f"assert tamis.open({str(path)!r}).contains('ann')")
    assert os.path.getsize(path) > 50_000_000 and grown < 20_000  # kilobytes
    assert memory_of("import tamis", f"whole = open({str(path)!r}, 'rb').read()") > 50_000


def test_processes_ask_the_same_file(file: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(tamis.open(file).contains, ["ann", "bob", "eve"]) == [True, True, False]


def test_threads_ask_at_once(file: Path) -> None:
    users = tamis.open(file)
    keys = pa.array(["ann", "eve"] * 60_000)
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(users.contains(keys).true_count)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [60_000] * 4


def test_copies_hold_the_same(file: Path) -> None:
    users = tamis.open(file)
    assert copy.deepcopy(users) == users == pickle.loads(pickle.dumps(users, protocol=2))
    assert users != tamis.build(["ann"]) and users != "ann"
    with pytest.raises(TypeError):
        hash(users)


def test_what_is_saved_replaces_the_old_file_whole(file: Path) -> None:
    old = tamis.open(file)
    tamis.build(["eve"]).save(file)
    assert tamis.open(file).contains("eve") and old.contains("ann")
    assert os.listdir(file.parent) == ["users.tamis"]


def test_damage_is_found(file: Path) -> None:
    bytes = bytearray(file.read_bytes())
    bytes[-30] ^= 1
    file.write_bytes(bytes)
    damaged = tamis.open(file)
    with pytest.raises(tamis.Error, match="checksum"):
        damaged.verify()
    with pytest.raises(tamis.Error, match="checksum"):
        damaged | damaged
    file.write_bytes(bytes[:-1])
    with pytest.raises(tamis.Error, match="truncated"):
        tamis.open(file)
    with pytest.raises(tamis.Error, match="not a tamis file"):
        tamis.from_bytes(b"no such thing")


ROWS = pa.table({"id": ["ann", None, "bob"], "n": [1, 2, 3], "l": [[1], [2], [3]]})
COUNTS = tamis.build(["a"], kind="count-min")
GROUPED = tamis.build({"id": ["ann"], "c": ["at"]}, key="id", group="c")
KEYS = tamis.build(["ann"])

WRONG: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    (FileNotFoundError, "none.tamis", lambda: tamis.open("/none.tamis")),
    (tamis.Error, "not a regular file", lambda: tamis.open("/")),
    (tamis.Error, "folder does not exist", lambda: KEYS.save("/none/x.tamis")),
    (tamis.Error, "/none--there/", lambda: KEYS.save("/none--there/x.tamis")),
    (tamis.Error, 'did you mean "my--id"', lambda: tamis.build({"my--id": [1]}, key="my--ix")),
    (tamis.Error, r"row 1 .*null.*bad_rows=\"skip\"", lambda: tamis.build(ROWS, key="id")),
    (tamis.Error, "row 1 ", lambda: KEYS.contains(["ann", None])),
    (tamis.Error, "row 0 ", lambda: KEYS.contains(pa.array([""]))),
    (tamis.Error, "in the key", lambda: KEYS.contains("")),
    (tamis.Error, "no column \"idd\".*did you mean \"id\"", lambda: tamis.build(ROWS, key="idd")),
    (tamis.Error, "give key=", lambda: tamis.build(ROWS)),
    (tamis.Error, "without columns", lambda: tamis.build(["a"], key="id")),
    (tamis.Error, "column \"l\" has the type List", lambda: tamis.build(ROWS, key="l")),
    (tamis.Error, "Duration.*cast", lambda: tamis.build(pa.array([datetime.timedelta(1)]))),
    (tamis.Error, "no keys", lambda: tamis.build([])),
    (tamis.Error, "different parameters.*tamis.plan", lambda: KEYS | tamis.build(["a", "b"], fpr=0.5)),
    (tamis.Error, "static", lambda: tamis.merge(tamis.build(["a"], kind="fuse"), tamis.build(["a"], kind="fuse"))),
    (tamis.Error, "at least one", lambda: tamis.merge()),
    (tamis.Error, "not in the parameters", lambda: tamis.build({"id": ["b"], "c": ["it"]}, params=GROUPED)),
    (tamis.Error, "has finished", lambda: (builder := tamis.Builder(KEYS), builder.finish(), builder.finish())),
    (ValueError, "all keys at once", lambda: tamis.Builder(tamis.build(["a"], kind="fuse"))),
    (ValueError, "a ribbon filter is built from all keys at once", lambda: tamis.Builder(tamis.build(["a"], kind="ribbon"))),
    (tamis.Error, "a ribbon filter is static", lambda: tamis.build(["a"], kind="ribbon").add(["b"])),
    (TypeError, "same columns", lambda: tamis.build([ROWS, pa.array(["a"])], key="n")),
    (ValueError, "between 0 and 1", lambda: tamis.build(["a"], fpr=1.5)),
    (ValueError, "give fpr or size", lambda: tamis.build(["a"], fpr=0.1, size=100)),
    (ValueError, "0 keys are too few: give keys=N", lambda: tamis.build(["a"], keys=0)),
    (ValueError, "unknown kind", lambda: tamis.build(["a"], kind="cuckoo")),
    (ValueError, "unknown step", lambda: tamis.build(ROWS, key="id:shout")),
    (ValueError, "murmur3 goes with bloom filters", lambda: tamis.build(["a"], hash="murmur3", kind="fuse")),
    (ValueError, "is \"xxh3\" or", lambda: tamis.build(["a"], hash="md5")),
    (ValueError, "epsilon", lambda: tamis.build(["a"], kind="count-min", fpr=0.1)),
    (ValueError, "no counters", lambda: tamis.build(["a"], epsilon=0.1)),
    (ValueError, "64 bits or 32", lambda: tamis.build(["a"], kind="count-min", counter_bits=16)),
    (ValueError, "weight", lambda: tamis.build(ROWS, key="n", weight="n")),
    (ValueError, "fix size, kind", lambda: tamis.build(["a"], params=KEYS, fpr=0.1)),
    (ValueError, "invalid parameters", lambda: tamis.build(["a"], params={"kind": "blocked"})),
    (ValueError, "threads", lambda: tamis.build(["a"], threads=0)),
    (ValueError, "bad_rows", lambda: tamis.build(["a"], bad_rows="drop")),
    (ValueError, "scalable", lambda: tamis.build(["a"], kind="scalable")),
    (ValueError, "keys=N", lambda: tamis.plan(fpr=0.1)),
    (ValueError, "found in a table", lambda: tamis.plan(keys=10, key="id", group="c")),
    (ValueError, "no group \"it\"; there are at", lambda: GROUPED.contains("ann", group="it")),
    (ValueError, "no groups", lambda: KEYS.contains("ann", group="it")),
    (ValueError, "does not count", lambda: KEYS.estimate("ann")),
    (ValueError, "does not count", lambda: KEYS.bound),
    (ValueError, "use estimate", lambda: COUNTS.contains("a")),
    (TypeError, "type complex: give its text", lambda: tamis.build([1j])),
    (FileNotFoundError, "one key is given in a list", lambda: tamis.build("ann")),
    (TypeError, "fpr", lambda: tamis.build(["a"], fpr="small")),  # type: ignore[arg-type]
    (TypeError, "key is the name", lambda: tamis.build(ROWS, key=7)),  # type: ignore[arg-type]
    (TypeError, "type object", lambda: KEYS.contains(object())),
    (TypeError, "iterable of keys is taken, not int", lambda: tamis.build(7)),
    (TypeError, "params is", lambda: tamis.build(["a"], params=7)),  # type: ignore[arg-type]
    (TypeError, "sketches", lambda: tamis.merge(["users.tamis"])),  # type: ignore[list-item]
    (TypeError, "unsupported operand", lambda: KEYS | 7),
    (TypeError, "unexpected keyword", lambda: tamis.build(["a"], rate=0.1)),  # type: ignore[call-arg]
]


@pytest.mark.parametrize(("kind", "message", "call"), WRONG, ids=[f"{i} {case[1]}" for i, case in enumerate(WRONG)])
def test_what_is_wrong_is_said(kind: type[Exception], message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=message) as raised:
        call()
    assert type(raised.value) is kind and " --" not in str(raised.value)


def test_messages_advise_arguments_alone() -> None:
    """Options of the command line that no call has are not advised; whoever shows a message there has them marked."""
    from tamis import spark

    methods = [getattr(tamis.Sketch, name) for name in ("add", "contains", "estimate", "groups", "top", "filter")]
    of_package = [tamis.build, tamis.plan, tamis.merge, tamis.filter, tamis.dedup, tamis.test, tamis.files, tamis.Filter.__new__]
    calls = [*of_package, *methods, *(getattr(spark, name) for name in spark.__all__)]
    arguments = {name for call in calls for name in inspect.signature(call).parameters}
    assert set(tamis._tamis.ARGUMENTS) == arguments & set(tamis._tamis.OPTIONS)
    with pytest.raises(tamis.Error, match="must be the first line$") as raised:
        tamis._tamis.understand({"key": "id"}, None, "x.csv", b"# of ids\nid,n\n1,2\n", {"comment": ord("#")})
    assert getattr(raised.value, "marked").endswith("must be the first line: leave out ⟦on⟧")


def test_nulls_may_be_left_out_or_stand_for_a_text() -> None:
    left = tamis.build(ROWS, key="id", bad_rows="skip")
    assert left.skipped == 1 and left.contains([None, "ann"], bad_rows="skip") == [False, True]
    named = tamis.build(ROWS, key="id", null="nobody")
    assert named.skipped == 0 and named.contains([None, "nobody"]) == [True, True]
    assert left.contains(None, bad_rows="skip") is False and left.groups(None, bad_rows="skip") == []
    assert COUNTS.estimate([None, "a"], bad_rows="skip") == [0, 1]


def test_counts_of_groups_are_asked_by_group() -> None:
    rows = {"ip": ["a", "a", "b"], "day": ["mo", "tu", "tu"], "bytes": [5, 7, 11]}
    flows = tamis.build(rows, key="ip", group="day", weight="bytes", kind="count-min")
    assert flows.estimate("a", group="tu") == 7 and flows.estimate(["a", "b"], group="mo") == [5, 0]
    assert flows.total == 23 and flows.bound == 0
    with pytest.raises(ValueError, match="name one with group="):
        flows.estimate("a")


def test_records_of_keywords_are_asked_as_they_stand_in_the_data() -> None:
    rows = {"tags": ["space, alien", "love, war"]}
    records = tamis.build(rows, keywords="tags:split=,", kind="layered", layers=2, fpr=1e-6)
    assert records.contains("space, alien") and not records.contains("space, war")
    assert records.contains(pa.array(["love, war", "war, alien"])).to_pylist() == [True, False]


def test_records_are_asked_as_a_whole_or_partially() -> None:
    rows = {"tags": ["space, alien", "love, war"], "g": ["a", "b"]}
    records = tamis.build(rows, keywords="tags:split=,", kind="layered", layers=2, fpr=1e-6, group="g")
    # Recombined, the beginning of a record, keywords at another place: the XOR layer has none of them.
    asked = ["space, alien", "love, war", "love", "war"]
    assert records.contains(asked) == [True, True, False, False]
    assert records.contains(asked, partial=True) == [True, True, True, False]
    assert [records.contains(one, partial=True) for one in asked] == [True, True, True, False]
    assert records.groups("love") == [] and records.groups("love", partial=True) == ["b"]
    assert records.groups(asked, partial=True) == [["a"], ["b"], ["b"], []]
    assert "love" not in records
    whole = tamis.build({"tags": ["space, alien", "love, war"]}, keywords="tags:split=,", kind="layered", layers=2)
    assert not whole.contains("space, war") and whole.contains("space, war", partial=True)
    for question in ("contains", "groups"):
        with pytest.raises(ValueError, match="blocked has none.*leave out partial"):
            getattr(tamis.build(["a"]), question)("a", partial=True)


def test_a_long_job_can_be_interrupted() -> None:
    job = """
import os, signal, threading, pyarrow as pa, tamis
keys = pa.array([str(i) for i in range(400_000)])
keys = pa.chunked_array([keys] * 400)
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    tamis.build(keys, kind="count-min", conservative=True, epsilon=1e-6)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", job], capture_output=True, text=True)
    assert done.stdout == "interrupted\n", done.stderr


def test_rows_are_added_to_another_sketch_and_heavy_keys_stay_known() -> None:
    hits = tamis.build(["a"] * 6 + ["b"] * 3 + ["c"], kind="count-min", heavy=0.25)
    more = hits.add(["c"] * 10)
    assert (hits.top(), more.top()) == ([("a", 6), ("b", 3)], [("c", 11), ("a", 6)])
    assert more.top(1) == [("c", 11)] and more.top(share=0.5) == [("c", 11)]
    assert more.estimate("c") == 11 and hits.estimate("c") == 1
    rows = {"k": ["a", "a", "b"], "n": [1, 1, 2], "g": ["x", "x", "y"]}
    grouped = tamis.build(rows, key=["k", "n"], group="g", kind="count-min", heavy=0.5)
    assert grouped.top(group="x") == [(("a", "1"), 2)]
    with pytest.raises(ValueError, match="name one with group="):
        grouped.top()
    with pytest.raises(ValueError, match="no group 'z'"):
        grouped.top(group="z")
    with pytest.raises(tamis.Error, match="may miss some"):
        hits.top(share=0.01)
    with pytest.raises(tamis.Error, match="keeps no keys"):
        tamis.build(["a"], kind="count-min").top()
    with pytest.raises(ValueError, match="does not count"):
        tamis.build(["a"]).top()
    params = tamis.plan(keys=100)
    assert tamis.build(["a"], params=params).add(["b"]) == tamis.build(["a", "b"], params=params)


def test_a_size_may_be_a_text() -> None:
    keys = [str(i) for i in range(1000)]
    assert tamis.build(keys, size="2KB") == tamis.build(keys, size=2000)
    with pytest.raises(ValueError, match="size: unknown unit"):
        tamis.build(keys, size="2XB")


def test_a_filter_that_holds_more_than_it_can_says_so() -> None:
    few = tamis.plan(keys=10)
    half = tamis.build(range(8), params=few)
    for too_many in [
        lambda: tamis.build(range(1000), keys=10),
        lambda: tamis.build(range(1000), params=few),
        lambda: half.add(range(8, 1000)),
    ]:
        with pytest.warns(UserWarning, match="the filter holds .*: plan it for more keys"):
            too_many()
    builder = tamis.Builder(few)
    builder.add(range(1000))
    with pytest.warns(UserWarning, match="plan it for more keys"):
        full = builder.finish()
    with pytest.warns(UserWarning, match="plan it for more keys"):
        half | full
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tamis.merge(half, half)
        tamis.build(range(1000))


def test_parameters_may_lie_in_a_file(tmp_path: Path, cli: Callable[..., str]) -> None:
    path = tmp_path / "params.json"
    cli("plan", "--keys", 100, "--fpr", 0.01, "-o", path, "--quiet")
    expected = tamis.build(["ann"], keys=100)
    for params in [path, str(path), path.read_text()]:
        assert tamis.build(["ann"], params=params) == expected
    expected.save(tmp_path / "x.tamis")
    with pytest.raises(ValueError, match=r"x.tamis: .* give tamis.open\(path\)"):
        tamis.build(["ann"], params=tmp_path / "x.tamis")
    with pytest.raises(FileNotFoundError, match="none.json"):
        tamis.build(["ann"], params="none.json")


def test_what_is_recorded_about_a_file_is_told_and_kept() -> None:
    plain = tamis.build(["ann", "bob"], keys=10)
    noted = tamis.build(["ann", "bob"], keys=10, note="of March", source="crawl")
    assert (plain.about, plain.format_version) == ({}, 1)
    assert (noted.about, noted.format_version) == ({"note": "of March", "source": "crawl"}, 2)
    assert noted.params == plain.params and noted.add(["eve"]).about == noted.about
    assert tamis.from_bytes(noted.to_bytes()).about == noted.about
    other = tamis.build(["eve"], keys=10, note="of April", source="crawl")
    with pytest.warns(UserWarning, match="differ in it: note"):
        assert (noted | other).about == {"source": "crawl"}
    builder = tamis.Builder(plain.params, note="of March")
    builder.add(["ann"])
    assert builder.finish().about == {"note": "of March"}


def test_bad_rows_are_set_aside_with_their_numbers_and_values(tmp_path: Path) -> None:
    table = {"id": ["a", None, "b", None], "n": [1, 2, 3, 4]}
    aside = tmp_path / "bad.ndjson"
    sketch = tamis.build(table, key="id", bad_rows_to=aside)
    assert sketch.contains("a") and sketch.contains("b")
    bad = [json.loads(line) for line in aside.read_text().splitlines()]
    assert [(row["row"], row["values"]) for row in bad] == [(1, {"id": None}), (3, {"id": None})]
    assert all("not a key" in row["reason"] for row in bad)
    tamis.plan({"id": ["a"]}, key="id", bad_rows_to=str(aside))
    assert aside.read_text() == ""
    with pytest.raises(ValueError, match="not both"):
        tamis.build(table, key="id", bad_rows="fail", bad_rows_to=aside)
