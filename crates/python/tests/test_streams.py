"""``tamis stream --on``: what is learned and answered is what one machine learns and answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import tamis
from tamis.spark import job

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("java")]


def _environment(folder: Path) -> dict[str, str]:
    import pyspark

    folder.mkdir(exist_ok=True)
    home = str(Path(pyspark.__file__).parent)
    here = {"SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    return {**os.environ, **here, "SPARK_LOCAL_DIRS": str(folder), "TMPDIR": str(folder)}


def _run(program: str, folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [program, "stream", *map(str, words)]
    temporary = folder / "temporary"
    return subprocess.run(command, env=_environment(temporary), capture_output=True, text=True, timeout=600, cwd=folder)


ON = ["--on", "local[2]", "--submit-arg=--driver-memory=512m", "--submit-arg=--conf=spark.ui.enabled=false"]


def _answers(folder: Path) -> list[str]:
    return sorted(line for part in folder.glob("batch=*/part-*") for line in part.read_text().splitlines())


def _request(folder: Path, learning: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What the command line asks of Spark."""
    reading: dict[str, Any] = {"bad_rows": None}
    return {
        **{"train": [str(folder / "in")], "query": [], "reading": reading, "learning": {**reading, **learning}},
        **{"query_key": [], "query_is_lines": False, "follow": False, "every": None},
        **{"state": str(folder / "state"), "answers": None, "output": None, **more},
    }


def _files(folder: Path, cli: Any) -> list[str]:
    """Files to learn and to ask, and the words with which one machine does it."""
    for name in ("in", "ask"):
        (folder / name).mkdir()
    (folder / "in" / "a.csv").write_text("id,land\n" + "".join(f"u{i},{'at' if i % 3 else 'it'}\n" for i in range(900)))
    (folder / "in" / "of-filters.tamis").write_text("no,rows\n")
    (folder / "ask" / "q.csv").write_text("who\n" + "".join(f"u{i}\nu{i}\n" for i in range(600, 1800)))
    cli("plan", folder / "in" / "a.csv", "--key", "id", "--group", "land", "--fpr", "0.01", "-o", folder / "p.json")
    return ["--train", "in", "--query", "ask", "--query-key", "who", "--params", "p.json"]


def _more_files(folder: Path) -> None:
    (folder / "in" / "b.csv").write_text("id,land\n" + "".join(f"v{i},at\n" for i in range(50)))
    (folder / "ask" / "r.csv").write_text("who\nv7\nu3\nnobody\n")


def _change_file(folder: Path) -> None:
    (folder / "in" / "b.csv").write_text("id,land\nlate,at\n")
    os.utime(folder / "in" / "b.csv", (1e9, 1e9))


CHANGED = "b.csv: this file was changed after it was read"


def test_files_that_come_are_learned_and_asked_as_on_one_machine(
    spark: Any, program: str, tmp_path: Path, cli: Any
) -> None:
    words = _files(tmp_path, cli)
    asked = {"query": [str(tmp_path / "ask")], "query_key": ["who"], "answers": str(tmp_path / "answers")}
    request = _request(tmp_path, {"params": str(tmp_path / "p.json")}, **asked)
    for rows, queries, resumed in ((900, 2400, False), (50, 3, True)):
        told, _ = job._stream(spark, request)
        assert (told["rows"], told["queries"], told["resumed"]) == (rows, queries, resumed), told
        done = _run(program, tmp_path, *words, "--state", "here", "-o", "here.txt", "--batch", "1e6")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "state" / "filter.tamis").read_bytes() == (tmp_path / "here" / "filter.tamis").read_bytes()
        assert _answers(tmp_path / "answers") == sorted((tmp_path / "here.txt").read_text().splitlines())
        if not resumed:
            _more_files(tmp_path)
    _change_file(tmp_path)
    with pytest.raises(tamis.Error, match=CHANGED):
        job._stream(spark, request)


