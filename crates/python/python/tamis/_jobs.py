"""Jobs on rows and on files: filter, dedup and test, with the meaning that they have on the command line."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Optional, Union

from tamis import _tamis
from tamis._build import a_key_is_no_path, files_of, say
from tamis._data import as_rows, names_of
from tamis._files import Files, local_inputs, named_files
from tamis._filter import Filter
from tamis._sieve import Fields, sieved
from tamis._sketch import HashKey, Sketch, make_known
from tamis._stream import wanted_columns
from tamis._types import (
    BadRows,
    CountsTestReport,
    DedupReport,
    FilterReport,
    OutputFormat,
    Path,
    TestReport,
    as_counts_report,
    as_dedup_report,
    as_filter_report,
    as_test_report,
)

_Group = Union[str, bytes, int, None]


def filter(
    data: Any,
    sketch: Union[Sketch, Filter, Path],
    key: Fields = None,
    *,
    output: Optional[Path] = None,
    rejected: Optional[Path] = None,
    count: bool = False,
    invert: bool = False,
    group: _Group = None,
    own_group: Union[bool, str] = False,
    tag: Optional[str] = None,
    strict: bool = False,
    partial: bool = False,
    removed: Optional[Path] = None,
    output_format: Optional[OutputFormat] = None,
    compression: Optional[str] = None,
    bad_rows: BadRows = "fail",
    threads: Optional[int] = None,
    memory: Union[int, str, None] = None,
) -> Any:
    """The records whose key may be in the set.

    **Of rows** (a table, a stream of batches, keys) these rows, as `Sketch.filter` gives them. **Of files** (a str, a path,
    `tamis.files`) those that pass are written to `output`, unchanged and in order, as ``tamis filter`` does it, and a
    `FilterReport` is returned; `rejected` takes the others, `tag` names a column for the groups of each, and with
    `count` nothing is written. `sketch` may be the path of its file.

    >>> import os, tamis, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> at = lambda name: os.path.join(folder.name, name)
    >>> with open(at("visits.csv"), "w") as file:
    ...     _ = file.write("who,n\\nann,1\\nzoe,2\\n")
    >>> told = tamis.filter(at("visits.csv"), tamis.build(["ann"]), key="who", output=at("known.csv"))
    >>> told.records, told.admitted, open(at("known.csv")).read()
    (2, 1, 'who,n\\nann,1\\n')
    """
    named = files_of(data)
    if named is None:
        of_files = {"output": output, "rejected": rejected, "tag": tag, "removed": removed, "output_format": output_format}
        _refuse_of_files({**of_files, "compression": compression, "count": count or None})
        return _filtered(data, sketch, locals())
    if output is None and not count:
        raise ValueError("name the file for the records that pass by output=, or count them by count=True")
    own = own_group if isinstance(own_group, str) else "" if own_group else None
    options: dict[str, Any] = {"key": key, "group": None if group is None else _text(group), "own_group": own}
    options.update(tag=tag, partial=partial, invert=invert, count=count, output=_path(output), rejected=_path(rejected))
    options.update(output_format=output_format, compression=compression, strict=strict, memory=memory)
    options.update(removed=_path(removed), bad_rows=bad_rows, threads=threads)
    with on_disk(sketch) as filters, local_inputs(named) as inputs, a_key_is_no_path(named):
        told, said = _tamis.filter_inputs({**options, **inputs, "filters": filters})
    say(said)
    return as_filter_report(json.loads(told))


def _filtered(data: Any, sketch: Union[Sketch, Filter, Path], given: Mapping[str, Any]) -> Any:
    opened: Any = sketch if isinstance(sketch, (Sketch, Filter)) else Sketch(_tamis.open(os.fspath(sketch)))
    names = ("key", "invert", "bad_rows", "threads")
    more = ("group", "own_group", "strict", "partial", "memory")
    options = {name: given[name] for name in names}
    options.update({name: given[name] for name in more if given[name]})
    return opened.filter(data, **options)


def _refuse_of_files(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} is of files: rows that pass are returned")


def _path(path: Optional[Path]) -> Optional[str]:
    return None if path is None else os.path.abspath(os.fspath(path))


def _text(group: Union[str, bytes, int]) -> str:
    return os.fsdecode(group) if isinstance(group, bytes) else str(group)


@contextmanager
def on_disk(sketch: Union[Sketch, Filter, Path]) -> Iterator[str]:
    """The path of a file of this sketch: its own, or one that goes away."""
    if not isinstance(sketch, (Sketch, Filter)):
        yield os.fspath(sketch)
        return
    file = sketch._frozen_file()
    if file.path is not None:
        yield os.fspath(file.path)
        return
    with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
        path = os.path.join(folder, "asked.tamis")
        file.save(path)
        yield path


def dedup(
    data: Any,
    key: Fields = None,
    *,
    output: Optional[Path] = None,
    rejected: Optional[Path] = None,
    count: bool = False,
    fpr: Optional[float] = None,
    size: Union[int, str, None] = None,
    strict: bool = False,
    state: Optional[Path] = None,
    hash_key: HashKey = None,
    seed: Optional[int] = None,
    null: Optional[str] = None,
    output_format: Optional[OutputFormat] = None,
    compression: Optional[str] = None,
    bad_rows: BadRows = "fail",
    threads: Optional[int] = None,
    memory: Union[int, str, None] = None,
) -> Any:
    """The records whose key comes for the first time, in their order.

    What came before is remembered by a filter that grows: a first occurrence is dropped with a probability of `fpr` at
    most (one in a million). With `strict` none is: the keys themselves are compared. Without `key` a whole line is the
    key; of a table, all of its columns are.

    **Of rows** these are returned in the type in which they came. For batch after batch, `Filter.dedup` remembers. **Of
    files** they are written to `output`, as ``tamis dedup`` does it, and a `DedupReport` is returned; `state` is what is
    remembered between runs, `size` the bytes of a filter that does not grow.

    >>> import pandas as pd, tamis
    >>> tamis.dedup(pd.DataFrame({"id": [7, 8, 7], "n": [1, 2, 3]}), "id")["n"].tolist()
    [1, 2]
    """
    named = files_of(data)
    if named is None:
        of_files: dict[str, Any] = {"output": output, "rejected": rejected, "state": state, "size": size, "memory": memory}
        _refuse_of_files({**of_files, "output_format": output_format, "compression": compression, "count": count or None})
        return _first_of_rows(data, key, fpr, strict, hash_key, seed, null, bad_rows, threads)
    if output is None and not count:
        raise ValueError("name the file for first occurrences by output=, or count them by count=True")
    check = make_known(hash_key)
    options: dict[str, Any] = {"key": key, "fpr": fpr, "size": size, "strict": strict, "state": _path(state)}
    options.update(seed=seed, hash_key=check, hash="siphash" if check else None, null=null, count=count)
    options.update(output=_path(output), rejected=_path(rejected), output_format=output_format, compression=compression)
    options.update(bad_rows=bad_rows, threads=threads, memory=memory if strict else None)
    with local_inputs(named) as inputs, a_key_is_no_path(named):
        told, said = _tamis.dedup_inputs({**options, **inputs})
    say(said)
    return as_dedup_report(json.loads(told))


def _first_of_rows(
    data: Any,
    key: Fields,
    fpr: Optional[float],
    strict: bool,
    hash_key: HashKey,
    seed: Optional[int],
    null: Optional[str],
    bad_rows: BadRows,
    threads: Optional[int],
) -> Any:
    names = names_of(data)
    if key is None and names is not None:
        # In quotes, a name is nothing else, whatever is in it.
        columns = names if not hasattr(data, "index") else [str(name) for name in data.columns]
        key = ['"' + name.replace('"', '""') + '"' for name in columns]
    if strict:
        if fpr is not None:
            raise ValueError("with strict nothing is dropped wrongly: leave out fpr")
        options = {"key": key, "null": null, "bad_rows": bad_rows}
        only = None if names is None else wanted_columns({"key": key}, None, names)
        return sieved(data, lambda some: _tamis.first_rows(as_rows(some, only), options), False, _not_lazily)
    # Like that of the command line, it has a seed of its own, which nobody can make keys for.
    chosen: dict[str, Any] = {"hash_key": hash_key, "hash": "siphash"} if hash_key is not None else {
        "seed": secrets.randbits(63) if seed is None else seed
    }
    seen = Filter(key=key, kind="scalable", keys=1 << 16, fpr=1e-6 if fpr is None else fpr, null=null, **chosen)
    return seen.dedup(data, bad_rows=bad_rows, threads=threads)


def _not_lazily() -> Any:
    raise TypeError("a lazy frame may be run in any order: collect it first")


def test(
    data: Any,
    sketch: Union[Sketch, Filter, Path],
    key: Fields = None,
    group: Optional[str] = None,
    *,
    negatives: Any = None,
    random: Optional[int] = None,
    seed: int = 1,
    removed: Optional[Path] = None,
    adversary: bool = False,
    bad_rows: BadRows = "fail",
    threads: Optional[int] = None,
) -> Union[TestReport, CountsTestReport]:
    """Tests filters with the rows they were built from, as ``tamis test`` does it: exact false positives and false
    negatives of each group; or counts, whose estimates are compared with the truth.

    `data` are the rows or files that were built from, or None; `key` and `group` name their columns where they are
    called otherwise. `negatives` are keys known to be outside, `random` keys are made up. The negatives of a group are
    also the keys of the others. `passed` says whether there is no false negative, and no improbable number of false
    positives.

    >>> import tamis
    >>> rows = {"id": ["ann", "bob", "eve"], "country": ["at", "at", "it"]}
    >>> told = tamis.test(rows, tamis.build(rows, key="id", group="country"), random=10_000)
    >>> told.passed, told.false_negatives, len(told.groups)
    (True, 0, 2)
    """
    given: dict[str, Any] = {"key": key, "group": group, "bad_rows": bad_rows}
    inside = None if data is None else named_files(data)
    outside = None if negatives is None else named_files(negatives)
    if inside is None and outside is None and data is not None:
        if removed is not None or adversary:
            raise ValueError("removed and adversary are of files: save the rows, and name their file")
        return _test_rows(data, sketch, given, negatives, random, seed)
    if (data is not None and inside is None) or (negatives is not None and outside is None):
        if data is not None or negatives is None:
            raise TypeError("data and negatives are both rows, or both files")
        return _test_rows(None, sketch, given, negatives, random, seed)
    given.update(random=random, seed=seed, removed=_path(removed), adversary=adversary, threads=threads)
    with on_disk(sketch) as filters, local_inputs(inside or Files((), {})) as inputs:
        with local_inputs(outside or Files((), {})) as others:
            others_named = {"negatives": others["inputs"]}
            told, said = _tamis.test_inputs({**given, **inputs, **others_named, "filters": filters})
    say(said)
    return _report(json.loads(told))


def _report(told: dict[str, Any]) -> Union[TestReport, CountsTestReport]:
    return as_counts_report(told) if "ranks" in told else as_test_report(told)


def _test_rows(
    data: Any, sketch: Any, given: dict[str, Any], negatives: Any, random: Optional[int], seed: int
) -> Union[TestReport, CountsTestReport]:
    opened = sketch if isinstance(sketch, (Sketch, Filter)) else Sketch(_tamis.open(os.fspath(sketch)))
    file = opened._frozen_file()
    file.verify()  # damage would be blamed on the data
    if file.kind.startswith("count-min"):
        if negatives is not None or random is not None:
            raise ValueError("counts are compared with the truth: leave out negatives and random")
        return _report(json.loads(_tamis.test_counts(file, as_rows(data), given)))
    judge = _tamis.Judge(file)
    gatherer = _tamis.Gatherer(file, given)
    of_keys = {**given, "group": None}
    outside = _tamis.Gatherer(file, of_keys)
    if data is not None:
        gatherer.add(as_rows(data), False)
    if negatives is not None:
        outside.add(as_rows(negatives), True)
    if random:
        outside.add_random(0, random, seed)
    for gathered in (gatherer, outside):
        for _, part in gathered.drain():
            judge.absorb(part)
    judge.settle(file)
    told = _tamis.conclude_test(file, judge.findings(), data is not None, negatives is not None)
    return _report(json.loads(told))
