"""A filter that grows in place."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Optional, TypeVar, Union, overload

from tamis import _tamis
from tamis._data import in_shape_of
from tamis._sieve import Fields, Sieve, is_one, sieved
from tamis._sketch import HashKey, Sketch, counted, hashed_with, make_known, open, params_as_json
from tamis._types import BadRows, FilterKind, Path

_Data = TypeVar("_Data")


class Filter(_tamis.Live, Sieve):
    """A set of keys in memory that grows in place, as a Python `set` does: a key that was added is always found, another
    one with a small probability.

    Without `keys` it grows as needed (``kind="scalable"``); with `keys` it is planned for that many, is smaller and faster,
    and can be merged: ``"blocked"``, ``"bloom"``, or ``"counting"``, from which keys can be removed. `fpr` is the rate of
    false positives that it keeps (0.01). `key` names the column of tables, with steps (``"email:trim,lower"``). The
    parameters may also be given as `params`.

    `data` are the first keys: a list, a column or a table. `tamis.build` makes a `Sketch` of them instead, which knows
    groups and all kinds, and never changes.

    >>> import tamis
    >>> seen = tamis.Filter(["ann", "bob"])
    >>> seen.add("eve"), seen.add("ann")                        # new, and not
    (True, False)
    >>> "eve" in seen, len(seen)
    (True, 3)
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any = None,
        key: Fields = None,
        *,
        keys: Optional[int] = None,
        fpr: Optional[float] = None,
        bits_per_key: Optional[float] = None,
        size: Union[int, str, None] = None,
        kind: Optional[FilterKind] = None,
        hash: Optional[str] = None,
        seed: Optional[int] = None,
        hash_key: HashKey = None,
        null: Optional[str] = None,
        params: Union[Mapping[str, Any], Sketch, Path, None] = None,
        note: Optional[str] = None,
    ) -> Filter:
        if isinstance(data, int):
            raise TypeError(f"the number of keys is given by name: tamis.Filter(keys={data})")
        options: dict[str, Any] = {"key": key, "keys": keys, "fpr": fpr, "bits_per_key": bits_per_key, "size": size}
        options.update(kind=kind, hash=hash, seed=seed, null=null, note=note)
        options.update(hash_key=make_known(hash_key), params=params_as_json(params))
        if kind is None and keys is None and params is None:
            options["kind"] = "scalable"
        return super().__new__(cls, options)

    def __init__(self, data: Any = None, *_: Any, **__: Any) -> None:
        if data is not None:
            self.update(data)

    @classmethod
    def _of(cls, file: _tamis.File) -> Filter:
        return super().__new__(cls, file)

    @classmethod
    def open(cls, path: Any, *, hash_key: HashKey = None) -> Filter:
        """The filter of a file, copied into memory: the file stays as it is."""
        return cls._of(open(path, hash_key=hash_key)._file)

    @classmethod
    def from_bytes(cls, data: Union[bytes, bytearray, memoryview], *, hash_key: HashKey = None) -> Filter:
        """The filter whose `to_bytes` these are."""
        check = make_known(hash_key)
        return cls._of(hashed_with(check, Sketch(_tamis.from_bytes(bytes(data))))._file)

    # Change

    def add(self, key: Any) -> bool:
        """Adds a key: True where it was not found before, and so is surely new.

        >>> import tamis
        >>> seen = tamis.Filter()
        >>> [seen.add(word) for word in ("a", "b", "a")]
        [True, True, False]
        """
        fresh, due = self._add(key)
        if due:
            self._say_if_overfull()
        return fresh

    def update(
        self, data: Any, key: Fields = None, *, bad_rows: BadRows = "fail", threads: Optional[int] = None
    ) -> int:
        """Adds many keys: those of an array, a column or an iterable, or of a table by its column `key` (that of the filter
        if nothing is given). Returns the number of rows that were left out, with ``bad_rows="skip"``."""
        how = {"key": key}
        skipped, due = self._update(self._rows(_listed(data), how), bad_rows, threads, _named(how))
        if due:
            self._say_if_overfull()
        return skipped

    def remove(self, key: Any) -> None:
        """Removes a key that was added; `KeyError` where it is surely not there. For ``kind="counting"``. A key that
        was never added must not be removed: it may take others with it."""
        if not self._remove(key):
            raise KeyError(key)

    def discard(self, key: Any) -> bool:
        """The same; False where it is surely not there."""
        return self._remove(key)

    def difference_update(
        self, data: Any, key: Fields = None, *, bad_rows: BadRows = "fail", threads: Optional[int] = None
    ) -> int:
        """Removes many keys; returns how many of them were surely not there. For ``kind="counting"``."""
        how = {"key": key}
        return self._remove_many(self._rows(_listed(data), how), bad_rows, threads, _named(how))

    def __ior__(self, other: object) -> Filter:
        """Takes in all keys of another filter or sketch of the same parameters; of anything else, its keys."""
        if isinstance(other, Filter):
            due = self._join(other)
        elif isinstance(other, Sketch):
            due = self._join(other._file)
        elif isinstance(other, (set, frozenset, list)):
            self.update(other)
            return self
        else:
            return NotImplemented
        if due:
            self._say_if_overfull()
        return self

    def __or__(self, other: object) -> Filter:
        return self.copy().__ior__(other)

    def copy(self) -> Filter:
        """Another filter with the same keys."""
        return type(self)._of(self._frozen())

    __copy__ = copy

    def __deepcopy__(self, _: Any) -> Filter:
        return self.copy()

    # Questions

    @overload
    def contains(
        self, keys: Union[str, bytes, float], *, bad_rows: BadRows = ..., threads: Optional[int] = ...
    ) -> bool: ...

    @overload
    def contains(self, keys: list[Any], *, bad_rows: BadRows = ..., threads: Optional[int] = ...) -> list[bool]: ...

    @overload
    def contains(self, keys: Any, *, bad_rows: BadRows = ..., threads: Optional[int] = ...) -> Any: ...

    def contains(self, keys: Any, *, bad_rows: BadRows = "fail", threads: Optional[int] = None) -> Any:
        """Whether keys may be in the set, one or many, in the shape of the question: as `Sketch.contains`."""
        if is_one(keys, self._parts):
            return self._contains_one(keys, None if bad_rows == "fail" else bad_rows)
        return in_shape_of(keys, self._mask(keys, {"bad_rows": bad_rows, "threads": threads}))

    def filter(
        self,
        data: _Data,
        key: Fields = None,
        *,
        invert: bool = False,
        bad_rows: BadRows = "fail",
        threads: Optional[int] = None,
    ) -> _Data:
        """The rows whose key may be in the set, or with `invert` the others: as `Sketch.filter`."""
        how = {"key": key, "bad_rows": bad_rows, "threads": threads}
        passed: _Data = self._filtered(data, how, invert)
        return passed

    def dedup(
        self, data: _Data, key: Fields = None, *, bad_rows: BadRows = "fail", threads: Optional[int] = None
    ) -> _Data:
        """The rows whose key comes for the first time, in the type in which they came; their keys are added. So batch
        after batch of a stream is freed of what came before. A first occurrence is taken for a repetition with the
        probability `fpr`.

        >>> import pandas as pd, tamis
        >>> seen = tamis.Filter(key="id", fpr=1e-6)
        >>> monday, tuesday = pd.DataFrame({"id": [1, 2, 1]}), pd.DataFrame({"id": [2, 3]})
        >>> seen.dedup(monday)["id"].tolist(), seen.dedup(tuesday)["id"].tolist()
        ([1, 2], [3])
        """
        how = {"key": key}
        dues = []

        def first(some: Any) -> _tamis.Answers:
            answers, due = self._first(self._rows(some, how), bad_rows, threads, _named(how))
            dues.append(due)
            return answers

        def lazily() -> Any:
            raise TypeError("a lazy frame may be run more than once, or in any order: collect it first")

        passed: _Data = sieved(data, first, False, lazily)
        if any(dues):
            self._say_if_overfull()
        return passed

    def _mask(self, data: Any, how: dict[str, Any]) -> _tamis.Answers:
        return self._contains(self._rows(data, how), how.get("bad_rows"), how.get("threads"), _named(how))

    def _asked_names(self, how: dict[str, Any]) -> Optional[list[str]]:
        return self._names(_named(how))

    # What it is

    def __len__(self) -> int:
        """The number of different keys: of ``"scalable"`` those that were new when they came, of others estimated from the
        bits that are set, within a few percent. All of the filter is read."""
        keys, *_ = self._state()
        return round(min(keys, 2**62))

    def __bool__(self) -> bool:
        return not self._is_empty()

    @property
    def kind(self) -> str:
        """blocked, bloom, counting or scalable."""
        return self._kind

    @property
    def rate(self) -> float:
        """The rate of false positives with the keys that are in it now."""
        return self._state()[1]

    @property
    def fpr(self) -> float:
        """The rate of false positives that it should keep."""
        return self._state()[2]

    @property
    def nbytes(self) -> int:
        """The bytes of its file."""
        return self._frozen().nbytes

    def freeze(self) -> Sketch:
        """A `Sketch` of the keys so far, which never changes."""
        return Sketch(self._frozen())

    def _frozen_file(self) -> _tamis.File:
        return self._frozen()

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same, byte for byte."""
        if not isinstance(other, (Filter, Sketch)):
            return NotImplemented
        return self._frozen().same(other._frozen_file())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        keys, rate, target, planned = self._state()
        of = "" if self._kind == "scalable" else f" of {planned:,}"
        return f"<tamis.Filter {self._kind}, {counted(keys)}{of}, rate {rate:.2g} of {target:g}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Filter.from_bytes, (self.to_bytes(),)

    def _say_if_overfull(self) -> None:
        text = self._overfull()
        if text is not None:
            warnings.warn(f"{text}: give it more keys=, or kind=\"scalable\"", stacklevel=3)


def _named(how: dict[str, Any]) -> Optional[dict[str, Any]]:
    return None if how.get("key") is None else {"key": how["key"]}


def _listed(data: Any) -> Any:
    """A set as a list: its order does not matter."""
    return list(data) if isinstance(data, (set, frozenset)) else data
