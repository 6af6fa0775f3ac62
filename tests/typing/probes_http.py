"""Which words fit what is read over HTTP and of a Prometheus."""

import httpx
from typing_extensions import assert_type

from deltaspan import change, unchanged
from deltaspan.checks import Change
from deltaspan.probes import http, prometheus

assert_type(change("x", http.count("https://x", items="/data")), Change[int])
assert_type(change("x", http.count("https://x", client=httpx.AsyncClient())), Change[int])
assert_type(change("x", prometheus.value("https://x", "up")), Change[float])
assert_type(change("x", prometheus.series("https://x", "up")), Change[dict[str, float]])
assert_type(change("x", prometheus.counter("https://x", "up", client=httpx.AsyncClient())), Change[float])

change("x", http.count("https://x", headers={"a": "b"}, timeout=3)).by(1)
change("x", http.count("https://x")).adding("a")  # type: ignore[misc]
change("x", http.json("https://x", pointer="/status")).to("done")
change("x", prometheus.series("https://x", "up")).by({'up{{job="a"}}': 1})
unchanged("x", prometheus.counter("https://x", "errors_total"))
http.count("https://x", timout=3)  # type: ignore[call-overload]
http.json(3)  # type: ignore[call-overload]
