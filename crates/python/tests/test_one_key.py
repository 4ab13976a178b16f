"""One key at a time: the quick ways give the answers of the long ones."""

from __future__ import annotations

import enum
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis

integers = st.integers(-(2**70), 2**70) | st.integers(-(2**63) - 2, -(2**63) + 2) | st.integers(2**63 - 2, 2**63 + 2)


class Coin(enum.IntEnum):
    CENT = 1


class Odd(int):
    """A number that says that it is another."""

    dtype = np.dtype("float32")


@given(st.lists(integers | st.text(min_size=1).filter(lambda text: text.isprintable()), min_size=1, max_size=20))
def test_one_key_is_answered_as_a_list_of_it(values: list[Any]) -> None:
    sketch = tamis.build(values, fpr=1e-9)
    for value in values:
        assert value in sketch and sketch.contains(value) is True and sketch.contains([value]) == [True]


@given(st.lists(integers, min_size=1, max_size=20))
def test_a_list_of_integers_has_the_keys_of_their_texts(values: list[int]) -> None:
    built = tamis.build(values, fpr=1e-9)
    assert built == tamis.build([str(value) for value in values], fpr=1e-9)
    assert built == tamis.build(iter(values), fpr=1e-9)
    assert built.about == {"classes": ["integer"]}


@pytest.mark.parametrize("mixed", [[1, 2, "a"], [1, None, 2], [1, 2.5], [1, True], [1, 2**64], [1, b"x"], [Odd(1), 2]])
def test_integers_that_are_followed_by_others_keep_their_keys(mixed: list[Any]) -> None:
    for values in (mixed, mixed[::-1], [7] * 100 + mixed):
        built = tamis.build(values, fpr=1e-9, bad_rows="skip")
        one_by_one = tamis.merge(*(tamis.build([value], params=built.params, bad_rows="skip") for value in values))
        assert built == one_by_one
        assert built.skipped == sum(value is None for value in values)


texts = st.text(max_size=5) | st.sampled_from(["", "\\N", "\udc80"])
others = st.none() | st.booleans() | st.floats(allow_nan=False) | st.dates() | st.builds(np.int16, st.integers(-9, 9))
usual = texts | integers | st.binary(max_size=4) | st.builds(np.int64, st.integers(-9, 9))


def _outcome(values: Any, **options: Any) -> Any:
    """The bytes of what was built, and the rows left out; or what was said."""
    try:
        built = tamis.build(values, **options)
    except (tamis.Error, ValueError, TypeError) as error:
        return type(error), str(error)
    return built.to_bytes(), built.skipped


@given(
    st.lists(usual, max_size=20) | st.lists(usual | others, max_size=20),
    st.sampled_from(["blocked", "bloom", "fuse", "ribbon", "counting", "count-min"]),
    st.sampled_from([{}, {"keys": 30}, {"hash": "murmur3"}, {"seed": 7}, {"null": "none"}, {"bits_per_key": 9, "hashes": 2}]),
    st.sampled_from(["fail", "skip"]),
)
def test_a_list_makes_what_an_iterator_over_it_makes(values: list[Any], kind: str, more: dict[str, Any], bad_rows: str) -> None:
    """Also where it begins with None, which was taken for the end of the iterator."""
    options = {"kind": kind, "bad_rows": bad_rows, **more}
    assert _outcome(values, **options) == _outcome(iter(values), **options)


