"""The tutorial on a network of one's own, as its page says: its files, its plan, three real processes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sottovoce.cli.app import app
from sottovoce.runtime.cluster import Cluster, free_ports

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "own-network.md"


def test_three_parties_agree_as_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text()
    (python,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (plan,) = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    exec(python, {"__name__": "page"})
    ports = iter(free_ports(3))
    (tmp_path / "plan.toml").write_text(re.sub(r"127\.0\.0\.1:74\d\d", lambda _: f"127.0.0.1:{next(ports)}", plan))
    done = CliRunner().invoke(app, ["plan", "plan.toml", "--out", "trial", "--generate-keys"])
    assert done.exit_code == 0, done.output
    with Cluster(tmp_path / "trial") as cluster:
        cluster.start()
        assert set(cluster.wait(60).values()) == {0}
        answers = [result["answer"] for result in cluster.results().values()]
    pooled = np.concatenate([np.loadtxt(path, skiprows=1) for path in sorted(tmp_path.glob("*.csv"))])
    assert len(answers) == 3
    for answer in answers:
        assert answer["observations"] == len(pooled) == 12
        assert answer["variance"] == [pytest.approx(pooled.var(ddof=1), rel=1e-12)]
