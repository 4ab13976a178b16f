"""Sketches: what is built, opened, asked, merged and saved."""

from __future__ import annotations

import builtins
import json
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, TypeVar, Union, overload

from tamis import _tamis
from tamis._data import as_rows, in_shape_of
from tamis._files import is_address, is_open_file, read_bytes
from tamis._sieve import Fields, Params, Sieve, is_one
from tamis._types import BadRows, Path, Top

if TYPE_CHECKING:
    from tamis._filter import Filter

# A secret key: its bytes, or the path of a file that holds them.
HashKey = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]", None]

_Group = Union[str, bytes, int, None]

_Data = TypeVar("_Data")


class Sketch(_tamis.Holder, Sieve):
    """Filters or counts of keys, one or one per group, in memory or mapped from a file.

    They come from `tamis.build`, `tamis.open`, `tamis.merge` and `tamis.from_bytes`.

    >>> import tamis
    >>> seen = tamis.build(["ann", "bob", "eve"])
    >>> seen.contains("bob"), "bob" in seen
    (True, True)
    >>> seen.contains(["ann", "bob"])
    [True, True]
    """

    __slots__ = ()

    # Questions

    @overload
    def contains(
        self,
        keys: Union[str, bytes, float],
        group: _Group = ...,
        *,
        partial: bool = ...,
        bad_rows: BadRows = ...,
        threads: Optional[int] = ...,
    ) -> bool: ...

    @overload
    def contains(
        self,
        keys: list[Any],
        group: _Group = ...,
        *,
        partial: bool = ...,
        bad_rows: BadRows = ...,
        threads: Optional[int] = ...,
    ) -> list[bool]: ...

    @overload
    def contains(
        self,
        keys: Any,
        group: _Group = ...,
        *,
        partial: bool = ...,
        bad_rows: BadRows = ...,
        threads: Optional[int] = ...,
    ) -> Any: ...

    def contains(
        self,
        keys: Any,
        group: _Group = None,
        *,
        partial: bool = False,
        bad_rows: BadRows = "fail",
        threads: Optional[int] = None,
    ) -> Any:
        """Whether keys may be in the set: never wrong about a key that is in it.

        `keys` is one key (a str, bytes, number, bool, date or time; a tuple where the key has several parts), and
        the answer a bool; or many: an Arrow array, a polars, pandas or numpy column, a table that has the
        columns of the key, or any iterable. Answers come in the same shape: pyarrow gives pyarrow, polars a
        polars Series, pandas a pandas Series with the same index, numpy a numpy array, other Arrow objects
        something with ``__arrow_c_array__``, and everything else a list. The steps of the recipe are applied, the
        strings of an Arrow array are not copied, and many keys are asked on `threads` threads (all cores).

        With groups, a key that may be in any of them counts; `group` asks one of them.

        A ``"layered"`` filter is asked for whole records of keywords. With `partial` the keywords are asked in the layers
        that they reach, and the XOR layer is not asked: each may be at its place in some record, and not all of them in
        one.

        A value that means the same as a key of another class is found where that is certain: 7.0 in a file of
        integers, a date in one of times. Where it is not, and a key was not found, `tamis.KeyClassWarning` says so once
        for each class that asks.

        A null, an empty text, the text ``\\N`` or one that the steps cannot read is no key: an error that names the row,
        or False with ``bad_rows="skip"``.

        >>> import tamis
        >>> users = tamis.build({"email": [" Ann@Example.org", "bob@example.org"]}, key="email:trim,lower")
        >>> users.contains("ANN@example.org")
        True
        >>> users.contains([None, "bob@example.org"], bad_rows="skip")
        [False, True]
        """
        file = self._held or self._file
        if is_one(keys, file.parts):
            return file.contains_one(keys, group, None if bad_rows == "fail" else bad_rows, partial)
        return in_shape_of(keys, file.contains(as_rows(keys), group, bad_rows, threads, partial))

    def groups(
        self, keys: Any, *, partial: bool = False, bad_rows: BadRows = "fail", threads: Optional[int] = None
    ) -> list[Any]:
        """The groups that a key may be in: a list of their names, of many keys a list of lists. `partial` is that of
        `contains`.

        Names are str (bytes where they are no UTF-8), numbers first. Without groups there is one group
        whose name is empty.

        >>> import tamis
        >>> rows = {"id": ["ann", "bob", "bob"], "country": ["at", "at", "it"]}
        >>> users = tamis.build(rows, key="id", group="country", fpr=1e-6)
        >>> users.groups("bob")
        ['at', 'it']
        >>> users.contains("ann", group="it")
        False
        """
        file = self._file
        if is_one(keys, file.parts):
            return file.groups_one(keys, bad_rows, partial)
        return file.groups(as_rows(keys), bad_rows, threads, partial)

    @overload
    def estimate(
        self, keys: Union[str, bytes, float], group: _Group = ..., *, bad_rows: BadRows = ..., threads: Optional[int] = ...
    ) -> int: ...

    @overload
    def estimate(
        self, keys: list[Any], group: _Group = ..., *, bad_rows: BadRows = ..., threads: Optional[int] = ...
    ) -> list[int]: ...

    @overload
    def estimate(
        self, keys: Any, group: _Group = ..., *, bad_rows: BadRows = ..., threads: Optional[int] = ...
    ) -> Any: ...

    def estimate(
        self,
        keys: Any,
        group: _Group = None,
        *,
        bad_rows: BadRows = "fail",
        threads: Optional[int] = None,
    ) -> Any:
        """How often keys came, or the sum of their weights: never below the truth, and at most `bound` above
        it except with a small probability. For ``kind="count-min"``; one key or many, as with `contains`. A
        counter that ran full stays at its largest value (of 32 bits, 4294967295): the truth is then at least
        that, and `inspect` tells how many are full.

        >>> import tamis
        >>> hits = tamis.build(["/", "/", "/about"], kind="count-min")
        >>> hits.estimate("/"), hits.estimate(["/about", "/none"])
        (2, [1, 0])
        """
        file = self._file
        if is_one(keys, file.parts):
            return file.estimate_one(keys, group, bad_rows)
        return in_shape_of(keys, file.estimate(as_rows(keys), group, bad_rows, threads))

    def top(
        self, count: Optional[int] = None, group: _Group = None, *, share: Optional[float] = None
    ) -> list[Top]:
        """The most frequent keys with their estimates, highest first, from those that ``build(heavy=...)`` kept.
        None is missing whose share of the total weight is at least `share` (that of the build if nothing is said);
        `count` cuts the list. With groups, each has its own: name one. A key whose counters ran full has no
        estimate.

        >>> import tamis
        >>> hits = tamis.build(["/"] * 8 + ["/about", "/news"], kind="count-min", heavy=0.2)
        >>> hits.top()
        [Top(key='/', estimate=8)]
        """
        file = self._file
        found = file.top(share)
        if file.grouped and group is None:
            raise ValueError("each group has counts of its own: name one with group=")
        if group is not None:
            name = group if isinstance(group, (str, bytes)) else str(group)
            if name not in file.group_names():
                raise ValueError(f"there is no group {name!r}")
            found = [one for one in found if one[0] == name]
        return [Top(key, estimate) for _, key, estimate in found][:count]

    # Sieving

    def filter(
        self,
        data: _Data,
        key: Fields = None,
        *,
        invert: bool = False,
        group: _Group = None,
        own_group: Union[bool, str] = False,
        strict: bool = False,
        partial: bool = False,
        bad_rows: BadRows = "fail",
        threads: Optional[int] = None,
        memory: Optional[int] = None,
    ) -> _Data:
        """The rows whose key may be in the set, in the type in which they came: a table of pandas (with its index), polars
        or pyarrow, a dict of columns; an array, a Series or a list of keys. A lazy frame of polars stays lazy; a dataset,
        a scanner or a reader of pyarrow becomes a `RecordBatchReader`, which sieves batch by batch.

        `key` names the column, or several, where the recipe does not, or otherwise. With `invert` the others pass. With
        groups, a key that may be in any of them passes; `group` asks one of them, and `own_group` each row's own, by the
        column of the recipe or the one that it names. With `strict` what passes is compared with the keys themselves
        (``build(exact=True)``), so that there are no false positives; `memory` is what that may take.

        A row without a key is an error; with ``bad_rows="skip"`` it counts as not in the set.

        >>> import pandas as pd, tamis
        >>> known = tamis.build(["ann", "bob"])
        >>> visits = pd.DataFrame({"who": ["ann", "zoe", "bob"], "n": [1, 2, 3]})
        >>> known.filter(visits, "who")["n"].tolist(), known.filter(visits, "who", invert=True)["n"].tolist()
        ([1, 3], [2])
        """
        how = {name: value for name, value in locals().items() if name not in ("self", "data", "invert")}
        passed: _Data = self._filtered(data, how, invert)
        return passed

    def _frozen_file(self) -> _tamis.File:
        return self._file

    def _named_columns(self, how: Mapping[str, Any]) -> Optional[dict[str, Any]]:
        own = how.get("own_group")
        named = {"key": how.get("key"), "group": own if isinstance(own, str) else None}
        return named if any(value is not None for value in named.values()) else None

    def _asked_names(self, how: dict[str, Any]) -> Optional[list[str]]:
        return self._file.names(self._named_columns(how), bool(how.get("own_group")))

    def _mask(self, data: Any, how: dict[str, Any]) -> _tamis.Answers:
        rows, named = self._rows(data, how), self._named_columns(how)
        group, bad = how.get("group"), how.get("bad_rows")
        own, strict = bool(how.get("own_group")), bool(how.get("strict"))
        if own and group is not None:
            raise ValueError("group and own_group exclude each other: leave one out")
        if own or strict:
            if how.get("partial"):
                raise ValueError("partial is asked without strict and own_group")
            return self._file.by_row(rows, group, bad, (own, strict), named, how.get("memory"))
        return self._file.contains(rows, group, bad, how.get("threads"), bool(how.get("partial")), named)

    # What it is

    def __len__(self) -> int:
        """The number of different keys, estimated from the bits that are set (of ``"fuse"`` and ``"ribbon"`` exact). With groups, the sum
        over them: a key of two groups counts twice. Counts have no number of keys."""
        keys, _ = self._file.keys_and_rate()
        return round(min(keys, 2**62))

    def __bool__(self) -> bool:
        return True

    @property
    def exact(self) -> bool:
        """Whether the keys themselves lie beside the file (``build(exact=True)``), for ``strict=True``."""
        return self._file.exact

    def to_filter(self) -> Filter:
        """A `tamis.Filter` with the same keys, which grows in place; this stays as it is. For one set, without groups."""
        from tamis._filter import Filter

        return Filter._of(self._file)

    @property
    def kind(self) -> str:
        """blocked, bloom, fuse, ribbon, counting, layered, scalable, count-min or count-min-conservative."""
        return self._file.kind

    @property
    def about(self) -> dict[str, Any]:
        """What is recorded about the file and no lookup depends on: `note` and `source` as `build` was given them,
        and what else there is; ``dialect`` is what ``tamis build`` was told about the text that it read, ``classes`` are
        those of the values that keys were made from (text, integer, decimal, float, date, time, bytes, boolean), where
        some were no text. Empty where nothing is recorded.

        >>> import tamis
        >>> tamis.build(["ann"], note="of March").about
        {'note': 'of March'}
        >>> tamis.build([7, 2.5]).about
        {'classes': ['integer', 'float']}
        """
        about: dict[str, Any] = json.loads(self._file.about)
        return about

    @property
    def format_version(self) -> int:
        """The version of the file: 1, or 2 where it has something that version 1 cannot hold."""
        return self._file.format_version

    @property
    def group_names(self) -> list[Any]:
        """The names of the groups."""
        return self._file.group_names()

    @property
    def bound(self) -> int:
        """How far an estimate may be above the truth, except with a small probability: that of the group with
        the largest total; `inspect` has all. For count-min."""
        return self._file.bound()

    @property
    def total(self) -> int:
        """The sum of all weights, over all groups. For count-min."""
        return self._file.total()

    @property
    def skipped(self) -> int:
        """Rows that were left out when it was built, with ``bad_rows="skip"``."""
        return self._file.skipped

    @property
    def nbytes(self) -> int:
        """The bytes of the file."""
        return self._file.nbytes

    def verify(self) -> None:
        """Reads all and compares every checksum: raises `tamis.Error` where something is damaged."""
        self._file.verify()

    def __repr__(self) -> str:
        if self._held is None:
            return "<tamis.Sketch, closed>"
        file = self._held
        groups = f", {len(file.group_names())} groups" if file.grouped else ""
        if file.kind.startswith("count-min"):
            holds = f", total {file.total():,}"
        else:
            keys, rate = file.keys_and_rate()
            holds = f", {counted(keys)}, rate {rate:.2g}"
        return f"<tamis.Sketch {file.kind}, {file.recipe}{groups}{holds}, {file.nbytes:,} bytes>"

    # Together with others

    def add(
        self,
        data: Any,
        key: Union[str, Sequence[str], None] = None,
        group: Optional[str] = None,
        *,
        weight: Optional[str] = None,
        bad_rows: BadRows = "fail",
        threads: Optional[int] = None,
    ) -> Sketch:
        """The sketch of these rows and of those that it has: another one, this stays as it is. It has the bytes of
        one build of all rows with these parameters. Columns are those of the recipe; others may be named. Kinds
        that cannot be merged (``"fuse"``, ``"ribbon"``, conservative counts) cannot be added to.

        >>> import tamis
        >>> hits = tamis.build(["/", "/about"], kind="count-min")
        >>> hits.add(["/", "/"]).estimate("/"), hits.estimate("/")
        (3, 1)
        """
        options = {name: value for name, value in locals().items() if name not in ("self", "data")}
        file = self._file
        more = _tamis.build(as_rows(data), {**options, "params": file.params, "heavy": file.heavy_share})
        return warned(Sketch(_tamis.merge_files([file, more], threads, True)))

    def __or__(self, other: object) -> Sketch:
        """Both together, as `tamis.merge` has it."""
        if not isinstance(other, Sketch):
            return NotImplemented
        return warned(_merged([self._file, other._file], None))

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same, byte for byte. What is recorded `about` them does not count."""
        if not isinstance(other, Sketch):
            return NotImplemented
        return self._file.same(other._file)

    __hash__ = None  # type: ignore[assignment]

    # To disk and back

    def __reduce__(self) -> tuple[Any, ...]:
        path = self._file.path
        if path is not None:
            place = os.path.abspath(os.fspath(path))
            if _is_file_of(place, self._file.digest):
                return _opened_again, (place, self._file.digest)
        return from_bytes, (self.to_bytes(),)

    def close(self) -> None:
        """Lets go of the file or the memory. Closing twice does no harm."""
        self._let_go()

    def __enter__(self) -> Sketch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def counted(keys: float) -> str:
    """A number of keys, for people; a full filter has no number."""
    if keys >= 2**62:
        return "too many keys"
    return f"{round(keys):,} key{'' if round(keys) == 1 else 's'}"


def _is_file_of(path: str, digest: str) -> bool:
    """Whether this is a file of ours with this digest."""
    try:
        return _tamis.open(path).digest == digest
    except (OSError, _tamis.Error):
        return False


def _opened_again(path: str, digest: str) -> Sketch:
    """What the pickle of a mapped file comes to: the same file, mapped."""
    if not _is_file_of(path, digest):
        raise _tamis.Error(
            f"{path}: the pickle names this file, and here is not the one that was pickled; pickle "
            "tamis.from_bytes(sketch.to_bytes()) to send the bytes along"
        )
    return open(path)


class Builder:
    """Takes tables one after the other, such as the batches of a stream: memory is that of the sketch alone.

    The parameters are known before (`tamis.plan`), and the result is what `build` gives of all rows with
    them. Other columns than they name may be given, and what to do with bad rows, as with `build`.

    >>> import tamis
    >>> seen = tamis.Builder(tamis.plan(keys=1000, fpr=0.001))
    >>> for batch in (["ann", "bob"], ["eve"]):
    ...     seen.add(batch)
    >>> seen.finish().contains("eve")
    True
    """

    __slots__ = ("_builder",)

    def __init__(
        self,
        params: Union[Mapping[str, Any], Sketch, str, os.PathLike[str]],
        *,
        key: Union[str, Sequence[str], None] = None,
        group: Optional[str] = None,
        keywords: Union[str, Sequence[str], None] = None,
        weight: Optional[str] = None,
        bad_rows: BadRows = "fail",
        threads: Optional[int] = None,
        note: Optional[str] = None,
        source: Optional[str] = None,
        hash_key: HashKey = None,
    ) -> None:
        check = make_known(hash_key)
        options = {name: value for name, value in locals().items() if name not in ("self", "params", "hash_key", "check")}
        text = params_as_json(params)
        refuse_other_key(check, None if text is None else json.loads(text))
        self._builder = _tamis.Builder({**options, "params": text})

    def add(self, data: Any) -> None:
        """Adds the rows of a table, or keys: what `build` takes. After an error start over."""
        self._builder.add(as_rows(data))

    def finish(self) -> Sketch:
        """The sketch of all rows that were added. The builder takes no more."""
        return warned(Sketch(self._builder.finish()))


def open(
    path: Any,
    *,
    hash_key: HashKey = None,
    as_: Optional[str] = None,
    funnel: Optional[str] = None,
) -> Sketch:
    """Opens a file that `tamis build` or `Sketch.save` wrote. It is mapped into memory: opening takes no time
    whatever its size, and processes that open the same file share it. An open file, or an address that fsspec knows
    (``s3://…``), is read into memory.

    >>> import os, tamis, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "users.tamis")
    >>> tamis.build(["ann", "bob"]).save(path)
    >>> with tamis.open(path) as users:
    ...     users.contains("ann")
    True

    A file that was made with ``hash="siphash"`` needs the same `hash_key`: 16 bytes, or the path of a file that holds
    them.

    A file of another system (Spark, Guava, Hadoop, DCSO, DataSketches, RedisBloom) is recognised; `as_` says whose it is
    where that is not enough: ``"spark"``, ``"guava"``, …. `funnel` says what its keys are there: ``"utf8"`` (the default),
    ``"utf16"``, ``"int"``, ``"long"``, or steps of a recipe (``"long,xxhash64"``).
    """
    check = make_known(hash_key)
    if is_open_file(path) or is_address(path):
        return hashed_with(check, Sketch(_tamis.from_bytes(read_bytes(path), as_, funnel)))
    return hashed_with(check, Sketch(_tamis.open(os.fspath(path), layout=as_, funnel=funnel)))


def from_bytes(
    data: Union[bytes, bytearray, memoryview],
    *,
    hash_key: HashKey = None,
    as_: Optional[str] = None,
    funnel: Optional[str] = None,
) -> Sketch:
    """The sketch whose `to_bytes` these are. They are verified: damaged ones raise `tamis.Error`. A sketch that was made
    with ``hash="siphash"`` needs its `hash_key`. Bytes of another system are recognised, as `tamis.open` does it; `as_`
    and `funnel` say what they do not."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError("these are no bytes: give what to_bytes gave")
    check = make_known(hash_key)
    return hashed_with(check, Sketch(_tamis.from_bytes(bytes(data), as_, funnel)))


