"""Files that somebody else has changed: they are refused, at once and with a reason, never believed."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from encryption.sealing import PASSPHRASE, Passphrase, Unencrypted, plan_seal, state_seal
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.foundation.encryption.envelope import Base64Error, decode, go_json
from planner.foundation.encryption.key_providers import pbkdf2
from planner.foundation.encryption.keys import Key, Keys, MetadataError, ProviderError
from planner.foundation.vocabulary.diagnostic import Failure
from planner.world.state.file import read_state, write_state
from planner.world.state.journal import Journal, Written, mark_saving, read_journal
from planner.world.state.model import InstanceState, ObjectState, ResourceState, State

STATE = write_state(State(lineage="a-lineage", serial=7), compact=True)
SEAL = state_seal()
SEALED = SEAL.seal(STATE)


def refused(seal: Any, data: bytes) -> str:
    with pytest.raises(Failure) as failure:
        seal.unseal(data)
    return " ".join(d.detail for d in failure.value.diagnostics)


def changed(**members: Any) -> bytes:
    return json.dumps({**json.loads(SEALED), **members}).encode()


def test_what_is_sealed_is_opened() -> None:
    assert SEAL.unseal(SEALED).data == STATE and not SEAL.unseal(SEALED).is_pending
    assert b"a-lineage" in SEALED and b"outputs" not in SEALED
    assert SEAL.seal(STATE) != SEALED, "each time with a nonce of its own"


def test_unknown_members_are_ignored() -> None:
    assert SEAL.unseal(changed(more=[1, {"x": None}])).data == STATE


@given(st.integers(0, len(SEALED) - 1), st.binary(min_size=1, max_size=3))
@settings(max_examples=examples(150))
def test_no_damage_is_believed(at: int, put: bytes) -> None:
    """Whatever is written over a place: the state is refused, or is the one that was sealed."""
    data = SEALED[:at] + put + SEALED[at + len(put) :]
    try:
        opened = SEAL.unseal(data)
    except Failure:
        return
    assert opened.data == STATE


@given(st.integers(0, len(SEALED) - 1))
@settings(max_examples=examples(60))
def test_no_part_is_believed(length: int) -> None:
    with pytest.raises(Failure):
        SEAL.unseal(SEALED[:length])


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"serial": 8}, "serial field mismatch 8 vs 7"),
        ({"lineage": "another"}, "linage field mismatch another vs a-lineage"),
        ({"serial": 7.5}, "not a whole number"),
        ({"encryption_version": "v1"}, "invalid encrypted payload version: v1 != v0"),
        ({"encryption_version": ""}, "Given payload is not a state file"),
        ({"encryption_version": 0}, "encryption_version is not a string"),
        ({"encrypted_data": "AA=A"}, "illegal base64 data"),
        ({"encrypted_data": ""}, "cannot decrypt empty data"),
        ({"encrypted_data": "AAAA"}, "too small"),
        ({"encrypted_data": ["x"]}, "encrypted_data is not a string"),
        ({"meta": []}, "no decryption key available"),
        ({"meta": [1]}, "meta is not an object"),
        ({"meta": {}}, "no decryption key available"),
        ({"meta": {"key_provider.pbkdf2.k": 5}}, "is not a string"),
    ],
)
def test_members_that_were_changed(members: dict[str, Any], says: str) -> None:
    assert says in refused(SEAL, changed(**members))


def test_a_state_in_clear_is_refused_unless_that_is_configured() -> None:
    assert "encountered unencrypted payload" in refused(SEAL, STATE)
    allowing = state_seal(Passphrase(PASSPHRASE), Unencrypted())
    assert allowing.unseal(STATE).is_pending
    assert not allowing.unseal(SEALED).is_pending
    with pytest.raises(Failure):
        allowing.unseal(changed(serial=8))


def test_clear_with_a_version_is_no_way_around() -> None:
    """A state that says that it is an envelope is treated as one."""
    both = json.dumps({**json.loads(STATE), "encryption_version": "v0"}).encode()
    assert "decryption failed" in refused(state_seal(Passphrase(PASSPHRASE), Unencrypted()), both)


def test_fallbacks_in_their_order() -> None:
    old, new = Passphrase("an-old-passphrase-that-was"), Passphrase(PASSPHRASE)
    both = state_seal(new, Unencrypted(), old)
    assert both.unseal(state_seal(old).seal(STATE)).is_pending
    assert not both.unseal(SEALED).is_pending
    assert "decryption failed for all provided methods" in refused(both, state_seal(Passphrase("x" * 16)).seal(STATE))


def test_a_plan_is_no_state_and_a_document_is_neither() -> None:
    plans = plan_seal()
    assert "is not a state" in refused(SEAL, plans.seal(b"PK plan"))
    document = SEAL.seal_document("journal key", b"x" * 32)
    assert SEAL.unseal_document("journal key", document).data == b"x" * 32
    for kind in ("applied", "journal"):
        with pytest.raises(Failure):
            SEAL.unseal_document(kind, document)
    with pytest.raises(Failure):
        SEAL.unseal(document)
    with pytest.raises(Failure):
        SEAL.unseal_document("journal key", SEALED)
    assert "Invalid plan file {" in refused(plans, b'{"no": "plan"}')
    assert "encountered unencrypted payload" in refused(plans, b"PK in clear")


# ---------------------------------------------------------------- metadata of keys

GOOD = {"salt": b64encode(b"s" * 8).decode(), "iterations": 200_000, "hash_function": "sha256", "key_length": 16}


@pytest.mark.parametrize(
    "metadata",
    [
        {"iterations": 1 << 40},
        {"iterations": 20_000_001},
        {"key_length": 1 << 40},
        {"key_length": 1 << 16, "iterations": 19_000_000},
        {"salt": b64encode(bytes(2 << 20)).decode()},
        {"iterations": "5"},
        {"iterations": 1e300},
        {"iterations": 1 << 70},
        {"salt": "*"},
        {"salt": 5},
        {"hash_function": "md5"},
        {"hash_function": ["sha256"]},
        {"iterations": -1},
        {"key_length": -1},
    ],
)
def test_metadata_that_would_take_for_ever(metadata: dict[str, Any]) -> None:
    provider = pbkdf2.build({"passphrase": PASSPHRASE})
    with pytest.raises((MetadataError, ProviderError)):
        provider.provide({**GOOD, **metadata})


def test_what_is_configured_is_no_attack() -> None:
    provider = pbkdf2.build({"passphrase": PASSPHRASE, "iterations": 30_000_000})
    keys, _ = provider.provide({**GOOD, "iterations": 30_000_000})
    assert keys.decryption is not None and keys.decryption.length == 16


@pytest.mark.parametrize("missing", sorted(GOOD))
def test_incomplete_metadata_give_no_key(missing: str) -> None:
    keys, _ = pbkdf2.build({"passphrase": PASSPHRASE}).provide({k: v for k, v in GOOD.items() if k != missing})
    assert keys.decryption is None and keys.encryption is not None


def test_no_key_is_made_of_nothing() -> None:
    """Where the chained provider has no key to decrypt with, anybody could make one from an empty passphrase."""
    chain = Keys(Key.of(b"k" * 16), None)
    keys, _ = pbkdf2.build({"chain": chain}).provide(GOOD)
    assert keys.decryption is None and keys.without_decryption


def test_keys_are_derived_once_and_late(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bytes] = []

    def derive(name: str, passphrase: bytes, salt: bytes, iterations: int, length: int) -> bytes:
        made.append(salt)
        return bytes(length)

    monkeypatch.setattr(pbkdf2, "pbkdf2_hmac", derive)
    pbkdf2._derive_key.cache_clear()
    for _ in range(2):
        keys, _ = pbkdf2.build({"passphrase": PASSPHRASE}).provide(GOOD)
        assert keys.decryption is not None and keys.decryption.bytes() == bytes(16)
    assert made == [b"s" * 8]
    pbkdf2._derive_key.cache_clear()


@pytest.mark.slow
@given(st.text(max_size=12))
@settings(max_examples=examples(200))
def test_base64_is_strict(text: str) -> None:
    try:
        data = decode(text)
    except Base64Error:
        return
    assert b64encode(data).decode().rstrip("=")[:-1] == text.replace("\n", "").replace("\r", "").rstrip("=")[:-1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (1.5, "1.5"),
        (12345678901234567890, "12345678901234567000"),
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (0.000001, "0.000001"),
        (-0.0, "-0"),
        (1.25e-10, "1.25e-10"),
        (123456789e20, "1.23456789e+28"),
        ({"b": [True, None], "a": "<&>"}, '{"a":"\\u003c\\u0026\\u003e","b":[true,null]}'),
    ],
)
def test_numbers_as_floats(value: Any, text: str) -> None:
    assert go_json(value).decode() == text


# ---------------------------------------------------------------- journals


def _resource(text: str) -> tuple[ResourceState, None, InstanceState]:
    instance = InstanceState(None, ObjectState({"input": text}, 0))
    provider = 'provider["terraform.io/builtin/terraform"]'
    return ResourceState("", "managed", "terraform_data", "a", provider, {None: instance}), None, instance


def _journal(path: str, *texts: str, seal: Any = SEAL) -> None:
    journal = Journal(path, "a-lineage", 7, "apply", seal=seal)
    for text in texts:
        number = journal.start("terraform_data.a", "", "create", durable=False)
        journal.instance(*_resource(text))
        journal.end(number, durable=False)
    journal.close()


def _said(path: str, seal: Any = SEAL) -> list[str]:
    recorded, problems = read_journal(path, seal)
    assert recorded is not None, problems
    return [c.resource.instances[None].current.attributes["input"] for c in recorded.changes]  # type: ignore[union-attr]


def test_journals_are_encrypted_line_by_line(tmp_path: Any) -> None:
    path = str(tmp_path / "j")
    _journal(path, "canary-one", "canary-two")
    data = (tmp_path / "j").read_bytes()
    assert b"canary" not in data and b"a-lineage" not in data and data.count(b"\n") == 8
    assert _said(path) == ["canary-one", "canary-two"]
    again = state_seal(Passphrase("a-new-passphrase-since"), Passphrase(PASSPHRASE))
    assert _said(path, again) == ["canary-one", "canary-two"]
    for seal in (state_seal(Passphrase("a-new-passphrase-since")),):
        recorded, problems = read_journal(path, seal)
        assert recorded is None and problems[0].is_error
    recorded, problems = read_journal(path)
    assert recorded is None and "encrypted" in problems[0].detail


def test_a_journal_that_was_cut_off(tmp_path: Any) -> None:
    path = tmp_path / "j"
    _journal(str(path), "one", "two")
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"\n", 0, -1) - 10])
    recorded, _ = read_journal(str(path), SEAL)
    assert recorded is not None and recorded.is_torn and not recorded.damage
    mark_saving(str(path), State(lineage="a-lineage", serial=8), "", SEAL)
    recorded, problems = read_journal(str(path), SEAL)
    assert recorded is not None and recorded.saved == Written("a-lineage", 8) and problems == []


def test_lines_that_somebody_moved_or_made(tmp_path: Any) -> None:
    """Sums can be made by anybody; what a line says, and its number, cannot."""
    import zlib

    path = tmp_path / "j"
    _journal(str(path), "one", "two")

    def rewritten(texts: list[bytes]) -> None:
        chain, lines = 0, []
        for text in texts:
            chain = zlib.crc32(text, chain)
            lines.append(b"%08x %08x %s\n" % (chain, zlib.crc32(text), text))
        path.write_bytes(b"".join(lines))

    texts = [line.split(b" ", 2)[2] for line in path.read_bytes().splitlines()]
    rewritten(texts)
    assert _said(str(path)) == ["one", "two"]
    for wrong in (
        [*texts[:3], *texts[4:]],
        [*texts[:3], texts[6], texts[4], texts[5], texts[3], *texts[7:]],
        [*texts, texts[3]],
        [*texts, b'{"instance":"terraform_data.a","key":null}'],
        [*texts[:3], texts[3].replace(b'"line":3', b'"line":9'), *texts[4:]],
    ):
        rewritten(wrong)
        recorded, _ = read_journal(str(path), SEAL)
        assert recorded is not None and recorded.damage
    clear = tmp_path / "clear"
    from planner.world.state.encryption_seal import PLAIN

    _journal(str(clear), "forged", seal=PLAIN)
    recorded, problems = read_journal(str(clear), SEAL)
    assert recorded is None and "encountered unencrypted payload" in problems[0].detail
    assert _said(str(clear), state_seal(Passphrase(PASSPHRASE), Unencrypted())) == ["forged"]


def test_states_are_read_back(tmp_path: Any) -> None:
    state, problems = read_state(SEAL.unseal(SEALED).data)
    assert problems == [] and state is not None and (state.serial, state.lineage) == (7, "a-lineage")
