"""A file of a store of Hadoop from Python: built there, opened, asked as a column. Arguments: the folder there, a table in it,
the same filter as a file here, and settings of Spark (NAME=VALUE)."""

import os
import sys

from pyspark.sql import SparkSession

import tamis
import tamis.spark

os.environ["PYSPARK_PYTHON"] = sys.executable
there, table, here, *settings = sys.argv[1:]
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
for setting in settings:
    builder = builder.config(*setting.split("=", 1))
spark = builder.getOrCreate()
rows = spark.read.csv(f"{there}/{table}", sep="\t", header=True)
path = f"{there}/from-python.tamis"
built = tamis.spark.build(rows, key="tconst", group="averageRating:round", fpr=0.01, path=path)
opened = tamis.spark.open(path)
assert built == opened == tamis.open(here), "other bytes"
tamis.spark.save(opened, f"{there}/again.tamis")
assert tamis.spark.open(f"{there}/again.tamis") == built
assert rows.where(~tamis.spark.udf(opened)("tconst")).count() == 0
try:
    tamis.spark.open(f"{there}/none.tamis")
    sys.exit("what is not there was opened")
except tamis.Error as error:
    assert "no such file" in str(error), error
spark.stop()