def merge(*sketches: Union[Sketch, Iterable[Sketch]], threads: Optional[int] = None) -> Sketch:
    """Brings sketches of the same parameters together: what one build of all their rows gives, byte for
    byte. Takes sketches, or an iterable of them. Others cannot be merged: `tamis.Error` says why.

    >>> import tamis
    >>> params = tamis.plan(["ann", "bob", "eve"], fpr=0.001)
    >>> a, b = tamis.build(["ann"], params=params), tamis.build(["bob", "eve"], params=params)
    >>> tamis.merge(a, b) == tamis.build(["ann", "bob", "eve"], params=params)
    True
    >>> (a | b).contains("eve")
    True
    """
    all_of: list[Sketch] = []
    for one in sketches:
        all_of.extend([one] if isinstance(one, Sketch) else one)
    if not all(isinstance(one, Sketch) for one in all_of):
        raise TypeError("sketches are merged with sketches: open files with tamis.open first")
    return warned(_merged([one._file for one in all_of], threads))


def _merged(files: list[_tamis.File], threads: Optional[int]) -> Sketch:
    """All of them; who called `merge` hears of what is not recorded about the result, since they differ in it."""
    sketch = Sketch(_tamis.merge_files(files, threads, False))
    dropped = _tamis.not_shared(files)
    if dropped:
        warnings.warn(f"not recorded about the merged sketch, since they differ in it: {', '.join(dropped)}", stacklevel=3)
    return sketch


