"""tamis on Apache Spark, for what outgrows one machine: the same files, byte for byte.

>>> from tamis.spark import build, filter_df, test, udf                   # doctest: +SKIP
>>> users = build(df, key="user_id", group="country", fpr=0.001)         # doctest: +SKIP
>>> small = filter_df(big_df, users, key="user_id")                      # doctest: +SKIP
>>> marked = big_df.withColumn("known", udf(users)("user_id"))           # doctest: +SKIP

Needs pyspark 3.5 or later with pyarrow, and this package where the executors run; ``docs/spark.md`` of the
project shows how to ship it. DataFrames of Spark Connect (``sc://…``) are built from, planned for, counted, tested,
filtered and asked as those of a classic session are; streams, and files elsewhere, need a classic one.
"""

from __future__ import annotations

from tamis.spark._batch import build, count, filter_df, plan, test
from tamis.spark._columns import register, udf
from tamis.spark._files import open, save
from tamis.spark._stream import open_state, query_stream, train_stream

__all__ = [
    "build",
    "count",
    "filter_df",
    "open",
    "open_state",
    "plan",
    "query_stream",
    "register",
    "save",
    "test",
    "train_stream",
    "udf",
]
