"""``hash="siphash"`` with a secret key, which no sketch, request or message holds."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

import tamis
import tamis.spark

KEY = bytes(range(0x81, 0x91))


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(KEY)
    return path


def test_a_sketch_is_that_of_the_command_line(cli: Callable[..., str], key_file: Path, tmp_path: Path) -> None:
    (tmp_path / "names").write_text("ann\nbob\neve\n")
    cli("build", tmp_path / "names", "--hash", "siphash", "--hash-key", key_file, "-o", tmp_path / "f.tamis")
    there = tamis.open(tmp_path / "f.tamis", hash_key=KEY)
    for key in (KEY, bytearray(KEY), key_file, str(key_file)):
        assert tamis.build(["ann", "bob", "eve"], hash="siphash", hash_key=key) == there
    params = tamis.plan(["ann", "bob", "eve"], hash="siphash", hash_key=KEY)
    builder = tamis.Builder(params, hash_key=KEY)
    builder.add(["ann", "bob", "eve"])
    assert builder.finish() == there
    assert there.contains(["ann", "nobody", "eve"]) == [True, False, True]
    assert cli("query", tmp_path / "f.tamis", "bob", "--hash-key", key_file) == "bob\tyes\n"


def test_the_key_is_nowhere_but_with_whoever_gave_it(tmp_path: Path) -> None:
    built = tamis.build(["ann"], hash="siphash", hash_key=KEY)
    built.save(tmp_path / "f.tamis")
    texts = [built.to_bytes(), pickle.dumps(built), json.dumps(built.params).encode(), repr(built).encode()]
    texts += [json.dumps(built.inspect()).encode(), (tmp_path / "f.tamis").read_bytes()]
    for text in texts:
        assert KEY not in text and KEY.hex().encode() not in text and repr(KEY).encode() not in text
    # Another process does not know it.
    again = "import sys, tamis\ntry:\n    {0}\nexcept tamis.Error as error:\n    print(error)\nelse:\n    print('asked')"
    for line, said in (
        ("tamis.open(sys.argv[1])", "which was not given"),
        (f"tamis.open(sys.argv[1], hash_key={KEY[::-1]!r})", "another one was given"),
        ("tamis.from_bytes(open(sys.argv[1], 'rb').read())", "which was not given"),
        (f"tamis.from_bytes(open(sys.argv[1], 'rb').read(), hash_key={KEY!r}).contains('ann')", "asked"),
    ):
        command = [sys.executable, "-c", again.format(line), str(tmp_path / "f.tamis")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert said in done.stdout, (line, done)


def test_the_key_that_is_given_is_the_one_that_is_used(tmp_path: Path) -> None:
    """Others that are known to the process do not stand in for it."""
    other = bytes(reversed(KEY))
    built = tamis.build(["ann"], hash="siphash", hash_key=KEY)
    built.save(tmp_path / "f.tamis")
    for wrong in (
        lambda: tamis.open(tmp_path / "f.tamis", hash_key=other),
        lambda: tamis.from_bytes(built.to_bytes(), hash_key=other),
        lambda: tamis.build(["ann"], params=built, hash_key=other),
        lambda: tamis.Builder(built, hash_key=other),
        lambda: tamis.build(["ann"], params=tamis.build(["ann"]), hash_key=KEY),
    ):
        with pytest.raises(tamis.Error, match="not made with the hash_key"):
            wrong()
    with pytest.raises(ValueError, match="bytes.fromhex") as raised:
        tamis.open(tmp_path / "f.tamis", hash_key=KEY.hex())
    assert KEY.hex()[:8] not in str(raised.value)


def test_a_pickle_is_read_where_the_key_is_known(tmp_path: Path) -> None:
    (tmp_path / "pickled").write_bytes(pickle.dumps(tamis.build(["ann"], hash="siphash", hash_key=KEY)))
    read = "import pickle, sys, tamis; {0}; print(pickle.load(open(sys.argv[1], 'rb')).contains('ann'))"
    for line, said in ((f"tamis.add_hash_key({KEY!r})", "True"), ("pass", "hash_key")):
        command = [sys.executable, "-c", read.format(line), str(tmp_path / "pickled")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert said in done.stdout + done.stderr, (line, done)


def test_what_is_no_key_is_refused_without_showing_it(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("my secret is out")
    (tmp_path / "long").write_text("my secret is out and about")
    tamis.build(["ann"], hash="siphash", hash_key=tmp_path / "text")
    for wrong in (b"short", tmp_path / "long"):
        with pytest.raises(ValueError, match="16 random bytes") as raised:
            tamis.build(["ann"], hash="siphash", hash_key=wrong)
        assert "secret is" not in str(raised.value) and "short" not in str(raised.value)
    with pytest.raises(TypeError, match="16 bytes, or the path"):
        tamis.build(["ann"], hash="siphash", hash_key=17)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        tamis.open(tmp_path / "f.tamis", hash_key=tmp_path / "none")
    with pytest.raises(ValueError, match="hash_key=FILE"):
        tamis.build(["ann"], hash="siphash")
    with pytest.raises(ValueError, match='hash="siphash"'):
        tamis.build(["ann"], hash_key=KEY)


@pytest.mark.spark
def test_executors_hash_with_the_key(spark: Any, tmp_path: Path) -> None:
    names = [f"k{number}" for number in range(3000)]
    df = spark.createDataFrame([(name,) for name in names], "name string").repartition(3)
    for options in ({}, {"keys": 4000}, {"kind": "count-min"}):
        here = tamis.build({"name": names}, key="name", hash="siphash", hash_key=KEY, **options)
        there = tamis.spark.build(df, key="name", hash="siphash", hash_key=KEY, range_bytes=4096, **options)
        assert there == here
        assert KEY not in there.to_bytes()
    filters = tamis.build({"name": names[:1000]}, key="name", hash="siphash", hash_key=KEY, fpr=1e-6)
    assert tamis.spark.filter_df(df, filters).count() == 1000
    found = tamis.spark.test(df.limit(1000), tamis.build({"name": names}, key="name", hash="siphash", hash_key=KEY))
    assert found["groups"][0]["false_negatives"] == 0
    assert tamis.spark.count(df, "name", hash="siphash", hash_key=KEY) == {"": 3000}


def test_a_driver_takes_the_key_and_leaves_no_file_of_it(tmp_path: Path) -> None:
    """As the command line hands it over: in a file of its own, or in the job where that goes to a cluster."""
    from tamis.spark import job

    (tmp_path / "key").write_bytes(bytes(range(100, 116)))
    job._know_key({"hash_key": str(tmp_path / "key")})
    assert list(tmp_path.iterdir()) == []
    job._know_key({"hash_key_digits": bytes(range(200, 216)).hex()})
    assert {bytes(range(100, 116)), bytes(range(200, 216))} <= {bytes(key) for key in tamis._tamis.hash_keys()}


@pytest.mark.spark
@pytest.mark.full
@pytest.mark.usefixtures("java")
def test_the_command_line_hands_the_key_to_spark(program: str, key_file: Path, tmp_path: Path) -> None:
    import pyspark

    (tmp_path / "names").write_text("".join(f"k{number}\n" for number in range(500)))
    environment = {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    line = ["build", tmp_path / "names", "--keys", "600", "--hash", "siphash", "--hash-key", key_file]
    for output, on in (("here", []), ("there", ["--on", "local[2]", "--submit-arg=--driver-memory=512m"])):
        command = [program, *map(str, line), "-o", str(tmp_path / output), *on]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert KEY.hex() not in done.stderr + done.stdout
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