# From this rate of false positives on a filter of a given size is called full.
FULL = 0.5


def warned(sketch: Sketch) -> Sketch:
    """The same sketch; its caller's caller hears of filters that hold more keys than they were planned for."""
    too_full = sketch._file.overfull()
    if too_full is not None:
        warnings.warn(f"{too_full}: plan it for more keys", stacklevel=3)
    return sketch


def warned_of_build(sketch: Sketch, options: Mapping[str, Any]) -> Sketch:
    """The same, of a sketch that was built with these options: what it has room for was said in some of them."""
    if any(options.get(name) is not None for name in ("size", "bits_per_key", "bits", "bits_per_group")):
        too_full = sketch._file.overfull(FULL)
        do = "give it more room, or a rate by fpr="
    else:
        planned = options.get("keys") is not None or options.get("params") is not None
        too_full, do = sketch._file.overfull() if planned else None, "plan it for more keys"
    if too_full is not None:
        warnings.warn(f"{too_full}: {do}", stacklevel=3)
    return sketch


def add_hash_key(hash_key: Union[bytes, bytearray, memoryview, str, os.PathLike[str]]) -> None:
    """Makes a secret hash key known to this process until it ends: sketches that were made with it can be opened,
    unpickled and asked. `tamis.build`, `tamis.open` and others do the same with their `hash_key`.

    >>> import secrets, tamis
    >>> key = secrets.token_bytes(16)
    >>> tamis.add_hash_key(key)
    >>> tamis.build(["ann"], hash="siphash", hash_key=key).contains("ann")
    True
    """
    make_known(hash_key)


