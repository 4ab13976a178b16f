"""What the package shows of itself: its names, its types, its examples."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import tamis
from tamis import _types

HERE = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((HERE / "examples").glob("*.py"))


def test_dir_shows_what_is_meant_to_be_used() -> None:
    names = dir(tamis)
    assert names == sorted(tamis.__all__) and all(hasattr(tamis, name) for name in names)
    assert not {"os", "json", "annotations", "Any", "_tamis"} & set(names)


def test_every_kind_and_hash_that_is_named_can_be_built() -> None:
    for kind in typing.get_args(_types.Kind):
        keywords = {"keywords": "k:words"} if kind == "layered" else {"key": "k"}
        assert tamis.build({"k": ["ann bob", "eve"]}, kind=kind, **keywords).kind == kind
    for kind in typing.get_args(_types.FilterKind):
        assert "ann" in tamis.Filter(["ann"], keys=10, kind=kind)
    for hash in typing.get_args(_types.Hash):
        if hash != "siphash":
            assert tamis.build(["ann"], hash=hash).contains("ann")
    with pytest.raises(ValueError, match="kind"):
        tamis.build(["ann"], kind="blocks")  # type: ignore[arg-type]


def test_sketches_tell_their_keys_and_rate() -> None:
    users = tamis.build({"id": range(1000), "g": ["a", "b"] * 500}, key="id", group="g")
    assert 950 < len(users) < 1050 and users and " keys, rate 0.00" in repr(users) and "2 groups" in repr(users)
    assert len(tamis.build(range(100), kind="fuse")) == 100
    assert "The rate of each group" in users.report() and "svg+xml" in users._repr_html_()
    counts = tamis.build(["a", "a"], kind="count-min")
    assert "total 2" in repr(counts) and "<img" not in counts._repr_html_()
    with pytest.raises(ValueError, match="counts how often"):
        len(counts)
    users.close()
    assert users._repr_html_() == "<pre>&lt;tamis.Sketch, closed&gt;</pre>"


def test_a_report_is_written_as_a_page(tmp_path: Path) -> None:
    page = tamis.build(["ann"]).report(tmp_path / "page.html", title="Users & others")
    assert (tmp_path / "page.html").read_text() == page and "<h1>Users &amp; others</h1>" in page


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.stem for example in EXAMPLES])
def test_examples_run(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


def test_pyright_finds_nothing_in_the_package_and_the_examples() -> None:
    checker = shutil.which("basedpyright", path=str(Path(sys.executable).parent))
    if checker is None:
        pytest.skip("basedpyright is not installed")
    done = subprocess.run([checker, "-p", str(HERE), "--pythonpath", sys.executable], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
