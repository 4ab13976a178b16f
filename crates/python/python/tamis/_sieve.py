"""What a `Sketch` and a `Filter` share: rows are sieved through them, and they tell what they are."""

from __future__ import annotations

import base64
import html
import inspect
import itertools
import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Optional, TypeVar, Union

from tamis import _tamis
from tamis._data import as_rows, library, names_of
from tamis._files import is_address, write_bytes
from tamis._stream import Batches, as_batches
from tamis._types import Inspection, Path

if TYPE_CHECKING:
    import duckdb
    import polars

Params = dict[str, Any]

Fields = Union[str, Sequence[str], None]

_ONE = (str, bytes, int, float, type(None), bytearray, memoryview)

Data = TypeVar("Data")


def is_one(keys: Any, parts: int) -> bool:
    """Whether this is one key, not many."""
    if isinstance(keys, _ONE):
        return True
    if isinstance(keys, tuple):
        return parts > 1
    return not any(hasattr(keys, name) for name in ("__iter__", "__arrow_c_stream__", "__arrow_c_array__", "collect"))


class Sieve:
    """Something that keys are asked of."""

    __slots__ = ()

    # What each of them does in its own way.

    def _frozen_file(self) -> _tamis.File:
        raise NotImplementedError

    def _mask(self, data: Any, how: dict[str, Any]) -> _tamis.Answers:
        raise NotImplementedError

    def _asked_names(self, how: dict[str, Any]) -> Optional[list[str]]:
        raise NotImplementedError

    # Sieving

    def _filtered(self, data: Any, how: dict[str, Any], invert: bool) -> Any:
        return sieved(data, lambda some: self._mask(some, how), invert, lambda: self._expression(how))

    def _rows(self, data: Any, how: dict[str, Any]) -> Any:
        """The rows of a table with the columns that are asked alone, or keys."""
        names = names_of(data)
        if names is None:
            return as_rows(data)
        asked = self._asked_names(how)
        return as_rows(data, asked if asked is not None and set(asked) <= set(names) else None)

    def expr(self, key: Union[str, polars.Expr, Sequence[Union[str, polars.Expr]], None] = None) -> polars.Expr:
        """An expression of polars: whether each row's key may be in the set. It runs batch by batch in lazy frames and in
        the streaming engine, too. `key` is the column, or several for a compound key; that of the recipe if nothing is
        given. A row without a key is ``False``.

        >>> import polars as pl, tamis
        >>> known = tamis.build(["ann", "bob"])
        >>> pl.LazyFrame({"who": ["ann", "zoe"]}).filter(known.expr("who")).collect()["who"].to_list()
        ['ann']
        """
        return self._expression({}, key)

    def _expression(self, how: dict[str, Any], key: Any = None) -> Any:
        import polars

        if key is None:
            key = how.get("key") or self._asked_names({})
            if key is None:
                raise ValueError("this was built from keys, not from a table: name the column by key=")
        columns = [key] if isinstance(key, (str, polars.Expr)) else list(key)
        parts = [polars.col(one) if isinstance(one, str) else one for one in columns]
        rest = {name: value for name, value in how.items() if name != "key"}
        ask = self._asker({"bad_rows": "skip", **rest}, len(parts))
        whole = parts[0] if len(parts) == 1 else polars.struct(
            [part.alias(str(number)) for number, part in enumerate(parts)]
        )
        return whole.map_batches(ask, return_dtype=polars.Boolean, is_elementwise=True)

    def _asker(self, how: dict[str, Any], parts: int) -> Callable[[Any], Any]:
        import polars

        def ask(column: Any) -> Any:
            keys = column if parts == 1 else column.struct.unnest()
            if parts > 1:
                keys = [tuple(row) for row in keys.rows()]
            answers: Any = self._mask(keys, how)
            return polars.Series(answers).alias(column.name)

        return ask

    def duckdb(
        self,
        connection: duckdb.DuckDBPyConnection,
        name: str = "tamis_contains",
        *,
        type: Union[str, Sequence[str], None] = None,
    ) -> None:
        """Makes this a function of a DuckDB connection: ``SELECT … WHERE known(id)``. It is asked in batches. Its argument
        has the type of the keys (``VARCHAR`` where they are text, or of several types), or `type`; a compound key has
        as many arguments as parts. A missing value is ``NULL``.

        >>> import duckdb, tamis
        >>> connection = duckdb.connect()
        >>> tamis.build(["ann", "bob"]).duckdb(connection, "known")
        >>> connection.sql("SELECT who FROM (VALUES ('ann'), ('zoe')) t(who) WHERE known(who)").fetchall()
        [('ann',)]
        """
        import pyarrow

        file = self._frozen_file()
        classes = json.loads(file.about).get("classes", ["text"])
        usual = _DUCKDB_TYPES.get(classes[0], "VARCHAR") if len(classes) == 1 else "VARCHAR"
        types = [usual] * file.parts if type is None else [type] if isinstance(type, str) else list(type)
        if len(types) != file.parts:
            raise ValueError(f"the key has {file.parts} parts: give as many types")

        def ask(*columns: Any) -> Any:
            keys = columns[0] if len(columns) == 1 else list(zip(*(column.to_pylist() for column in columns)))
            return pyarrow.array(self._mask(keys, {"bad_rows": "skip"}))

        # DuckDB looks at the arguments of a function.
        arguments = [inspect.Parameter(f"part_{at}", inspect.Parameter.POSITIONAL_ONLY) for at in range(file.parts)]
        setattr(ask, "__signature__", inspect.Signature(arguments))

        to: Any = connection  # whose types change from version to version
        to.create_function(name, ask, types, "BOOLEAN", type="arrow")

    # What it is

    @property
    def params(self) -> Params:
        """The parameters: what another sketch must share to be merged. Give them to ``build(params=...)``."""
        params: Params = json.loads(self._frozen_file().params)
        return params

    def inspect(self) -> Inspection:
        """Kind, recipe and the state of every group, as ``tamis inspect --json`` has them.

        >>> import tamis
        >>> tamis.build(["ann", "bob"]).inspect()["groups"][0]["rows"]
        2
        """
        file = self._frozen_file()
        found: Inspection = json.loads(file.inspect())
        if file.path is not None:
            found["path"] = os.fspath(file.path)
        return found

    def report(self, path: Optional[Path] = None, *, title: Optional[str] = None) -> str:
        """A page about it, as HTML: what it holds, how full it is, and what that means for its answers. Written to `path`,
        too, if one is given.

        >>> import tamis
        >>> "rate of false positives" in tamis.build(["ann", "bob"]).report()
        True
        """
        page = self._frozen_file().report(title or f"A {self._frozen_file().kind} sketch")
        if path is not None:
            write_to(path, page.encode())
        return page

    def _repr_html_(self) -> str:
        text = f"<pre>{html.escape(repr(self))}</pre>"
        try:
            chart = self._frozen_file().chart()
        except ValueError:  # it is closed
            return text
        if chart is None:
            return text
        # An image of its own: its style does not touch the notebook.
        data = base64.b64encode(chart.encode()).decode()
        return f'{text}<img alt="how full it is" style="max-width:40rem" src="data:image/svg+xml;base64,{data}">'

    # To disk and back

    def save(self, path: Any) -> None:
        """Writes the file that the command line and `tamis.open` read: whole, or not at all. `path` may be an open file, or
        an address that fsspec knows: there it is as whole as these make it."""
        file = self._frozen_file()
        if hasattr(path, "write") or is_address(path):
            write_bytes(path, file.to_bytes())
        else:
            file.save(os.fspath(path))

    def to_bytes(self, to: Optional[str] = None, *, group: Any = None) -> bytes:
        """The bytes of the file; `tamis.from_bytes` takes them back.

        With a name in `to`, those of another system's file: ``"spark"`` (or ``"spark-v1"``, ``"spark-v2"``), ``"guava"``,
        ``"hadoop"``, ``"dcso"``, ``"datasketches"`` or ``"redis"``. The filter must be built with the hash of that system
        (``hash="spark-v2"``) or come from it; of several groups, `group` is written.

        >>> import tamis
        >>> ids = tamis.build([7, 42], key=":long", hash="spark-v2", fpr=0.01)
        >>> theirs = ids.to_bytes("spark")
        >>> tamis.from_bytes(theirs, as_="spark", funnel="long").contains([7, 8])
        [True, False]
        """
        if to is not None and to != "tamis":
            return self._frozen_file().for_others(to, group)
        if group is not None:
            raise ValueError("a file of tamis has all groups: leave out group")
        return self._frozen_file().to_bytes()


