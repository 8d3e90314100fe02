"""The plan of the demonstration: ten hospitals on this machine, slow enough to watch."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path

from .cluster import free_ports
from .plan.plan import Plan, read_plan
from .plan.routes import Routes

WAKES = 60.0  # of a party, a second: slow enough to watch, and to be killed in the middle
AT_LEISURE = 8.0  # slow enough to be killed by hand, and started again


def demo_plan() -> Plan:
    """The plan that comes with the package, on ports that are free."""
    plan = read_plan(Path(str(resources.files("sottovoce.data"))) / "examples" / "diabetes" / "plan.toml")
    ports = free_ports(len(plan.parties))
    parties = [replace(party, address=f"127.0.0.1:{port}") for party, port in zip(plan.parties, ports, strict=True)]
    return replace(plan, wake=WAKES, parties=tuple(parties))


def plan_at_leisure() -> Plan:
    """The same, to be disturbed by hand: messages go over all edges, where residuals fall step by step. Over a tree two
    sweeps would end an agreement."""
    plan = demo_plan()
    assert plan.routes.fallback is not None
    return replace(plan, wake=AT_LEISURE, routes=Routes(plan.routes.edges, plan.routes.fallback))
