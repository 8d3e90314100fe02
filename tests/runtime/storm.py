"""Six real parties in a storm: kill -9, SIGSTOP, SIGTERM and a bad wire, and poison: a neighbour whose software lies,
journals that come back from a backup, that rot, or that are lost. Whoever ends with status 0 has the right answer, all
others have status 2 and a sentence; nobody hangs, nobody shows a traceback.

    PYTHONPATH=src:tests python tests/runtime/storm.py --seed 1 --channels open --seconds 20 --poison none,liar

prints one line of JSON for each poison, and has status 1 where something was not as it must be. Not a test by itself:
``test_storm.py`` plays a short one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from runtime.proxy import Proxies
from runtime.trial import ACCURACY, Trial, prepare

import sottovoce as sv
from sottovoce.errors import InvalidInput
from sottovoce.runtime.cluster import ask

NETWORK = sv.Network.from_edges(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (1, 4)])
NAMES = [f"p{i}" for i in range(NETWORK.n)]
LIAR = "p2"
LIES = ("all accept", "1e200", "1.7e308", "far epoch", "forged acceptances", "negative count")
POISONS = ("none", "rot", "rollback", "liar", "mixed", "lost")
WAKES = 25.0  # a second: slow enough that there is something to disturb
PATIENCE = 120.0  # seconds after the storm within which everybody has ended
WAITS = 15.0  # seconds after which those that have ended without an answer are started again, with those that wait


class Storm:
    """All parties, and an operator who starts them again. Nothing is known of them but commands and files."""

    def __init__(self, trial: Trial, seed: int, poison: str, lie: str, often: int) -> None:
        self.trial, self.dice, self.poison = trial, random.Random(seed), poison
        self.lie, self.often = lie, often
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.due: dict[str, float] = {}  # when the operator starts a party again
        self.stopped: dict[str, float] = {}  # until when a party stands still
        self.happened: Counter[str] = Counter()
        self.copies: dict[str, tuple[Path, int]] = {}  # backups that may be put back later, and their stage
        self.kept: dict[str, Path] = {}  # of journals before they rot
        self.told_to_stop: set[str] = set()  # by the operator, having their answer
        self.again = 0

    def folder(self, name: str) -> Path:
        return self.trial.folder / name

    def log(self, name: str) -> str:
        path = self.folder(name) / "node.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def sentence(self, name: str) -> str:
        said = [line for line in self.log(name).splitlines() if line.startswith("error: ")]
        return said[-1].removeprefix("error: ") if said else ""

    def start(self, name: str) -> None:
        environment = dict(os.environ)
        if self.lie and name == LIAR:
            path = [str(Path(__file__).parent / "liar"), *filter(None, [environment.get("PYTHONPATH")])]
            environment |= {"PYTHONPATH": os.pathsep.join(path), "SOTTOVOCE_LIE": self.lie}
            environment |= {"SOTTOVOCE_OFTEN": str(self.often), "SOTTOVOCE_PARTIES": str(NETWORK.n)}
        with open(self.folder(name) / "node.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", "sottovoce", "node", str(self.folder(name) / "node.toml")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
            )  # fmt: skip

    def status(self, name: str) -> int | None:
        return self.processes[name].poll()

    def over(self, name: str) -> bool:
        """It has ended, or it has its answer, and waits for neighbours that may have ended without one."""
        return self.status(name) is not None or (self.folder(name) / "result.json").exists()

    def kill(self, name: str, how: int = signal.SIGKILL) -> bool:
        """Whether there was somebody to hear it."""
        if self.status(name) is not None:
            return False
        self.processes[name].send_signal(how)
        if how == signal.SIGKILL:
            self.processes[name].wait()
        return True

    # What the storm does

    def blow(self, what: str = "") -> None:
        """One thing goes wrong."""
        name, now = self.dice.choice(NAMES), time.monotonic()
        what = what or self.dice.choice(["kill", "stop", "term", "wire", "wire", *self.poisonous()])
        match what:
            case "kill" | "term":
                if not self.kill(name, signal.SIGKILL if what == "kill" else signal.SIGTERM):
                    return
                self.due[name] = now + self.dice.uniform(0.1, 2.0)
            case "stop":
                if name in self.stopped or not self.kill(name, signal.SIGSTOP):
                    return
                self.stopped[name] = now + self.dice.uniform(0.5, 4.0)
            case "wire":
                what = self.disturb()
            case _:
                if not getattr(self, what)(name):
                    return
        self.happened[what] += 1

    def poisonous(self) -> list[str]:
        once = [] if self.happened["lose"] else ["lose"]
        backups = ["copy", "put_back"]
        kinds = {"rot": ["rot"], "rollback": backups, "mixed": ["rot", *backups], "lost": once}
        return kinds.get(self.poison, [])

    def disturb(self) -> str:
        wire, what = self.dice.choice(list(self.trial.through.values())), self.dice.randrange(5)
        wire.garble, wire.delay, wire.refusing = "", 0.0, False  # one thing at a time
        match what:
            case 0:
                wire.hang_up()
            case 1:
                wire.swallow()
            case 2:
                wire.garble = self.dice.choice(["bit", "cut short", "twice", "overtaken"])
            case 3:
                wire.delay = self.dice.uniform(0.05, 0.5)
            case 4:
                wire.refusing = True
                wire.hang_up()
        return ("hang up", "swallow", "garble", "delay", "refuse")[what]

    def journals(self, name: str) -> list[Path]:
        return [path for path in self.folder(name).glob("journal.sqlite*") if path.suffix != ".sock"]

    def backup(self, name: str) -> Path:
        to = Path(tempfile.mkdtemp(dir=self.trial.folder.parent))
        for path in self.journals(name):
            shutil.copy(path, to)
        return to

    def restore(self, name: str, copy: Path) -> None:
        for path in self.journals(name):
            path.unlink()
        for path in copy.iterdir():
            shutil.copy(path, self.folder(name))
        self.due[name] = time.monotonic() + 0.1

    def stage(self, name: str) -> int | None:
        """In which a party says that it is."""
        with suppress(InvalidInput):
            return int(ask(self.folder(name) / "journal.sqlite.sock", timeout=1.0)["stage"])
        return None

    def copy(self, name: str) -> bool:
        """A backup, of a party that does not run just then."""
        stage = self.stage(name)
        if name in self.copies or stage is None or stage < 0 or not self.kill(name):
            return False
        self.copies[name] = self.backup(name), stage
        self.due[name] = time.monotonic() + 0.1
        return True

    def put_back(self, name: str) -> bool:
        """And the journal as it was then, one stage later: before, it does no harm."""
        for name, (copy, then) in self.copies.items():
            if (stage := self.stage(name)) is not None and stage > then and self.kill(name):
                self.restore(name, copy)
                del self.copies[name]
                return True
        return False

    def rot(self, name: str) -> bool:
        """Bits flip, or the end is missing. The party sees it, or does not need it; the operator has a copy."""
        if name in self.kept or not self.journals(name) or not self.kill(name):  # a copy of what has rotted is none
            return False
        self.kept[name] = self.backup(name)
        path = self.folder(name) / "journal.sqlite"
        content = bytearray(path.read_bytes())
        if self.dice.random() < 0.3:
            del content[self.dice.randrange(len(content)) :]
        else:
            for _ in range(self.dice.choice([1, 20])):
                content[self.dice.randrange(len(content))] ^= 1 << self.dice.randrange(8)
        path.write_bytes(content)
        self.due[name] = time.monotonic() + 0.1
        return True

    def lose(self, name: str) -> bool:
        """The journal is gone, and the operator starts the party all the same."""
        if not self.kill(name):
            return False
        for path in self.journals(name):
            path.unlink()
        self.due[name] = time.monotonic() + 0.1
        return True

    # What the operator does

    def tend(self) -> None:
        """Start again what should run, and let go on what stands still."""
        now = time.monotonic()
        for name, until in list(self.stopped.items()):
            if now >= until:
                del self.stopped[name]
                self.kill(name, signal.SIGCONT)
        for name in NAMES:
            ended = self.status(name)
            if ended == 2 and name in self.kept and "the journal is damaged" in self.sentence(name):
                self.happened["rot that was seen"] += 1
                self.restore(name, self.kept.pop(name))
            if ended not in (None, 0, 2) and name not in self.due:
                self.due[name] = now
            if name in self.due and now >= self.due[name] and ended is not None:
                del self.due[name]
                self.start(name)

    def calm(self) -> None:
        for wire in self.trial.through.values():
            wire.garble, wire.delay, wire.refusing = "", 0.0, False
            wire.hang_up()
        for name in self.stopped:
            self.stopped[name] = 0.0

    def play(self, seconds: float) -> float:
        """The storm, then calm until all have ended; how long that took."""
        for name in NAMES:
            self.start(name)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and not all((self.folder(n) / "journal.sqlite.sock").exists() for n in NAMES):
            time.sleep(0.05)
        until = time.monotonic() + seconds
        following = time.monotonic()
        while time.monotonic() < until and any(self.status(name) is None or name in self.due for name in NAMES):
            if time.monotonic() >= following:
                self.blow("copy" if "copy" in self.poisonous() and not self.happened["copy"] else "")
                following = time.monotonic() + self.dice.uniform(0.3, 1.2)
            self.tend()
            time.sleep(0.05)
        self.calm()
        began = waiting = time.monotonic()
        while time.monotonic() < began + PATIENCE:
            self.tend()
            for what in self.poisonous():  # at least once each
                if not self.happened[what] and getattr(self, what)(self.dice.choice(NAMES)):
                    self.happened[what] += 1
            if all(self.over(name) for name in NAMES) and not self.due:
                break
            # Some wait for some that have ended: an operator starts all again, as the sentences say.
            if time.monotonic() > waiting + WAITS and not self.due:
                waiting, self.again = time.monotonic(), self.again + 1
                self.due |= {name: waiting for name in NAMES if self.status(name) is not None}
            time.sleep(0.05)
        took = time.monotonic() - began
        for name in NAMES:
            if self.over(name) and self.kill(name, signal.SIGTERM):
                self.told_to_stop.add(name)
                self.processes[name].wait(30.0)
        return took

    def end(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()

    # What must be true

    def judge(self) -> dict[str, Any]:
        honest = [name for name in NAMES if not (self.lie and name == LIAR)]
        wrong, sentences, errors, answers = [], {}, {}, []
        for name in honest:
            status, log = self.status(name), self.log(name)
            if "Traceback" in log:
                wrong.append(f"{name} shows a traceback")
            if status is None:
                wrong.append(f"{name} hangs")
                continue
            result = self.folder(name) / "result.json"
            if result.exists():
                told = json.loads(result.read_text())
                answers.append(np.array(told["answer"]["params"], dtype=float))
                errors[name] = float(np.abs(answers[-1] - self.trial.answer).max())
                if told["status"] != "converged" or max(told["residuals"]) > 1e-10 * (1 + 1e-9):
                    wrong.append(f"{name} says converged with residuals {told['residuals']}")
            if status == 0 and not result.exists():
                wrong.append(f"{name} has status 0 and no result")
            if status not in (0, 2) and name not in self.told_to_stop:
                wrong.append(f"{name} has status {status}")
            if status == 2:
                sentences[name] = self.sentence(name)
                if not sentences[name]:
                    wrong.append(f"{name} ended without a sentence")
        if self.lie == "negative count":  # a lie about its own data: the others have one answer, whatever it is
            errors = {name: float(np.abs(own - answers[0]).max()) for name, own in zip(errors, answers, strict=True)}
        if errors and max(errors.values()) > ACCURACY:
            wrong.append(f"wrong answers: {errors}")
        return {
            "statuses": {name: self.status(name) for name in NAMES},
            "answers": len(errors),
            "largest_error": max(errors.values(), default=None),
            "sentences": sorted({sentence[:110] for sentence in sentences.values()}),
            "started_again": self.again,
            "wrong": wrong,
        }


def quiet_ports(n: int) -> list[int]:
    """Below those that systems give to whoever dials: a party that is away for a second finds its own free again."""
    found: list[int] = []
    for port in random.sample(range(10_000, 30_000), 200):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.append(port)
        if len(found) == n:
            return found
    raise RuntimeError("all ports are taken")


def storm(
    seed: int,
    channels: str,
    seconds: float,
    poison: str,
    folder: Path,
    wake: str | float = WAKES,
    overlay: str = "all",
) -> dict[str, Any]:
    dice = random.Random(f"{seed} {poison}")
    poison, _, lie = poison.partition(":")
    if poison in ("liar", "mixed"):
        lie = lie or dice.choice(LIES)
    often = 10 if dice.random() < 0.5 else 0
    with Proxies() as proxies:
        trial = prepare(
            folder,
            NETWORK,
            "linear",
            channels=channels,
            wake=wake,
            proxies=proxies,
            ports=quiet_ports(NETWORK.n),
            overlay=overlay,
        )
        blowing = Storm(trial, seed, poison, lie, often)
        try:
            took = blowing.play(seconds)
            found = blowing.judge()
        finally:
            blowing.end()
        about = {"seed": seed, "channels": channels, "poison": poison, "lie": lie, "insists": bool(often and lie)}
        return about | {
            **found,
            "after_calm": round(took, 1),
            "connections": sum(wire.connections for wire in trial.through.values()),
            "happened": dict(blowing.happened),
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--channels", choices=["open", "encrypted"], default="encrypted")
    parser.add_argument("--seconds", type=float, default=20.0, help="of storm, before it calms down")
    parser.add_argument(
        "--poison",
        default=",".join(POISONS),
        help=f"some of {', '.join(POISONS)}; or liar:LIE with {', '.join(LIES)}",
    )
    parser.add_argument("--overlay", choices=["all", "tree"], default="all")
    parser.add_argument("--keep", type=Path, help="where to leave the folders of the parties")
    given = parser.parse_args()
    failed = False
    for poison in given.poison.split(","):
        kind, _, lie = poison.partition(":")
        if kind not in POISONS or lie not in ("", *LIES):
            parser.error(f"poison is one or more of {', '.join(POISONS)}; got {poison!r}")
        folder = Path(tempfile.mkdtemp(dir=given.keep))
        try:
            found = storm(given.seed, given.channels, given.seconds, poison, folder / "run", overlay=given.overlay)
        finally:
            if given.keep is None:
                shutil.rmtree(folder, ignore_errors=True)
        print(json.dumps(found), flush=True)
        failed = failed or bool(found["wrong"])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
