"""Read a Prometheus: a number, a value for each series, or how far counters have counted.

    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import prometheus
    >>> server = "http://prometheus:9090"
    >>> checks = (
    ...     change("replicas", prometheus.value(server, 'sum(kube_pods{app="shop"})')).by(1).eventually(30),
    ...     change("orders", prometheus.counter(server, 'orders_total{shop="{shop}"}')).by(1).eventually(30),
    ...     unchanged("errors", prometheus.counter(server, "http_errors_total")),
    ... )

Each read is one instant query, evaluated at the server's time. In the query, `{name}` is PromQL, except where
it is the whole text between two quotes: `"{shop}"` stands for the action's argument of that name.

What a read sees was scraped, or pushed, up to an interval ago: give the check `.eventually(...)` of two
intervals. A query over several series sees each as it was scraped last. Permission to query is all that is
needed. From the cheapest: `value` of an aggregation, `counter`, `series`.

An expression that the server refuses, one that matches nothing, and a server that does not answer are
inconclusive, in the server's words. Options (`headers`, `auth`, `timeout`, ...) and secrets are as in
`deltaspan.probes.http`.
"""
