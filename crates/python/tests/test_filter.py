"""A filter that grows in place: what it takes, what it tells, and that it has the bytes of a build."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis

KINDS = ["blocked", "bloom", "counting", "scalable"]


def of(kind: Any, keys: int = 1000, **more: Any) -> tamis.Filter:
    return tamis.Filter(kind=kind, keys=keys, fpr=1e-6, **more)


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(st.text(min_size=1).filter(lambda text: text != "\\N") | st.integers(-(2**70), 2**70) | st.binary(min_size=1), max_size=40))
def test_what_was_added_is_found_one_by_one_and_together(kind: str, keys: list[Any]) -> None:
    keys = [key for key in keys if key != b"\\N"]
    seen, once = of(kind), of(kind)
    for key in keys:
        seen.add(key)
    once.update(keys)
    assert all(key in seen for key in keys) and seen.contains(keys) == [True] * len(keys)
    assert seen == once and seen.to_bytes() == once.to_bytes()
    assert len(seen) <= len(keys) and bool(seen) == bool(keys)


@pytest.mark.parametrize("kind", ["blocked", "bloom", "counting"])
def test_it_has_the_bytes_of_a_build_with_its_parameters(kind: str) -> None:
    rows = pa.table({"id": [f"user-{i}" for i in range(500)], "n": range(500)})
    params = tamis.plan(keys=500, key="id:upper", kind=kind)
    seen = tamis.Filter(params=params)
    for start in range(0, 500, 100):
        seen.update(rows.slice(start, 100))
    assert seen.to_bytes() == tamis.build(rows, params=params).to_bytes()
    assert seen.freeze() == tamis.build(rows, params=params) and seen.params == params
    assert "USER-7" in seen and "user-7" in seen and seen.contains(rows).to_pylist() == [True] * 500


@pytest.mark.parametrize("data", [
    ["ann", "bob"], ("ann", "bob"), {"ann", "bob"}, iter(["ann", "bob"]), np.array(["ann", "bob"]), pa.array(["ann", "bob"]),
    pd.Series(["ann", "bob"]), pl.Series(["ann", "bob"]), pd.Categorical(["ann", "bob"]),
], ids=lambda data: type(data).__name__)
def test_it_takes_keys_of_any_kind(data: Any) -> None:
    seen = tamis.Filter(data)
    assert "ann" in seen and "bob" in seen and "eve" not in seen and len(seen) == 2


def test_tables_are_taken_by_their_column() -> None:
    frame = pd.DataFrame({"who": ["ann", "bob"], "n": [1, 2]})
    for seen in [tamis.Filter(frame, "who"), tamis.Filter(key="who")]:
        seen.update(frame)
        assert seen.contains(frame).tolist() == [True, True] and len(seen) == 2
    plain = tamis.Filter()
    plain.update(frame, "who")
    assert "ann" in plain
    with pytest.raises(ValueError, match="name it by key="):
        plain.update(frame)
    pairs = tamis.Filter(key=["who", "n"])
    pairs.update(frame)
    assert ("ann", 1) in pairs and ("ann", 2) not in pairs and pairs.add(("eve", 3)) and ("eve", 3) in pairs


def test_a_filter_without_a_number_of_keys_grows_and_keeps_its_rate() -> None:
    seen = tamis.Filter(keys=100, kind="scalable", fpr=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen.update(range(20_000))
    assert seen.kind == "scalable" and 19_500 <= len(seen) <= 20_000 and seen.rate <= seen.fpr == 0.01
    strangers = np.array(seen.contains(range(10**6, 10**6 + 20_000)))
    assert strangers.mean() < 0.013  # 20,000 trials at 0.01 at most: four standard errors


def test_a_filter_of_fixed_size_warns_when_it_holds_too_much() -> None:
    seen = tamis.Filter(keys=100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen.update(range(100))
    with pytest.warns(UserWarning, match="more than the .*scalable"):
        seen.update(range(1000))
    one_by_one = tamis.Filter(keys=100)
    with pytest.warns(UserWarning, match="more than the"):
        for key in range(1000):
            one_by_one.add(key)


def test_counting_forgets_and_others_refuse() -> None:
    seen = of("counting")
    seen.update(["ann", "bob", "bob"])
    seen.remove("ann")
    assert "ann" not in seen and "bob" in seen
    with pytest.raises(KeyError, match="ann"):
        seen.remove("ann")
    assert seen.discard("bob") and "bob" in seen and seen.discard("bob") and not seen.discard("bob") and not seen
    seen.update(pd.Series([1, 2, 3]))
    assert seen.difference_update([2, 3, 4]) == 1 and seen.contains([1, 2, 3]) == [True, False, False]
    for kind in ("blocked", "bloom", "scalable"):
        with pytest.raises(ValueError, match='nothing can be removed from a .*kind="counting"'):
            of(kind).remove("ann")


@pytest.mark.parametrize("kind", ["blocked", "bloom", "counting"])
def test_filters_join_in_place(kind: str) -> None:
    a, b = of(kind), of(kind)
    a.update(["ann"])
    b.update(["bob"])
    same = a
    a |= b
    assert a is same and a.contains(["ann", "bob"]) == [True, True] and "ann" not in b
    both = of(kind)
    both |= b.freeze()
    both |= {"eve"}
    assert both.contains(["bob", "eve"]) == [True, True] and "eve" in (b | both) and "eve" not in b
    with pytest.raises(ValueError, match="keys"):
        a |= of(kind, 5000)
    with pytest.raises(TypeError):
        a |= 7  # type: ignore[operator]


def test_scalable_filters_do_not_join_and_say_what_to_do() -> None:
    a = tamis.Filter(["ann"])
    with pytest.raises(ValueError, match="add the keys themselves"):
        a |= tamis.Filter(["bob"])
    assert a.contains(["ann", "bob"]) == [True, False]


def test_it_tells_its_keys_and_its_rate() -> None:
    seen = tamis.Filter(range(300), keys=1000)
    text = repr(seen)
    assert text.startswith("<tamis.Filter blocked, ") and " keys of 1,000, rate " in text and text.endswith("of 0.01>")
    assert 285 <= len(seen) <= 315 and seen.rate < seen.fpr
    page = seen._repr_html_()
    assert "data:image/svg+xml;base64," in page and "&lt;tamis.Filter" in page
    assert "How the rate grows with the keys" in seen.report() and "</html>" in seen.report()
    assert "svg+xml" in tamis.Filter(["ann"])._repr_html_() and ", 1 key, " in repr(tamis.Filter(["ann"]))
    assert repr(tamis.Filter()) == "<tamis.Filter scalable, 0 keys, rate 0 of 0.01>" and not tamis.Filter()
    assert seen.inspect()["groups"][0]["planned_keys"] == 1000 and seen.nbytes > 1000


def test_it_is_saved_opened_pickled_and_copied(tmp_path: Path, cli: Callable[..., str]) -> None:
    for kind in KINDS:
        seen = of(kind)
        seen.update(["ann", "bob"])
        seen.save(tmp_path / "seen.tamis")
        assert '"ann"' in cli("query", tmp_path / "seen.tamis", "ann", "--json")
        again = tamis.Filter.open(tmp_path / "seen.tamis")
        assert again == seen == pickle.loads(pickle.dumps(seen)) == copy.deepcopy(seen) == copy.copy(seen)
        again.add("eve")
        assert "eve" not in seen and again != seen and tamis.open(tmp_path / "seen.tamis") == seen.freeze()
        assert tamis.open(tmp_path / "seen.tamis").to_filter() == seen


def test_what_cannot_grow_is_refused() -> None:
    groups = tamis.build({"id": ["a"], "g": ["x"]}, key="id", group="g")
    for sketch, why in [
        (groups, "it has groups"),
        (tamis.build(["a"], kind="fuse"), "takes no keys one by one"),
        (tamis.build(["a"], kind="count-min"), "takes no keys one by one"),
        (tamis.build(["a"], hash="murmur3"), "murmur3"),
    ]:
        with pytest.raises(ValueError, match=why):
            sketch.to_filter()
    with pytest.raises(TypeError, match=r"tamis.Filter\(keys=1000\)"):
        tamis.Filter(1000)
    with pytest.raises(ValueError, match="keeps a rate"):
        tamis.Filter(bits_per_key=8)
    with pytest.raises(TypeError, match="a string is one key"):
        tamis.Filter("ann")
    with pytest.raises(tamis.Error, match="row 1"):
        tamis.Filter(["ann", None])
    seen = tamis.Filter()
    assert seen.update(["ann", None], bad_rows="skip") == 1 and len(seen) == 1


def test_classes_of_keys_are_known_as_in_a_build() -> None:
    seen = tamis.Filter([1, 2, 3])
    assert 2.0 in seen and seen.contains(pd.Series([1.0, None, 9.0]), bad_rows="skip").tolist() == [True, False, False]
    assert seen.freeze().about == {"classes": ["integer"]}
    with pytest.warns(tamis.KeyClassWarning):
        assert "7" not in seen
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 7 not in tamis.Filter() and "a" not in tamis.Filter()
        seen.add("seven")
        assert "seven" in seen and 7 not in seen


def test_a_secret_key_is_kept_out_of_the_file() -> None:
    secret = b"0123456789abcdef"
    seen = tamis.Filter(["ann"], hash="siphash", hash_key=secret)
    assert secret not in seen.to_bytes() and "ann" in tamis.Filter.from_bytes(seen.to_bytes(), hash_key=secret)


def test_repetitions_are_dropped_batch_after_batch() -> None:
    for kind in KINDS:
        seen = of(kind, 10_000, key="id")
        frame = pd.DataFrame({"id": [1, 2, 1, 3, 2], "n": range(5)}, index=list("abcde"))
        first = seen.dedup(frame)
        assert first.index.tolist() == ["a", "b", "d"] and first["n"].tolist() == [0, 1, 3]
        assert seen.dedup(pl.DataFrame({"id": [3, 4]}))["id"].to_list() == [4]
        assert seen.dedup(pa.table({"id": [4, 5]}))["id"].to_pylist() == [5]
        assert seen.dedup([5, 6, 6]) == [6] and seen.dedup(np.array([6, 7])).tolist() == [7]


def test_threads_ask_while_one_adds() -> None:
    seen = tamis.Filter(range(1000))
    wrong: list[int] = []

    def ask() -> None:
        for _ in range(20):
            wrong.extend(key for key in range(1000) if key not in seen)
            wrong.extend([1] * (1000 - sum(seen.contains(list(range(1000))))))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for start in range(1000, 40_000, 1000):
        seen.update(np.arange(start, start + 1000))
        seen.add(start)
    for thread in threads:
        thread.join()
    assert not wrong and len(seen) > 38_000
