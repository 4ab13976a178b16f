"""Which visits come from addresses on a list?"""

from __future__ import annotations

import pandas as pd

import tamis


def main() -> None:
    blocked = tamis.Filter(["203.0.113.7", "198.51.100.23"], fpr=1e-6)
    blocked.add("192.0.2.66")  # the list grows while the program runs

    visits = pd.DataFrame({"ip": ["192.0.2.66", "192.0.2.1", "203.0.113.7"], "page": ["/", "/about", "/login"]})
    hits = blocked.filter(visits, key="ip")
    others = blocked.filter(visits, key="ip", invert=True)
    print(f"{len(hits)} of {len(visits)} visits are from the list: {hits['page'].tolist()}; let pass: {others['page'].tolist()}")


if __name__ == "__main__":
    main()
