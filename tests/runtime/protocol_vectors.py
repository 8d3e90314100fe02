"""The test vectors of docs/reference/protocol.md, computed by the package: ``PYTHONPATH=src:tests python
tests/runtime/protocol_vectors.py`` writes them into the page, after a change on the wire."""

from __future__ import annotations

import ast
import json
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import sottovoce as sv
from sottovoce.pdmm.modular_mask import limb_width, split
from sottovoce.pdmm.node import Link, Node, collapsed
from sottovoce.runtime.keys import hybrid
from sottovoce.runtime.keys.edge_secrets import EdgeSecrets
from sottovoce.runtime.keys.identity import with_lengths
from sottovoce.runtime.protocol.answers import Rounded
from sottovoce.runtime.protocol.escrow import seal
from sottovoce.runtime.protocol.frames import (
    Answer,
    Goodbye,
    Hello,
    Leave,
    Lost,
    Opening,
    Pads,
    Snapshot,
    Value,
    Verdict,
    encode,
)
from sottovoce.runtime.protocol.handshake import VERSION, signed_part
from sottovoce.runtime.protocol.link import canonical, digest
from sottovoce.runtime.protocol.rerouting import Rerouting
from sottovoce.runtime.protocol.route import Route
from sottovoce.runtime.protocol.sealing import sealed
from sottovoce.sums import Ring

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "protocol.md"
WIDTH = 104  # characters of a line of hexadecimal digits


def read() -> dict[str, Any]:
    """Those of the page."""
    text = PAGE.read_text()
    begin = text.index("vectors = ") + len("vectors = ")
    return ast.literal_eval(text[begin : text.index("\n}\n", begin) + 2])


