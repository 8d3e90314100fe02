"""How commands end: one table, with which the page on deploying, its systemd unit and the help of commands agree."""

from __future__ import annotations

import re
import signal
from configparser import ConfigParser
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from sottovoce.cli.app import app
from sottovoce.errors import ExitStatus

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "deploy.md").read_text()
OF_A_PARTY = {int(status): status.meaning for status in ExitStatus}


def help_of(command: str) -> str:
    return CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).stdout


COMMANDS = [name for name in sorted(get_command(app).commands) if "Exit status:" in help_of(name)]


def service() -> dict[str, str]:
    """The [Service] of the unit on the page."""
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(re.search(r"```ini\n(\[Unit\].*?)```", PAGE, re.DOTALL)[1])
    return dict(unit["Service"])


def test_the_page_has_the_table():
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", PAGE.partition("| status | meaning |")[2].partition("\n\n")[0], re.M)
    assert {int(number): meaning for number, meaning in rows} == OF_A_PARTY


def test_the_help_of_a_party_has_the_table():
    rows = re.findall(r"^ *(\d+) +(.*?) *$", help_of("node").partition("Exit status:")[2].partition("\n\n")[0], re.M)
    assert {int(number): meaning for number, meaning in rows} == OF_A_PARTY


@pytest.mark.parametrize("status", ExitStatus, ids=lambda status: status.name)
def test_the_unit_starts_a_party_again_where_that_helps_and_nowhere_else(status):
    """systemd.service(5): on-failure is every status but 0, except those that are named. Without a limit of starts, a
    party that refuses would refuse every five seconds for ever."""
    assert service()["Restart"] == "on-failure"
    never = {int(number) for number in service()["RestartPreventExitStatus"].split()}
    assert (status != 0 and status not in never) == status.again


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_name_no_status_but_these(command):
    """And those of signals, 128 and the number, by which demonstrations and sweeps end."""
    told = help_of(command).partition("Exit status:")[2].partition("Options")[0]
    assert {int(number) for number in re.findall(r"\b\d+\b", told)} <= {*ExitStatus, 128 + signal.SIGTERM}