def hashed_with(check: Optional[str], sketch: Sketch) -> Sketch:
    """The same sketch, where it was made with the key that was given."""
    refuse_other_key(check, sketch.params)
    return sketch


def refuse_other_key(check: Optional[str], params: Optional[Mapping[str, Any]]) -> None:
    """Refuses a key with which the sketches of these parameters are not made: another one may be known, too."""
    if check is not None and params is not None and params["hash"].get("check") != check:
        raise _tamis.Error(f"these were not made with the hash_key of check value {check}, which was given")


def make_known(hash_key: HashKey) -> Optional[str]:
    """Makes a secret hash key known to this process; its check value, which is all that requests have of it."""
    if hash_key is None:
        return None
    if isinstance(hash_key, (bytes, bytearray, memoryview)):
        return _tamis.add_hash_key(bytes(hash_key))
    if not isinstance(hash_key, (str, os.PathLike)):
        raise TypeError("hash_key is 16 bytes, or the path of a file that holds them")
    if re.fullmatch("[0-9a-fA-F]{32}", os.fspath(hash_key)):
        # Nobody should read it in the message of an error.
        raise ValueError("hash_key is 16 bytes, or the path of a file, not its digits: give bytes.fromhex(...)")
    with builtins.open(hash_key, "rb") as file:
        try:
            return _tamis.add_hash_key(file.read(1024))
        except ValueError as error:
            raise ValueError(f"{os.fspath(hash_key)}: {error}") from None


def params_as_json(params: Union[Mapping[str, Any], Sketch, str, os.PathLike[str], None]) -> Optional[str]:
    """Parameters in any form, as the text that is saved."""
    if params is None:
        return None
    if isinstance(params, Sketch):
        return params._file.params
    if isinstance(params, Mapping):
        return json.dumps(dict(params))
    if isinstance(params, str) and params.lstrip().startswith("{"):
        return params
    if isinstance(params, (str, os.PathLike)):
        with builtins.open(params, encoding="utf-8") as file:
            try:
                return file.read()
            except UnicodeDecodeError:
                raise ValueError(
                    f"{os.fspath(params)}: this is no file that `tamis plan -o` saved; of a sketch give tamis.open(path)"
                ) from None
    raise TypeError("params is what tamis.plan gives, a Sketch, or a file that `tamis plan -o` saved")