def compute(given: dict[str, Any]) -> dict[str, Any]:
    """All of them, from the keys, the ciphertext, the nonces and the parameters among them."""
    fixed = {k: v for k, v in given.items() if k.endswith(("_private", "_seed", "_signing", "_offer", "_nonce"))}
    of = {name: bytes.fromhex(text) for name, text in fixed.items()} | {"shared": bytes.fromhex(given["shared"])}
    signer = ec.derive_private_key(int.from_bytes(of["ann_signing"], "big"), ec.SECP256R1())

    def sign(data: bytes) -> bytes:
        return signer.sign(data, ec.ECDSA(hashes.SHA256(), deterministic_signing=True))

    point = serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint
    run = json.loads(given["parameters"])
    parameters = canonical(run | {"keys": [signer.public_key().public_bytes(*point).hex(), run["keys"][1]]})
    run_hash = digest(parameters)
    ann = EdgeSecrets(run_hash, "ann", "bob", of["ann_private"] + of["ann_seed"])
    bob = EdgeSecrets(run_hash, "bob", "ann", of["bob_private"])
    with mock.patch.object(hybrid, "encapsulate", return_value=(of["shared"][32:], of["bob_offer"][32:])):
        bob.meet(ann.offer)
    ann.meet(bob.offer)
    nonces = of["ann_nonce"], of["bob_nonce"]
    mac_key = ann.mac_key(b"".join(nonces))
    unsigned = Hello(VERSION, "ann", "bob", run_hash, parameters, ann.offer, b"", 1, 2000, 3, 1, 1999, 2)
    signed = signed_part(unsigned, *nonces)
    before, after = signed.split(ann.offer)
    hello = unsigned._replace(signature=sign(signed))
    mask = sv.GaussianMask(1e6)
    held, written = (ann.pads(1, name, 2, mask) for name in ("ann", "bob"))
    word, ring = ann.words(0, 1, 64), Ring(64)
    tags = [ann.check(0, word.astype("<u8").tobytes())]
    tags += [ann.check(1, held.astype("<f8").tobytes() + written.astype("<f8").tobytes())]
    covered = [ring.cover(ring.words([rows]), [(sign_, word[:, None])]) for rows, sign_ in ((5, 1), (3, -1))]
    limbs = [split(words.ravel(), 64, limb_width(64, 2)) for words in covered]
    cost, edge = sv.Averaging([1.25, 0.5]), Link(-1.0, np.zeros(2), held, written)
    node = Node(0, cost, {1: edge}, c=0.4, theta=0.8, grid=mask.grid)
    w, e, r = collapsed(cost, {1: edge}, mask.grid).q[0], node.e[1].tolist(), node.wake()[0].r.tolist()
    planned, whole = [(0, 1), (0, 2)], [(0, 1), (0, 2), (1, 2)]
    routes = Rerouting(Route.over(planned, 1.2, 1.0), Route.over(whole, 0.4, 0.8), run_hash)
    route, tag = routes.without([(0, 2)])
    links, folded, c = routes.links(0, {1: edge}, route, tag, mask.grid)
    again = Node(0, cost, links, c=c, theta=route.theta, grid=mask.grid, folded=folded)
    value = Value(1, 7, 0, 1, np.array([1.5, -2.0]))
    answer = Rounded.of(node.x, 2.0**-20, bytes(range(32)))
    (data,) = sealed(ann.answer_key(1, "ann"), answer.as_array(), b"sottovoce answer")
    accepted = with_lengths(b"sottovoce accept", run_hash, b"ann", b"2", b"4", tag, answer.digest)
    (escrow,) = seal(ann.escrow_key(1, "ann"), 1, node.estate)
    said = (b"sottovoce leave", run_hash, b"cat", b"ann", b"1", b"2", b"2", b"3", b"1", b"0", tag)
    leave, lost = with_lengths(*said), with_lengths(b"sottovoce lost", run_hash, b"ann", b"cat")
    found: dict[str, Any] = {
        "ann_private": of["ann_private"], "ann_seed": of["ann_seed"], "bob_private": of["bob_private"],
        "ann_signing": of["ann_signing"], "ann_offer": ann.offer, "bob_offer": bob.offer, "shared": of["shared"],
        "parameters": parameters, "parameters_hash": run_hash, "root": ann._root, "chain_0": ann._chain,
        "chain_1": ann._chain_of(1),
        "ann_nonce": nonces[0], "bob_nonce": nonces[1], "signed_before_offer": before, "signed_after_offer": after,
        "signature": hello.signature, "mac_key": mac_key,
        "stream_gaussian_1_ann": ann._stream(24, 1, "gaussian", "ann"),
        "pads_ann": held.tolist(), "pads_bob": written.tolist(), "word": int(word[0]), "tag_0": tags[0],
        "tag_1": tags[1], "limbs_ann": limbs[0].tolist(), "limbs_bob": limbs[1].tolist(), "w": w.tolist(), "e": e,
        "x": node.x.tolist(), "r": r, "estate": node.estate.tolist(), "route": tag,
        "route_without_2": routes.without([], 2)[1], "w_rerouted": again.form.q[0].tolist(),
        "e_rerouted": again.e[1].tolist(), "hello_sha256": sha256(encode(hello)).digest(), "value": encode(value),
        "value_with_mac": encode(value, mac_key, "ann", "bob"),
        "snapshot": encode(Snapshot(0, 3, 0, 1, np.array([0.25]), tag)),
        "answer": answer.as_array().tolist(), "answer_digest": answer.digest,
        "answer_frame": encode(Answer(1, 4, 0, 1, data, tag)), "accept_signed": accepted,
        "accept_signature": sign(accepted),
        "verdict": encode(Verdict(2, 4, True, {0: sign(accepted)}, tag, answer.digest)),
        "goodbye": encode(Goodbye("finished")), "opening": encode(Opening(nonces[0])),
        "pads": encode(Pads(1, tags[1])), "escrow": encode(escrow), "leave_signed": leave,
        "leave_signature": sign(leave), "leave": encode(Leave("cat", "ann", 1, 2, 2, 3, True, False, sign(leave), tag)),
        "lost_signed": lost, "lost_signature": sign(lost), "lost": encode(Lost("ann", "cat", sign(lost))),
    }  # fmt: skip
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in found.items()}


def text(vectors: dict[str, Any]) -> str:
    """As they stand there."""
    lines = []
    for name, value in vectors.items():
        if isinstance(value, str) and len(value) > WIDTH - len(name) - 6:
            parts = [value[k : k + WIDTH] for k in range(0, len(value), WIDTH)]
            quoted = [f"        {part!r}" if '"' in part else f'        "{part}"' for part in parts]
            lines += [f'    "{name}":', "\n".join(quoted) + ","]
        else:
            lines.append(f'    "{name}": ' + (f'"{value}",' if isinstance(value, str) else f"{value},"))
    return "{\n" + "\n".join(lines)


def write() -> None:
    """Put them, and the example with its hash, into the page."""
    before, page = read(), PAGE.read_text()
    after = compute(before)
    begin = page.index("vectors = ") + len("vectors = ")
    page = page[:begin] + text(after) + page[page.index("\n}\n", begin) :]
    for name in ("parameters", "parameters_hash"):
        page = page.replace(f"\n    {before[name]}\n", f"\n    {after[name]}\n")
    PAGE.write_text(page)


if __name__ == "__main__":
    write()
