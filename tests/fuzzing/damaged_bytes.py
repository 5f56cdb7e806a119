"""Change some bytes of any content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.fuzzing.cases import Rng


def somewhere(rng: Rng, content: Sequence[Any]) -> int:
    return rng.randrange(len(content)) if content else 0


def flipped(rng: Rng, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        changed[somewhere(rng, changed)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def removed(rng: Rng, content: bytes) -> bytes:
    at = somewhere(rng, content)
    return content[:at] + content[at + rng.choice([1, 2, 20]) :]


def inserted(rng: Rng, content: bytes) -> bytes:
    at = somewhere(rng, content)
    return content[:at] + rng.randbytes(rng.choice([1, 3, 30])) + content[at:]


def zeroed(rng: Rng, content: bytes) -> bytes:
    at = somewhere(rng, content)
    length = rng.choice([1, 4, 64])
    return content[:at] + bytes(len(content[at : at + length])) + content[at + length :]


def cut(rng: Rng, content: bytes) -> bytes:
    return content[: -rng.choice([1, 2, 4, 7, 9, rng.randrange(1, len(content))])]


BYTES: dict[str, Callable[[Rng, bytes], bytes]] = {
    "bytes flipped": flipped,
    "bytes removed": removed,
    "bytes inserted": inserted,
    "bytes zeroed": zeroed,
    "cut short": cut,
}
