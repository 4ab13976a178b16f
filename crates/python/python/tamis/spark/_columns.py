"""Answers of sketches as columns: functions for DataFrames and for SQL.

Unlike `filter_df`, a function knows no names of columns: it is given those of the key, in the order of its parts.
"""

from __future__ import annotations

from typing import Any, Callable, Literal, Optional, Union

from tamis import Sketch
from tamis.spark import _answers
from tamis.spark._batch import arrow_udf
from tamis.spark._session import active, ship, sketch_of, usable

Answer = Literal["contains", "estimate", "groups"]

# What makes each answer, and its type.
_ANSWERS: dict[str, tuple[type[_answers.Column], str]] = {
    "contains": (_answers.Truths, "boolean"),
    "estimate": (_answers.Estimates, "long"),
    "groups": (_answers.Groups, "array<string>"),
}


def udf(
    sketch: Sketch,
    answer: Answer = "contains",
    group: Union[str, bytes, int, None] = None,
    *,
    partial: bool = False,
    bad_rows: str = "fail",
) -> Callable[..., Any]:
    """A function of columns: whether the key in each row may be in the set (a boolean), its ``"estimate"`` (a long) or its
    ``"groups"`` (an array of strings), as `Sketch.contains`, `Sketch.estimate` and `Sketch.groups` answer.

    It takes as many columns, or their names, as a key has parts, in their order; the steps of the recipe are applied. `group`
    asks one group. A null, or what else is no key, is an error; with ``bad_rows="skip"`` it is false, 0 or empty. The file is
    shipped to each executor once and mapped there.

    >>> from tamis.spark import udf                                           # doctest: +SKIP
    >>> known = udf(users)                                                    # doctest: +SKIP
    >>> orders.where(known("user_id")).withColumn("known", known("friend"))   # doctest: +SKIP
    """
    _refuse(sketch, answer, group, bad_rows, partial)

    def column(*columns: Any) -> Any:
        _answers.refuse_others(sketch._file, columns)
        return _function(usable(active()), sketch, answer, group, bad_rows, partial)(*columns)

    return column


def register(
    spark: Any,
    sketch: Sketch,
    name: Optional[str] = None,
    answer: Answer = "contains",
    group: Union[str, bytes, int, None] = None,
    *,
    partial: bool = False,
    bad_rows: str = "fail",
) -> None:
    """Makes the function of `udf` known to the SQL of a session, as ``tamis_contains``, ``tamis_estimate`` or
    ``tamis_groups``, or by another name.

    >>> from tamis.spark import register                                      # doctest: +SKIP
    >>> register(spark, users)                                                # doctest: +SKIP
    >>> spark.sql("SELECT * FROM orders WHERE tamis_contains(user_id)")       # doctest: +SKIP
    """
    _refuse(sketch, answer, group, bad_rows, partial)
    function = _function(usable(spark), sketch, answer, group, bad_rows, partial)
    spark.udf.register(f"tamis_{answer}" if name is None else name, function)


def _refuse(sketch: Sketch, answer: str, group: Any, bad_rows: str, partial: bool) -> None:
    """Refuses what cannot be asked, before any row is."""
    file = sketch_of(sketch)._file
    if answer not in _ANSWERS:
        raise ValueError(f"answer is {', '.join(_ANSWERS)}: not {answer!r}")
    if answer == "groups" and group is not None:
        raise ValueError("groups are what is asked for: leave out group=")
    if answer == "groups" and any(isinstance(name, bytes) for name in file.group_names()):
        raise ValueError("the name of a group is no UTF-8, and no text of Spark: ask for one group by contains")
    _ANSWERS[answer][0].refuse(file, group, bad_rows, partial)


def _function(spark: Any, sketch: Sketch, answer: str, group: Any, bad_rows: str, partial: bool) -> Any:
    """The user function of a session."""
    from pyspark.sql import functions as F

    kind, returns = _ANSWERS[answer]
    task = kind(ship(spark, sketch), group, bad_rows, partial=partial)
    # Before Spark 4.1 such functions take pandas' series, to which integers with a null are floats: so a row at a time.
    return arrow_udf(task, returns) if hasattr(F, "arrow_udf") else F.udf(task.one, returns)
