#!/usr/bin/env python3
"""The document's Bloom filters of a table of ratings, computed without tamis.

    python3 -m venv venv && venv/bin/pip install mmh3
    tamis generate ratings --rows 2000 --seed 1 -o ratings.tsv
    venv/bin/python make_golden.py ratings.tsv > ratings-2000.json

m = round(-n ln p / (ln 2)^2), k = round((m / n) ln 2); the positions of a key are
mmh3.hash(key, i) mod m for i = 0 .. k-1; bit j is bit j mod 8 of byte j div 8. Ratings are
rounded as Python rounds, half to even, on their decimal text.
"""

import hashlib
import json
import math
import sys
from decimal import ROUND_HALF_EVEN, Decimal

import mmh3


def positions(key, m, k):
    return [mmh3.hash(key, i, signed=False) % m for i in range(k)]


def main(path):
    table = open(path, "rb").read()
    groups, keys = {}, set()
    for line in table.decode().splitlines()[1:]:
        title, rating, _ = line.split("\t")
        group = str(Decimal(rating).quantize(Decimal(1), ROUND_HALF_EVEN))
        groups.setdefault(group, set()).add(title)
        keys.add(title)
    result = {"rows": len(keys), "table_sha256": hashlib.sha256(table).hexdigest(), "p": {}}
    for p in (0.001, 0.01, 0.05, 0.1):
        of_p = result["p"][str(p)] = {}
        for group in sorted(groups, key=int):
            members = groups[group]
            n = len(members)
            m = round(-n * math.log(p) / math.log(2) ** 2)
            k = round((m / n) * math.log(2))
            bits = bytearray((m + 7) // 8)
            for key in members:
                for at in positions(key, m, k):
                    bits[at // 8] |= 1 << at % 8

            def has(key):
                return all(bits[at // 8] >> at % 8 & 1 for at in positions(key, m, k))

            of_p[group] = {
                "n": n,
                "m": m,
                "k": k,
                "ones": sum(byte.bit_count() for byte in bits),
                "sha256": hashlib.sha256(bits).hexdigest(),
                "fp": sum(has(key) for key in keys - members),
                "fn": sum(not has(key) for key in members),
                "negatives": len(keys) - n,
            }
    json.dump(result, sys.stdout, indent=1)
    print()


main(sys.argv[1])