@pytest.mark.full
def test_the_command_line_learns_and_asks_files_on_spark(program: str, tmp_path: Path, cli: Any) -> None:
    """The same by the program, which says what it learned as it does on one machine."""
    words = _files(tmp_path, cli)
    there = [*words, "--state", "state", "-o", "answers", "--json", *ON]
    here = [*words, "--state", "here", "-o", "here.txt", "--batch", "1e6", "--json"]
    for rows, queries, resumed in ((900, 2400, False), (50, 3, True)):
        for run in (there, here):
            done = _run(program, tmp_path, *run)
            assert done.returncode == 0, done.stderr
            told = json.loads(done.stdout)
            assert (told["rows"], told["queries"], told["resumed"]) == (rows, queries, resumed), told
        assert (tmp_path / "state" / "filter.tamis").read_bytes() == (tmp_path / "here" / "filter.tamis").read_bytes()
        assert _answers(tmp_path / "answers") == sorted((tmp_path / "here.txt").read_text().splitlines())
        if not resumed:
            _more_files(tmp_path)
    _change_file(tmp_path)
    done = _run(program, tmp_path, *there)
    assert done.returncode == 1 and CHANGED in done.stderr, done.stderr


def test_a_followed_stream_ends_well_and_goes_on(spark: Any, program: str, tmp_path: Path, cli: Any) -> None:
    folder, state = tmp_path / "in", tmp_path / "state"
    folder.mkdir()
    (folder / "a.txt").write_text("".join(f"{i}\n" for i in range(500)))
    words = ["--train", "in", "--keys", "1000", "--state", "state", *ON]
    follow = [program, "stream", *words, "--follow", "--every", "500ms"]
    running = subprocess.Popen(
        follow, env=_environment(tmp_path / "temporary"), cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        for batches in (1, 2):
            until = time.monotonic() + 400
            while len([*state.glob("sketch-*")]) < batches:
                assert time.monotonic() < until and running.poll() is None, "nothing was learned"
                time.sleep(0.2)
            if batches == 1:
                draft = tmp_path / "b.txt"
                draft.write_text("".join(f"{i}\n" for i in range(500, 700)))
                draft.rename(folder / "b.txt")
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=200)
    finally:
        running.kill()
    assert running.returncode == 0 and "has all batches" in said, said

    (folder / "c.txt").write_text("".join(f"{i}\n" for i in range(700, 800)))
    told, _ = job._stream(spark, _request(tmp_path, {"keys": 1000}, output=str(tmp_path / "learned.tamis")))
    assert (told["rows"], told["resumed"]) == (100, True), told
    cli("stream", "--train", folder, "--keys", "1000", "--state", tmp_path / "here")
    assert (tmp_path / "learned.tamis").read_bytes() == (tmp_path / "here" / "filter.tamis").read_bytes()


def test_counts_and_tables_of_parquet_are_learned_of_streams(spark: Any, tmp_path: Path, cli: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "in").mkdir()
    rows = {"id": [i % 70 for i in range(300)], "n": [i % 4 for i in range(300)]}
    pq.write_table(pa.table(rows), tmp_path / "in" / "a.parquet")
    learning = {"key": "id", "weight": "n", "kind": "count-min", "epsilon": 0.01}
    request = _request(tmp_path, learning, query=[str(tmp_path / "in")], answers=str(tmp_path / "answers"))
    told, _ = job._stream(spark, request)
    assert (told["rows"], told["queries"], told["answers"]) == (300, 300, 70), told
    words = ["--train", tmp_path / "in", "--query", tmp_path / "in", "--key", "id", "--weight", "n"]
    here = ["--state", tmp_path / "here", "-o", tmp_path / "here.txt"]
    cli("stream", *words, "--kind", "count-min", "--epsilon", "0.01", *here)
    assert (tmp_path / "state" / "counts.tamis").read_bytes() == (tmp_path / "here" / "counts.tamis").read_bytes()
    assert _answers(tmp_path / "answers") == sorted((tmp_path / "here.txt").read_text().splitlines())

    with pytest.raises(tamis.Error, match="is there already, and is not of this state"):
        job._stream(spark, {**request, "state": str(tmp_path / "other")})
    with pytest.raises(tamis.Error, match="Parquet files that come later"):
        job._stream(spark, {**request, "follow": True})