def _told(work: Any) -> Any:
    """What is answered, or refused, and what is said with it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            answer = work()
        except (tamis.Error, ValueError, TypeError) as error:
            answer = type(error), str(error)
    return answer, [str(one.message) for one in said]


@given(
    st.lists(st.text(min_size=1, max_size=3), max_size=9) | st.lists(st.integers(-9, 9), max_size=9) | st.lists(usual, max_size=9),
    st.lists(usual, max_size=9) | st.lists(usual | others | st.builds(Odd, st.integers(0, 9)) | st.just(Coin.CENT), max_size=9),
    st.sampled_from(["blocked", "bloom", "fuse", "ribbon", "counting"]),
    st.sampled_from([{}, {"hash": "murmur3", "kind": "bloom"}, {"seed": 7}, {"null": "none"}]),
    st.sampled_from(["fail", "skip", "no"]),
)
def test_a_list_is_answered_as_an_iterator_over_it(
    known: list[Any], asked: list[Any], kind: str, more: dict[str, Any], bad_rows: Any
) -> None:
    """Also where all of it is what a shorter way answers: then nothing is to be said of the classes of keys."""
    known = [key for key in known if key not in ("", "\\N", b"", b"\\N", "\udc80")] or ["ann"]

    def built() -> Any:
        return tamis.build(known, **{"kind": kind, "fpr": 1e-6, **more})

    built()  # without an error
    # Each of its own sketch: what was said of one is not said again.
    for of in (built, lambda: tamis.Filter(known)):
        assert _told(lambda: of().contains(asked, bad_rows=bad_rows)) == _told(
            lambda: of().contains(iter(asked), bad_rows=bad_rows)
        )


def test_lists_ask_each_group_or_one_on_any_threads() -> None:
    rows = 70_000
    ids = list(range(rows))
    groups = tamis.build({"id": ids, "at": ["even" if i % 2 == 0 else "odd" for i in ids]}, key="id", group="at", fpr=1e-9)
    for threads in (None, 1, 3):
        assert groups.contains([*ids, -1, 2**63 - 1], threads=threads) == [True] * rows + [False, False]
        assert groups.contains(ids, "odd", threads=threads) == [i % 2 == 1 for i in ids]
    with pytest.raises(ValueError):
        groups.contains(ids, threads=0)
    with pytest.raises(ValueError, match="group"):
        groups.contains(ids, "none")


def test_many_keys_of_a_list_have_the_bytes_of_an_array_and_of_the_parameters() -> None:
    """More than are put in on one thread, with and without counting first."""
    keys = [i * i % 200_003 for i in range(300_000)]
    for kind in ("blocked", "bloom", "counting", "fuse"):
        built = tamis.build(keys, kind=kind)
        assert built == tamis.build(pa.array(keys), kind=kind), kind
        assert built == tamis.build(keys, params=built.params), kind
    assert tamis.build(keys, keys=1000) == tamis.build(pa.array(keys), keys=1000)


def test_numbers_of_numpy_and_of_enums_are_those_of_python() -> None:
    sketch = tamis.build([1, 2, 2**64 - 1], fpr=1e-9)
    kinds = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
    for kind in [*kinds, np.longlong, np.ulonglong, np.intc, np.uintc]:
        assert kind(1) in sketch and kind(3) not in sketch, kind
        assert sketch.contains([kind(2), 2]) == [True, True], kind
    assert np.uint64(2**64 - 1) in sketch and Coin.CENT in sketch


def test_a_truth_is_no_number() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tamis.KeyClassWarning)
        assert True not in tamis.build([1], fpr=1e-9) and np.bool_(True) not in tamis.build([1], fpr=1e-9)
    assert True in tamis.build([True], fpr=1e-9)


def test_what_is_no_key_is_refused() -> None:
    for sketch in (tamis.build(["ann"]), tamis.build([1])):
        for nothing in (None, "", "\\N"):
            with pytest.raises(tamis.Error, match="bad_rows"):
                assert nothing in sketch
    with pytest.raises(UnicodeEncodeError):
        assert "\udc80" in tamis.build(["ann"])


def test_steps_groups_and_what_stands_for_nothing_hold_for_one_key() -> None:
    assert " ANN" in tamis.build({"id": ["ann"]}, key="id:trim,lower", fpr=1e-9)
    assert "" in tamis.build({"id": [None]}, key="id", null="none", fpr=1e-9)
    groups = tamis.build({"id": ["ann", "bob"], "at": ["x", "y"]}, key="id", group="at", fpr=1e-9)
    assert "ann" in groups and "bob" in groups and "eve" not in groups


@pytest.mark.parametrize("kind", ["blocked", "bloom", "fuse", "ribbon", "counting"])
@pytest.mark.parametrize("how", ["xxh3", "murmur3"])
def test_every_kind_and_hash_answers_one_key(kind: str, how: str) -> None:
    if how == "murmur3" and kind != "bloom":
        pytest.skip("only classic filters are placed by it")
    keys = [f"k{i}" for i in range(500)]
    sketch = tamis.build(keys, kind=kind, hash=how, fpr=1e-6)
    assert all(key in sketch and key.encode() in sketch for key in keys)
    assert not any(f"n{i}" in sketch for i in range(100))


def test_counts_and_closed_sketches_refuse() -> None:
    with pytest.raises(ValueError, match="estimate"):
        assert "a" in tamis.build(["a"], kind="count-min")
    sketch = tamis.build(["a"])
    sketch.close()
    sketch.close()
    with pytest.raises(ValueError, match="closed"):
        assert "a" in sketch


def test_a_warning_names_the_line_that_asks() -> None:
    for ask in (lambda sketch: 7 in sketch, lambda sketch: sketch.contains(7)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert not ask(tamis.build(["07"], fpr=1e-9))
        assert [one.filename for one in said] == [__file__]


def test_few_rows_and_many_give_the_same_on_any_threads() -> None:
    for rows in (1, 100, 4095, 4096, 20_000):
        keys = pa.array([f"k{i}" for i in range(rows)])
        params = tamis.plan(keys, fpr=0.01)
        built = tamis.build(keys, params=params)
        for threads in (None, 1, 3):
            builder = tamis.Builder(params, threads=threads)
            builder.add(keys)
            assert builder.finish() == built
            assert all(built.contains(keys, threads=threads).to_pylist())
    with pytest.raises(ValueError):
        built.contains(keys[:1], threads=0)
