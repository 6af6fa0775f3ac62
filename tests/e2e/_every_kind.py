"""One action over every kind of state that goes on the wire, for test_jaeger.py to find in Jaeger."""

from __future__ import annotations

from deltaspan import change, configure_telemetry, expects, observe, unchanged

world = {
    "count": 3,
    "balance": 1.5,
    "door": "open",
    "ready": False,
    "tenants": {"acme"},
    "prices": {"tea": 2},
    "huge": 2**63 - 1,
}


def reading(metric: str):
    """Return the probe that reads one thing of the world."""
    return lambda: world[metric]


@expects(
    change("count", reading("count")).by(-3),
    change("balance", reading("balance")).by(0.5),
    change("door", reading("door")).from_("open").to("shut"),
    change("ready", reading("ready")).to(True),
    change("tenants", reading("tenants")),
    change("prices", reading("prices")),
    observe("huge", reading("huge")),
    unchanged("nothing", lambda: None),
)
def act() -> None:
    """Change everything that is to change."""
    world.update(count=0, balance=2.0, door="shut", ready=True, prices={"tea": 3}, huge=2**63)
    world["tenants"].add("globex")


configure_telemetry()
act()
