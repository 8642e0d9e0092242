"""How brokers prove that they belong to one cluster: what is taken and what is not."""

from __future__ import annotations

import hmac
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.api.desk import Desk

from penstock.api import trust
from penstock.api.call import Call
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k17_sasl_handshake import SaslHandshakeRequest
from penstock.wire.messages.k36_sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)

SECRET = b"secret"
HELLO = trust.Hello(2, bytes(range(16)))


class Caller:
    """A connection to the desk, by which one request follows the other."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.client = trust.Client("peer")

    def ask(self, request: SaslHandshakeRequest | SaslAuthenticateRequest) -> object:
        call: Call = self._desk.call(request)
        call.client = self.client
        return call.api.handler(self._desk.broker, call.request, call)

    def agree(self) -> None:
        self.ask(SaslHandshakeRequest(trust.MECHANISM))

    def send(self, data: bytes) -> bytes:
        answer = self.ask(SaslAuthenticateRequest(data))
        assert isinstance(answer, SaslAuthenticateResponse)
        return bytes(answer.auth_bytes)

    def challenge(self, hello: trust.Hello = HELLO) -> trust.Challenge:
        return trust.read_challenge(self.send(trust.encode(hello)))


@pytest.fixture
def caller(desk: Desk) -> Caller:
    return Caller(desk)


def refusal(act: object, *values: object) -> ErrorCode:
    with pytest.raises(Refused) as refused:
        act(*values)  # type: ignore[operator]
    return refused.value.code


def test_who_knows_the_secret_is_a_broker_of_the_cluster(caller: Caller) -> None:
    caller.agree()
    challenge = caller.challenge()
    assert challenge.proof == trust.proof(SECRET, "server", HELLO, challenge.nonce)
    assert caller.client.broker_id == -1
    caller.send(trust.proof(SECRET, "client", HELLO, challenge.nonce))
    assert caller.client.broker_id == 2


def test_who_knows_another_secret_is_nobody(caller: Caller) -> None:
    caller.agree()
    nonce = caller.challenge().nonce
    wrong = trust.proof(b"another", "client", HELLO, nonce)
    assert refusal(caller.send, wrong) is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert caller.client.broker_id == -1


def test_after_a_wrong_proof_the_right_one_comes_too_late(caller: Caller) -> None:
    """Whoever guesses gets one try for each number that it is given."""
    caller.agree()
    nonce = caller.challenge().nonce
    right = trust.proof(SECRET, "client", HELLO, nonce)
    refusal(caller.send, b"")
    assert refusal(caller.send, right) is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert caller.client.broker_id == -1


def test_a_proof_that_was_overheard_is_of_no_use_on_another_connection(desk: Desk) -> None:
    first, second = Caller(desk), Caller(desk)
    first.agree()
    second.agree()
    proof = trust.proof(SECRET, "client", HELLO, first.challenge().nonce)
    first.send(proof)
    second.challenge()
    assert refusal(second.send, proof) is ErrorCode.SASL_AUTHENTICATION_FAILED


def test_the_servers_own_proof_sent_back_to_it_proves_nothing(caller: Caller) -> None:
    caller.agree()
    challenge = caller.challenge()
    assert refusal(caller.send, challenge.proof) is ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_proof_of_one_broker_makes_nobody_another_one(caller: Caller) -> None:
    caller.agree()
    nonce = caller.challenge().nonce
    other = trust.proof(SECRET, "client", trust.Hello(3, HELLO.nonce), nonce)
    assert refusal(caller.send, other) is ErrorCode.SASL_AUTHENTICATION_FAILED


def test_nothing_is_proved_before_a_mechanism_is_agreed_on(caller: Caller) -> None:
    assert refusal(caller.send, trust.encode(HELLO)) is ErrorCode.ILLEGAL_SASL_STATE
    caller.ask(SaslHandshakeRequest("PLAIN"))
    assert refusal(caller.send, trust.encode(HELLO)) is ErrorCode.ILLEGAL_SASL_STATE


@pytest.mark.parametrize("size", [0, 15, 17, 1000])
def test_a_nonce_has_one_size(caller: Caller, size: int) -> None:
    """A longer or shorter one could stand for another pair of numbers in the proof."""
    caller.agree()
    data = msgspec.msgpack.encode(trust.Hello(2, bytes(size)))
    assert refusal(caller.send, data) is ErrorCode.SASL_AUTHENTICATION_FAILED


@given(data=st.binary(max_size=200))
def test_nonsense_is_refused_and_nothing_else(data: bytes) -> None:
    for read in (trust.read_hello, trust.read_challenge):
        with suppress(Refused):
            assert len(read(data).nonce) == trust.NONCE_BYTES


def test_proofs_differ_by_every_part_of_what_they_prove() -> None:
    nonce = bytes(16)
    proofs = {
        trust.proof(SECRET, "client", HELLO, nonce),
        trust.proof(SECRET, "server", HELLO, nonce),
        trust.proof(b"other", "client", HELLO, nonce),
        trust.proof(SECRET, "client", trust.Hello(3, HELLO.nonce), nonce),
        trust.proof(SECRET, "client", trust.Hello(2, bytes(16)), nonce),
        trust.proof(SECRET, "client", HELLO, HELLO.nonce),
    }
    assert len(proofs) == 6
    assert all(len(each) == hmac.new(b"", b"", "sha256").digest_size for each in proofs)
