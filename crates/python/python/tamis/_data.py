"""What people hand over as rows, and answers in the same shape."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Optional, cast

from tamis._tamis import Answers


def library(data: Any) -> str:
    """The library that an object belongs to: pyarrow, polars, pandas, numpy or another."""
    return type(data).__module__.partition(".")[0]


def is_arrow(data: Any) -> bool:
    """Whether an object has the Arrow PyCapsule interface."""
    return hasattr(data, "__arrow_c_array__") or hasattr(data, "__arrow_c_stream__")


def names_of(data: Any) -> Optional[list[str]]:
    """The names of the columns of a table; none where these are keys."""
    of = library(data)
    if isinstance(data, dict):
        return [str(name) for name in data]
    if of == "pandas" and hasattr(data, "columns"):
        return [*map(str, data.columns), *(str(name) for name in data.index.names if name is not None)]
    if of == "polars" and (hasattr(data, "collect") or hasattr(data, "get_columns")):
        return list(data.collect_schema().names())
    if of == "pyarrow" and hasattr(data, "column_names"):
        return list(data.column_names)
    return None


def as_rows(data: Any, only: Optional[Collection[str]] = None) -> Any:
    """The same rows as something that has Arrow, or as Python values; of a table these columns alone, so that others may
    be of types that nobody can read."""
    of = library(data)
    if isinstance(data, dict):
        if len({len(column) for column in data.values() if hasattr(column, "__len__")}) > 1:
            raise ValueError("the columns of a table must have the same number of rows")
        return {name: as_rows(column) for name, column in data.items() if only is None or str(name) in only}
    if of == "polars":
        return _of_polars(data if only is None else data.select(list(only)))
    if of == "pandas" and hasattr(data, "columns"):
        return _of_frame(data, only)
    if only is not None and of == "pyarrow" and hasattr(data, "select"):
        return data.select(list(only))
    if is_arrow(data):
        return data
    if of == "pandas" and hasattr(data, "levels"):
        return data.tolist()  # an index of several columns: tuples
    if of == "numpy" and getattr(data, "ndim", 1) != 1:
        raise ValueError("an array of keys has one dimension: this has not")
    if of in ("pandas", "numpy") and hasattr(data, "dtype"):
        arrow = _with_pyarrow(data)
        return _values(data) if arrow is None else arrow
    return data


def _of_polars(data: Any) -> Any:
    """As Arrow, except for columns of Python objects, of which polars gives their addresses."""
    import polars

    if isinstance(data, polars.LazyFrame):
        data = data.collect()
    if isinstance(data, polars.Series):
        return data.to_list() if data.dtype == polars.Object else data
    if isinstance(data, polars.DataFrame) and polars.Object in data.dtypes:
        return {column.name: _of_polars(column) for column in data}
    return data


def _of_frame(data: Any, only: Optional[Collection[str]]) -> Any:
    """A table of pandas, column by column: one that is of no use does not matter to the others."""
    names = [str(name) for name in data.columns]
    asked = [name for name in names if only is None or name in only]
    if len(set(asked)) < len(asked):
        twice = max(asked, key=asked.count)
        raise ValueError(f"two columns are called {twice!r}: rename one")
    columns = {name: as_rows(data.iloc[:, names.index(name)]) for name in asked}
    for at, name in enumerate(data.index.names):
        if name is not None and str(name) not in names and (only is None or str(name) in only):
            columns[str(name)] = as_rows(data.index.get_level_values(at))
    return columns


def _with_pyarrow(data: Any) -> Any:
    """A column of pandas or numpy as Arrow, where pyarrow is there and has a type for it."""
    try:
        import pyarrow
    except ImportError:
        return None
    try:
        arrow = pyarrow.array(data, from_pandas=library(data) == "pandas")
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):
        return None
    # One type for objects of several would change some: 1 is not 1.0, and a date has lost the time of a day.
    kind = pyarrow.types
    changes = kind.is_floating(arrow.type) or kind.is_decimal(arrow.type) or kind.is_temporal(arrow.type)
    return None if data.dtype == object and changes else arrow


def of_one(value: Any) -> Any:
    """A value that is no plain one of Python, as an array of Arrow, where that has a type for it."""
    try:
        import pyarrow
    except ImportError:
        raise TypeError(f"values of type {type(value).__name__} need pyarrow: install it, or give their text") from None
    try:
        column: Any = [value]
        if library(value) == "pandas":
            import pandas

            column = pandas.Series(column)  # pyarrow alone would cut its nanoseconds
        if library(value) == "numpy":
            import numpy

            column = numpy.asarray(column)
        return pyarrow.array(column, from_pandas=True)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _values(data: Any) -> list[Any]:
    """The values of a column of pandas or numpy, of their own kind; those that are missing for pandas are None."""
    if library(data) == "numpy":
        return list(data)
    return [None if missing else value for value, missing in zip(data.to_numpy(), data.isna())]


def in_shape_of(data: Any, answers: Answers) -> Any:
    """Answers in the form in which the keys came."""
    of = library(data)
    if of == "pyarrow":
        import pyarrow

        if hasattr(data, "__arrow_c_array__") and not isinstance(data, pyarrow.RecordBatch):
            return pyarrow.array(answers)
        parts = [pyarrow.array(part) for part in answers.parts()]
        return pyarrow.chunked_array(parts, type=None if parts else _type_of(answers))
    if of == "polars":
        import polars

        series = polars.Series(cast(Any, answers))
        return series.alias(data.name) if isinstance(data, polars.Series) else series
    if of == "pandas" or of == "numpy":
        import numpy

        array = numpy.frombuffer(answers.to_bytes(), dtype=_dtype_of(answers)).copy()
        if of == "numpy":
            return array
        import pandas

        if isinstance(data, pandas.Series):
            return pandas.Series(array, index=data.index, name=data.name)
        return pandas.Series(array, index=data.index if isinstance(data, pandas.DataFrame) else None)
    if is_arrow(data):
        return answers
    return answers.to_list()


def _dtype_of(answers: Answers) -> str:
    return "<u8" if answers.counts else "?"


def _type_of(answers: Answers) -> Any:
    import pyarrow

    return pyarrow.uint64() if answers.counts else pyarrow.bool_()
