"""Sketches of tables, of streams of batches, of files and of keys."""

from __future__ import annotations

import errno
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Optional, Union

from tamis import _tamis
from tamis._data import as_rows, names_of
from tamis._files import Files, local_inputs, named_files
from tamis._sieve import Fields, Params
from tamis._sketch import HashKey, Sketch, make_known, params_as_json, refuse_other_key, warned_of_build
from tamis._stream import as_batches, build_batches, first_of, wanted_columns
from tamis._types import BadRows, Hash, Kind, Path


def build(
    data: Any,
    key: Fields = None,
    group: Optional[str] = None,
    *,
    fpr: Optional[float] = None,
    bits_per_key: Optional[float] = None,
    size: Union[int, str, None] = None,
    bits: Optional[int] = None,
    bits_per_group: Optional[int] = None,
    hashes: Optional[int] = None,
    keys: Optional[int] = None,
    kind: Optional[Kind] = None,
    hash: Optional[Hash] = None,
    seed: Optional[int] = None,
    hash_key: HashKey = None,
    keywords: Fields = None,
    layers: Optional[int] = None,
    weight: Optional[str] = None,
    epsilon: Optional[float] = None,
    delta: Optional[float] = None,
    width: Optional[int] = None,
    depth: Optional[int] = None,
    counter_bits: Optional[int] = None,
    conservative: bool = False,
    heavy: Optional[float] = None,
    distinct: bool = False,
    exact: bool = False,
    output: Optional[Path] = None,
    params: Union[Mapping[str, Any], Sketch, str, os.PathLike[str], None] = None,
    null: Optional[str] = None,
    bad_rows: Optional[BadRows] = None,
    bad_rows_to: Union[str, os.PathLike[str], None] = None,
    threads: Optional[int] = None,
    memory: Union[int, str, None] = None,
    note: Optional[str] = None,
    source: Optional[str] = None,
) -> Sketch:
    """Builds filters or counts of a table, one or one per group: the bytes are those of ``tamis build`` with
    the same rows and options.

    `data` is one of

    - a pyarrow, polars or pandas table, anything with the Arrow PyCapsule interface, or a dict of columns. Arrow data is
      not copied, and columns that nobody asks for are not looked at;
    - a stream of such batches, which is never held whole: a dataset, scanner or reader of pyarrow, a lazy frame of
      polars, a relation of DuckDB, or an iterator of tables of these;
    - **a str or a path: files**, read as the command line reads them: CSV, TSV, lines, NDJSON, logs and Parquet, plain or
      compressed; globs and folders, addresses that fsspec knows, open files (``"rb"``). `tamis.files` takes several,
      and says how they are read;
    - an array or iterable of keys, without `key`. **A list of str is one of keys.**

    Keys:

    - `key`: the column of the key, with steps: ``"email:trim,lower"``; several columns make a compound key.
    - `group`: the column of the group, with steps. There is a filter for each group.
    - `keywords`: columns of keywords, in place of `key`, for ``kind="layered"``.
    - `null`: what stands for a missing value. Without it a row without a key is an error that names it, or is
      left out with ``bad_rows="skip"``. `bad_rows_to` leaves such rows out, too, and writes each of them to
      this file: a line of JSON with its number, counted from 0, the reason and its values.

    Size, one of:

    - `fpr`: the rate of false positives, not to be exceeded (0.01 if nothing is given);
    - `bits_per_key`; `size`: bytes for all groups together, as a number or as text (``"64MB"``);
    - `bits`: exactly these without a `group`, otherwise those of all groups; `bits_per_group`: those of each group;
    - with any of them `hashes`: the number of hashes of a key, the best one if nothing is given;
    - with `keys`: each group is planned for this many keys, and nothing is counted;
    - `params`: parameters that `tamis.plan` gave, those of another sketch, or a file that ``tamis plan -o`` saved.

    A filter that holds more keys than `keys` or `params` planned it for says so by a warning, and one that `size` or
    `bits_per_key` leave so little room that it says yes to every second key.

    Kinds: ``"blocked"`` (default), ``"bloom"``, ``"fuse"``, ``"ribbon"``, ``"counting"``, ``"layered"`` (with `layers`), or ``"count-min"``,
    which counts how often keys come, or sums up the column `weight`. It is sized by `epsilon` and `delta` (or
    `width` and `depth`), has counters of `counter_bits` 64 or 32, counts with less error but in one order if
    `conservative`, and keeps the keys whose share is at least `heavy`. `hash` is ``"xxh3"`` (with a `seed`),
    ``"murmur3"``, ``"polynomial"`` (with a `seed`), or ``"siphash"`` with a secret `hash_key`, where strangers choose the keys or must not find out
    which ones there are: 16 bytes, or the path of a file that holds them, which the sketch does not contain.

    `memory` is what counting may take (200 MB if nothing is given), beside the table and the sketches; what does
    not fit waits on disk.

    With `output` the file is written there, and opened. With `exact` the keys themselves are kept beside it, for
    ``filter(strict=True)``. With `distinct` a ``"counting"`` takes each different key once.

    `note` and `source` are recorded about the file, for people: what it is, and where the rows come from.

    >>> import tamis
    >>> ratings = {"title": ["tt1", "tt2", "tt3"], "rating": [6.5, 7.5, 8.1]}
    >>> filters = tamis.build(ratings, key="title", group="rating:round", fpr=1e-6)
    >>> filters.group_names
    ['6', '8']
    >>> filters.groups("tt3")
    ['8']
    """
    options = {name: value for name, value in locals().items() if name not in ("data", "params")}
    options["hash_key"] = make_known(hash_key)
    options["bad_rows_to"] = None if bad_rows_to is None else os.fspath(bad_rows_to)
    options["output"] = None if output is None else os.fspath(output)
    text = params_as_json(params)
    refuse_other_key(options["hash_key"], None if text is None else json.loads(text))
    named = files_of(data)
    given = {**options, "params": text}
    sketch = Sketch(_built_of_rows(data, given) if named is None else _built_of_files(named, given))
    return warned_of_build(sketch, {**options, "params": params})


