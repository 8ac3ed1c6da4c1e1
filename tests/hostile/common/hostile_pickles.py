"""Pickles of a few megabytes that would take hours or all memory of a machine, and archives of them
as torch.save writes them."""

from __future__ import annotations

import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

HEAD = b"\x80\x02"
MANY = 5_000_000


def _put(index: int) -> bytes:
    return b"r" + struct.pack("<I", index)


def _get(index: int) -> bytes:
    return b"j" + struct.pack("<I", index)


def _text(text: bytes) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text


def _long(value: int) -> bytes:
    raw = value.to_bytes(11, "little")
    return b"\x8a" + bytes([len(raw)]) + raw


def _doubled(depth: int = 60) -> bytes:
    """Tuples that each hold the one before twice; the last is memo entry `depth`."""
    return b")" + _put(0) + b"".join(_get(i) * 2 + b"\x86" + _put(i + 1) for i in range(depth))


def _tensor(shape: bytes = b"K\x01\x85", key: bytes = b"0") -> bytes:
    storage = b"(" + _text(b"storage") + b"ctorch\nFloatStorage\n" + _text(key) + _text(b"cpu")
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x01tQK\x00" + shape + shape
        + b"\x89ccollections\nOrderedDict\n)RtR"
    )  # fmt: skip


def _keys(make: Callable[[int], bytes], count: int) -> bytes:
    return b"}(" + b"".join(make(i) + b"N" for i in range(count)) + b"u"


# name: (what makes the pickle, words that must be said about it, "" if it is harmless)
PICKLES: dict[str, tuple[Callable[[], bytes], str]] = {
    "nested_tuples": (lambda: b")" + b"\x85" * 100_000, "nests containers"),
    "nested_tuples_million": (lambda: b")" + b"\x85" * 1_000_000, "nests containers"),
    "nested_lists": (lambda: b"]" * 200_000 + b"a" * 199_999, "nests containers"),
    "nested_dicts": (
        lambda: (b"}" + _text(b"a")) * 200_000 + b"N" + b"s" * 200_000, "nests containers",
    ),
    "doubled_value": (lambda: _doubled() + _get(60), ""),
    "doubled_key": (lambda: _doubled() + b"}" + _get(60) + b"K\x01s", "hash"),
    "doubled_in_a_set": (
        lambda: _doubled() + b"cbuiltins\nset\n]" + _get(60) + b"a\x85R", "hash",
    ),
    "doubled_lists": (
        lambda: b"]" + _put(0)
        + b"".join(b"](" + _get(i) * 2 + b"e" + _put(i + 1) for i in range(60)) + _get(60), "",
    ),
    "equal_hashes": (lambda: _keys(lambda i: _long(i * (2**61 - 1)), 200_000), "slow"),
    "equal_hashes_of_floats": (
        lambda: _keys(lambda i: b"G" + struct.pack(">d", 2.0 ** (61 * (1 + i % 15)) * i), 200_000),
        "slow",
    ),
    "equal_hashes_of_tuples": (
        lambda: _keys(lambda i: _long(i << 42) + b"\x85", 150_000), "slow",
    ),
    "terabyte": (
        lambda: b"cbuiltins\nbytearray\n\x8a\x06" + struct.pack("<Q", 2**40)[:6] + b"\x85R",
        "1099511627776 bytes",
    ),
    "objects": (lambda: b"](" + b"N" * MANY + b"e", "more objects"),
    "dicts": (lambda: b"](" + b"}" * MANY + b"e", "more objects"),
    "tuples": (lambda: b"](" + b")" * MANY + b"e", "more objects"),
    "marks": (lambda: b"(" * MANY, "more marks"),
    "opcodes": (lambda: b"(0" * 10_000_000 + b"N", "more opcodes"),
    "memo": (lambda: b"N" + b"".join(map(_put, range(1_600_000))), "more memo"),
    "links": (
        lambda: _put(0).join([b"N", b""]) + b"(" + _get(0) * 1_400_000 + b"t" + _put(1)
        + b"]" + b"".join(b"(" + _get(0) * 1_400_000 + b"e" for _ in range(5)), "more references",
    ),
    "texts": (lambda: b"](" + _text(b"s" * 900) * 200_000 + b"e", "more texts"),
    "long_text": (lambda: _text(b"s" * 50_000_000), ""),
    "long_names": (
        lambda: _text(b"m" * 1_000_000) + _put(0) + b"]("
        + (_get(0) + _text(b"a") + b"\x93") * 200_000 + b"e", "name that is too long",
    ),
    "long_paths": (
        lambda: _text(b"k" * 900) + _put(0) + (b"}" + _get(0)) * 150
        + _keys(lambda i: _text(b"%06d" % i), 100_000) + b"s" * 150, "more than 4096 bytes",
    ),
    "many_paths": (
        lambda: _text(b"k" * 900) + _put(0) + (b"}" + _get(0)) * 4
        + _keys(lambda i: _text(b"%06d" % i), 100_000) + b"s" * 4, "names that are too long",
    ),
    "globals": (
        lambda: b"](" + b"".join(b"cm\na%d\n" % i for i in range(400_000)) + b"e", "m.a0",
    ),
    "dimensions": (
        lambda: b"(" + b"K\x01" * 100_000 + b"t" + _put(0) + b"](" + _tensor(_get(0)) * 30_000
        + b"e", "storage 0",
    ),
    "long_number": (lambda: b"\x8b" + struct.pack("<I", MANY) + b"\x7f" * MANY, ""),
    "digits": (lambda: b"I" + b"7" * MANY + b"\n", ""),
    "beyond_its_storage": (lambda: _tensor(b"\x8a\x05\x00\x00\x00\x00\x10\x85"), "storage 0"),
    "words": (lambda: _keys(lambda i: _text(b"%07d" % i), 300_000), ""),
}  # fmt: skip


def archive(path: Path, pickle: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        file.writestr("archive/data.pkl", HEAD + pickle + b".")
        file.writestr("archive/byteorder", "little")
        file.writestr("archive/version", "3\n")
    return path


def zipped_zeros(path: Path, size: int) -> Path:
    """One tensor whose bytes are compressed a thousand times."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        count = struct.pack("<I", size // 4)
        storage = b"(" + _text(b"storage") + b"ctorch\nFloatStorage\n" + _text(b"0") + _text(b"cpu")
        shape = b"J" + count + b"\x85"
        tensor = (
            b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"J" + count + b"tQK\x00" + shape
            + b"K\x01\x85\x89ccollections\nOrderedDict\n)RtR"
        )  # fmt: skip
        file.writestr("archive/data.pkl", HEAD + b"}" + _text(b"w") + tensor + b"s.")
        file.writestr("archive/byteorder", "little")
        file.writestr("archive/version", "3\n")
        with file.open("archive/data/0", "w", force_zip64=True) as data:
            for _ in range(size >> 24):
                data.write(bytes(1 << 24))
    return path


if __name__ == "__main__":
    for name, (make, _) in PICKLES.items():
        pickle = make()
        archive(Path(sys.argv[1], f"{name}.pt"), pickle)
        Path(sys.argv[1], f"{name}.pickle").write_bytes(HEAD + pickle + b".")
    zipped_zeros(Path(sys.argv[1], "zeros.pt"), 3 << 30)
