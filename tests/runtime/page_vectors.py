"""Writes the test vectors of docs/reference/protocol.md anew, after a change on the wire: ``PYTHONPATH=src:tests python
-m runtime.page_vectors``.

What cannot be derived (private keys, what Bob drew) is taken from the page; of keys that sign there are no secrets on
it, so they are made here. ``test_protocol_page.py`` compares the vectors with a second implementation, and what the
page says of them with the package."""

from __future__ import annotations

import ast
import json
from hashlib import sha256
from pathlib import Path
from textwrap import wrap
from typing import Any
from unittest import mock

import numpy as np
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import sottovoce as sv
from sottovoce.pdmm.modular_mask import ModularMask, masked_limbs
from sottovoce.pdmm.node import Link, Node
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

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "protocol.md"
BEGINS, ENDS = "vectors = {\n", "\n}\n"
WIDTH = 104  # characters of a part of a long vector
SIGNERS = [ec.derive_private_key(number, ec.SECP256R1()) for number in (2, 3)]  # Ann's and Bob's


def key_of(signer: ec.EllipticCurvePrivateKey) -> str:
    """As a run lists it."""
    form = serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint
    return signer.public_key().public_bytes(*form).hex()


def signature(signed: bytes) -> bytes:
    """Ann's."""
    return SIGNERS[0].sign(signed, ec.ECDSA(hashes.SHA256()))


