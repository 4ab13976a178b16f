"""Learn a set once, in little memory; then sieve tables and streams of any size through it.

>>> import tamis
>>> users = tamis.build({"id": ["ann", "bob"], "country": ["at", "it"]}, key="id", group="country", fpr=0.001)
>>> users.contains("ann")
True
>>> users.contains(["ann", "bob"], group="it")
[False, True]

Files are those of the command line, byte for byte: `tamis.open` reads what ``tamis build`` wrote, and
``tamis query`` what `Sketch.save` wrote.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from tamis import _tamis
from tamis._data import as_rows
from tamis._sketch import (
    Builder,
    HashKey,
    Params,
    Sketch,
    add_hash_key,
    from_bytes,
    make_known,
    merge,
    open,
    params_as_json,
    refuse_other_key,
    warned_of_build,
)
from tamis._tamis import Error, KeyClassWarning, __version__

__all__ = [
    "Builder",
    "Error",
    "KeyClassWarning",
    "Params",
    "Sketch",
    "__version__",
    "add_hash_key",
    "build",
    "from_bytes",
    "merge",
    "open",
    "plan",
]

_Fields = Union[str, Sequence[str], None]


def build(
    data: Any,
    key: _Fields = None,
    group: Optional[str] = None,
    *,
    fpr: Optional[float] = None,
    bits_per_key: Optional[float] = None,
    size: Union[int, str, None] = None,
    bits: Optional[int] = None,
    bits_per_group: Optional[int] = None,
    hashes: Optional[int] = None,
    keys: Optional[int] = None,
    kind: Optional[str] = None,
    hash: Optional[str] = None,
    seed: Optional[int] = None,
    hash_key: HashKey = None,
    keywords: _Fields = None,
    layers: Optional[int] = None,
    weight: Optional[str] = None,
    epsilon: Optional[float] = None,
    delta: Optional[float] = None,
    width: Optional[int] = None,
    depth: Optional[int] = None,
    counter_bits: Optional[int] = None,
    conservative: bool = False,
    heavy: Optional[float] = None,
    params: Union[Mapping[str, Any], Sketch, str, os.PathLike[str], None] = None,
    null: Optional[str] = None,
    bad_rows: Optional[str] = None,
    bad_rows_to: Union[str, os.PathLike[str], None] = None,
    threads: Optional[int] = None,
    memory: Union[int, str, None] = None,
    note: Optional[str] = None,
    source: Optional[str] = None,
) -> Sketch:
    """Builds filters or counts of a table, one or one per group: the bytes are those of ``tamis build`` with
    the same rows and options.

    `data` is a pyarrow, polars or pandas table, anything with the Arrow PyCapsule interface, or a dict of
    columns; an iterable of such batches; or an array or iterable of keys, without `key`. Arrow data is not
    copied. A stream of batches is read whole first: `tamis.Builder` takes them one by one.

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
    text = params_as_json(params)
    refuse_other_key(options["hash_key"], None if text is None else json.loads(text))
    sketch = Sketch(_tamis.build(as_rows(data), {**options, "params": text}))
    return warned_of_build(sketch, {**options, "params": params})


def plan(
    data: Any = None,
    key: _Fields = None,
    group: Optional[str] = None,
    *,
    fpr: Optional[float] = None,
    bits_per_key: Optional[float] = None,
    size: Union[int, str, None] = None,
    bits: Optional[int] = None,
    bits_per_group: Optional[int] = None,
    hashes: Optional[int] = None,
    keys: Optional[int] = None,
    kind: Optional[str] = None,
    hash: Optional[str] = None,
    seed: Optional[int] = None,
    hash_key: HashKey = None,
    keywords: _Fields = None,
    layers: Optional[int] = None,
    weight: Optional[str] = None,
    epsilon: Optional[float] = None,
    delta: Optional[float] = None,
    width: Optional[int] = None,
    depth: Optional[int] = None,
    counter_bits: Optional[int] = None,
    conservative: bool = False,
    null: Optional[str] = None,
    bad_rows: Optional[str] = None,
    bad_rows_to: Union[str, os.PathLike[str], None] = None,
    threads: Optional[int] = None,
    memory: Union[int, str, None] = None,
) -> Params:
    """The parameters that `build` would choose, as a value: give them to ``build(params=...)`` for parts that
    are merged later. They are planned for a table, whose keys are counted, or for `keys` keys without one.
    Arguments are those of `build`.

    >>> import tamis
    >>> params = tamis.plan(keys=1_000_000, fpr=0.001)
    >>> params["kind"], params["groups"][0]["keys"]
    ('blocked', 1000000)
    """
    options = {name: value for name, value in locals().items() if name != "data"}
    options["hash_key"] = make_known(hash_key)
    options["bad_rows_to"] = None if bad_rows_to is None else os.fspath(bad_rows_to)
    rows = None if data is None else as_rows(data)
    planned: Params = json.loads(_tamis.plan(rows, options))
    return planned