# The types of DuckDB for classes of keys.
_DUCKDB_TYPES = {
    "integer": "BIGINT",
    "float": "DOUBLE",
    "single": "FLOAT",
    "date": "DATE",
    "time": "TIMESTAMP",
    "bytes": "BLOB",
    "boolean": "BOOLEAN",
}


def write_to(path: Path, data: bytes) -> None:
    """Writes a file, or to an address."""
    if is_address(path):
        write_bytes(path, data)
        return
    with open(path, "wb") as file:
        file.write(data)


def sieved(data: Any, ask: Callable[[Any], _tamis.Answers], invert: bool, expression: Callable[[], Any]) -> Any:
    """The rows that pass, in the type in which they came."""
    of = library(data)
    if of == "polars" and hasattr(data, "collect"):
        import polars

        passes: polars.Expr = expression()
        return data.filter(~passes if invert else passes)
    batches = as_batches(data)
    if batches is not None:
        return _stream(data, batches, ask, invert)
    if not isinstance(data, (dict, list, tuple)) and of not in ("polars", "pyarrow", "pandas", "numpy"):
        if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
            raise TypeError(f"rows of a {type(data).__name__} cannot be picked: give a table of pyarrow, polars or pandas")
        data = list(data)
    return picked(data, ask(data), invert)


def picked(data: Any, answers: _tamis.Answers, invert: bool) -> Any:
    """The rows of these answers."""
    of = library(data)
    if isinstance(data, dict):
        return {name: picked(column, answers, invert) for name, column in data.items()}
    if of == "pyarrow":
        import pyarrow
        from pyarrow import compute

        mask, functions = pyarrow.array(answers), compute
        flipped: Any = getattr(functions, "invert")  # made when it is loaded, so that nobody can look it up before
        return data.filter(flipped(mask) if invert else mask)
    if of == "polars":
        import polars

        given: Any = answers
        flags = polars.Series(given)
        return data.filter(~flags if invert else flags)
    if of in ("pandas", "numpy"):
        import numpy

        array: Any = numpy.frombuffer(answers.to_bytes(), dtype="?")
        return data[~array if invert else array]
    kept = (found != invert for found in answers.to_list())
    return type(data)(itertools.compress(data, kept)) if isinstance(data, (list, tuple)) else list(itertools.compress(data, kept))


def _stream(data: Any, batches: Batches, ask: Callable[[Any], _tamis.Answers], invert: bool) -> Any:
    """The batches with the rows that pass, as they come: a reader of Arrow."""
    import pyarrow

    reader = batches.of(None)
    first = pyarrow.table(next(reader))

    def passing() -> Any:
        for batch in itertools.chain([first], reader):
            table = pyarrow.table(batch)
            if table.num_rows:
                yield from picked(table, ask(table), invert).to_batches()

    return pyarrow.RecordBatchReader.from_batches(first.schema, passing())