def made(old: dict[str, Any]) -> dict[str, Any]:
    """All vectors, in the order of the page."""
    of = {name: bytes.fromhex(old[name]) for name in old if isinstance(old[name], str) and name != "parameters"}
    run = json.loads(old["parameters"]) | {"keys": [key_of(signer) for signer in SIGNERS]}
    parameters = canonical(run)
    run_hash = digest(parameters)
    ann = EdgeSecrets(run_hash, "ann", "bob", of["ann_private"] + of["ann_seed"])
    bob = EdgeSecrets(run_hash, "bob", "ann", of["bob_private"])
    with mock.patch.object(hybrid, "encapsulate", return_value=(of["shared"][32:], of["bob_offer"][32:])):
        bob.meet(ann.offer)
    ann.meet(bob.offer)
    new: dict[str, Any] = {name: old[name] for name in ("ann_private", "ann_seed", "bob_private")}
    new |= {"ann_offer": ann.offer, "bob_offer": bob.offer, "shared": of["shared"]}
    new |= {"parameters": parameters, "parameters_hash": run_hash, "root": ann._root}
    new |= {"chain_0": ann._chain_of(0), "chain_1": ann._chain_of(1)}
    new |= {"ann_nonce": of["ann_nonce"], "bob_nonce": of["bob_nonce"]}
    hello = Hello(VERSION, "ann", "bob", run_hash, parameters, ann.offer, b"-", 1, 2000, 3, 1, 1999, 2)
    signed = signed_part(hello, of["ann_nonce"], of["bob_nonce"])
    before, after = signed.split(ann.offer)
    hello = hello._replace(signature=signature(signed))
    new |= {"signed_before_offer": before, "signed_after_offer": after, "signature": hello.signature}
    new["mac_key"] = mac_key = ann.mac_key(of["ann_nonce"] + of["bob_nonce"])
    new["stream_gaussian_1_ann"] = ann._stream(24, 1, "gaussian", "ann")
    mask = sv.GaussianMask(1e6)
    held, written = (ann.pads(1, name, 2, mask) for name in ("ann", "bob"))
    word = ann.words(0, 1, 46)
    new |= {"pads_ann": held.tolist(), "pads_bob": written.tolist(), "word": int(word[0])}
    new["tag_0"] = ann.check(0, word.astype("<u8").tobytes())
    new["tag_1"] = tag_1 = ann.check(1, b"".join(pads.astype("<f8").tobytes() for pads in (held, written)))
    modular = ModularMask(46)
    for name, own, sign in (("ann", 5, 1), ("bob", 3, -1)):
        new[f"limbs_{name}"] = masked_limbs(np.array([own]), [(sign, word)], modular, 2).tolist()
    cost, edge = sv.Averaging([1.25, 0.5]), Link(-1.0, np.zeros(2), held, written)
    node = Node(0, cost, {1: edge}, c=0.4, theta=0.8, grid=mask.grid)
    new |= {"w": node.form.q[0].tolist(), "e": node.e[1].tolist()}
    r = node.wake()[0].r.tolist()
    new |= {"x": node.x.tolist(), "r": r, "estate": node.estate.tolist()}
    routes = Rerouting(Route.over([(0, 1), (0, 2)], 1.2, 1.0), Route.over([(0, 1), (0, 2), (1, 2)], 0.4, 0.8), run_hash)
    route, tag = routes.without([(0, 2)])
    links, folded, c = routes.links(0, {1: edge}, route, tag, mask.grid)
    again = Node(0, cost, links, c=c, theta=route.theta, grid=mask.grid, folded=folded)
    new |= {"route": tag, "route_without_2": routes.without([], 2)[1]}
    new |= {"w_rerouted": again.form.q[0].tolist(), "e_rerouted": again.e[1].tolist()}
    new["hello_sha256"] = sha256(encode(hello)).digest()
    value = Value(1, 7, 0, 1, np.array([1.5, -2.0]))
    new |= {"value": encode(value), "value_with_mac": encode(value, mac_key, "ann", "bob")}
    new["snapshot"] = encode(Snapshot(0, 3, 0, 1, np.array([0.25]), tag))
    answer = Rounded.of(node.x, 2.0**-20, bytes(range(32)))
    new |= {"answer": answer.as_array().tolist(), "answer_digest": answer.digest}
    (data,) = sealed(ann.answer_key(1, "ann"), answer.as_array(), b"sottovoce answer")
    new["answer_frame"] = encode(Answer(1, 4, 0, 1, data, tag))
    accepted = with_lengths(b"sottovoce accept", run_hash, b"ann", b"2", b"4", tag, answer.digest)
    new |= {"accept_signed": accepted, "accept_signature": signature(accepted)}
    new["verdict"] = encode(Verdict(2, 4, True, {0: new["accept_signature"]}, tag, answer.digest))
    new |= {"goodbye": encode(Goodbye("finished")), "opening": encode(Opening(of["ann_nonce"]))}
    new["pads"] = encode(Pads(1, tag_1))
    (escrow,) = seal(ann.escrow_key(1, "ann"), 1, node.estate)
    new["escrow"] = encode(escrow)
    said = with_lengths(b"sottovoce leave", run_hash, b"cat", b"ann", b"1", b"2", b"2", b"3", b"1", b"0", tag)
    new |= {"leave_signed": said, "leave_signature": signature(said)}
    new["leave"] = encode(Leave("cat", "ann", 1, 2, 2, 3, True, False, new["leave_signature"], tag))
    said = with_lengths(b"sottovoce lost", run_hash, b"ann", b"cat")
    new |= {"lost_signed": said, "lost_signature": signature(said)}
    new["lost"] = encode(Lost("ann", "cat", new["lost_signature"]))
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in new.items()}


def line(name: str, value: Any) -> str:
    """As the page has it."""
    quote = "'" if name == "parameters" else '"'
    text = f"{quote}{value}{quote}" if isinstance(value, str) else str(value)
    if len(text) <= WIDTH + 2 - len(name) - 2 or not isinstance(value, str):
        return f'    "{name}": {text},'
    parts = "\n".join(f"        {quote}{part}{quote}" for part in wrap(value, WIDTH))
    return f'    "{name}":\n{parts},'


def main() -> None:
    text = PAGE.read_text()
    begin = text.index(BEGINS) + len(BEGINS)
    end = text.index(ENDS, begin)
    old = ast.literal_eval("{" + text[begin:end] + "}")
    new = made(old)
    page = text[:begin] + "\n".join(line(name, value) for name, value in new.items()) + text[end:]
    # The example beside the parameters, and its hash.
    page = page.replace(f"    {old['parameters']}\n", f"    {new['parameters']}\n")
    PAGE.write_text(page.replace(f"    {old['parameters_hash']}\n", f"    {new['parameters_hash']}\n"))


if __name__ == "__main__":
    main()