def files_of(data: Any) -> Optional[Files]:
    """The files that are named, where these are none of rows; says where keys look like files."""
    named = named_files(data)
    if named is None and isinstance(data, (list, tuple)) and 0 < len(data) <= _FEW and _are_paths(data):
        warnings.warn(
            f"a list of str is one of keys, and {data[0]!r} is a file here: tamis.files(*paths) reads files", stacklevel=3
        )
    return named


# Longer lists are surely of keys.
_FEW = 16


def _are_paths(keys: Any) -> bool:
    return all(isinstance(key, str) and os.path.isfile(key) for key in keys)


def _built_of_files(named: Files, options: dict[str, Any]) -> _tamis.File:
    with local_inputs(named) as inputs, a_key_is_no_path(named):
        file, said = _tamis.build_inputs({**options, **inputs})
    say(said, 4)
    return file


def say(said: list[str], level: int = 3) -> None:
    """Warns whoever called the function that says this."""
    for text in said:
        warnings.warn(text, stacklevel=level)


@contextmanager
def a_key_is_no_path(named: Files) -> Iterator[None]:
    """Says of a file that is not there that a str names one."""
    try:
        yield
    except _tamis.Error as error:
        path, found, what = str(error).rpartition(_NONE)
        if not found or what:
            raise
        note = f" (a str names files; one key is given in a list: [{path!r}])" if path in named.paths else ""
        raise FileNotFoundError(errno.ENOENT, _NONE.removeprefix(": ") + note, path) from None


# How the reader says that there is none.
_NONE = ": no such file or folder"


def _built_of_rows(data: Any, options: dict[str, Any]) -> _tamis.File:
    if not options["exact"] and options["output"] is None:
        return _in_memory(data, options)
    if options["exact"]:
        rows = as_rows(data, _wanted(data, options))
        return _tamis.build_exact(rows, options)
    place = options["output"]
    file = _in_memory(data, {**options, "output": None})
    file.save(place)
    return _tamis.open(place, file.skipped)


def _in_memory(data: Any, options: dict[str, Any]) -> _tamis.File:
    batches = as_batches(data)
    if batches is None:
        data, batches = first_of(data)
    # These look at all rows more than once, or in their order.
    if batches is not None and not any(options[name] for name in ("heavy", "conservative", "distinct", "bad_rows_to")):
        return build_batches(batches, options)
    if batches is not None:
        return _tamis.build(iter(list(batches.of(wanted_columns(options, None, batches.names)))), options)
    return _tamis.build(as_rows(data, _wanted(data, options)), options)


def _wanted(data: Any, options: dict[str, Any]) -> Optional[list[str]]:
    """The columns that are asked of a table; all where they are not called by name."""
    names = names_of(data)
    if names is None:
        return None
    wanted = wanted_columns(options, None, names)
    return None if wanted is None else list(wanted)


def plan(
    data: Any = None,
    key: Fields = None,
    group: Optional[str] = None,
    *,
    fpr: Optional[float] = None,
    bits_per_key: Optional[float] = None,
    size: Union[int, str, None] = None,
    bits: Optional[int] = None,
    bits_per_group: Optional[int] = None,
    hashes: Optional[int] = None,
    keys: Optional[int] = None,
    kind: Optional[Kind] = None,
    hash: Optional[Hash] = None,
    seed: Optional[int] = None,
    hash_key: HashKey = None,
    keywords: Fields = None,
    layers: Optional[int] = None,
    weight: Optional[str] = None,
    epsilon: Optional[float] = None,
    delta: Optional[float] = None,
    width: Optional[int] = None,
    depth: Optional[int] = None,
    counter_bits: Optional[int] = None,
    conservative: bool = False,
    null: Optional[str] = None,
    bad_rows: Optional[BadRows] = None,
    bad_rows_to: Union[str, os.PathLike[str], None] = None,
    threads: Optional[int] = None,
    memory: Union[int, str, None] = None,
) -> Params:
    """The parameters that `build` would choose, as a value: give them to ``build(params=...)`` for parts that
    are merged later. They are planned for rows or files, whose keys are counted, or for `keys` keys without them.
    Arguments are those of `build`.

    >>> import tamis
    >>> params = tamis.plan(keys=1_000_000, fpr=0.001)
    >>> params["kind"], params["groups"][0]["keys"]
    ('blocked', 1000000)
    """
    options = {name: value for name, value in locals().items() if name != "data"}
    options["hash_key"] = make_known(hash_key)
    options["bad_rows_to"] = None if bad_rows_to is None else os.fspath(bad_rows_to)
    named = None if data is None else files_of(data)
    if named is None:
        text = _tamis.plan(None if data is None else as_rows(data, _wanted(data, options)), options)
    else:
        with local_inputs(named) as inputs, a_key_is_no_path(named):
            text, said = _tamis.plan_inputs({**options, **inputs})
        say(said)
    planned: Params = json.loads(text)
    return planned
