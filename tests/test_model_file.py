"""Model files: what goes in comes out; anything but a whole file of ours is rejected with a reason."""

from __future__ import annotations

import json
import math
import os
import pickle
import stat
import struct
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from eigenlens import model_file
from eigenlens.errors import ModelFileError, OptionError
from eigenlens.layout import Layout, pack, unpack

ARRAYS: dict[str, Any] = {
    "components": np.asfortranarray(np.random.default_rng(0).normal(size=(3, 7))),
    "strided": np.arange(24.0).reshape(4, 6)[::2, ::-3],
    "single": np.random.default_rng(1).normal(size=(2, 3, 2)).astype(np.float32),
    "scalar": np.array(2.5),
    "empty": np.zeros((0, 4)),
    "hollow": np.zeros((3, 0), dtype=np.int8),
    "special": np.array([np.nan, -0.0, np.inf, -np.inf, 5e-324]),
    "counts": np.array([-(2**63), 2**63 - 1]),
    "bytes": np.arange(5, dtype=np.uint8),
    "flags": np.array([[True, False]]),
    "größe": np.array([1.0], dtype=">f8"),
}
HEADER: dict[str, Any] = {
    "names": ["Größe", "重さ", "🙂", 'a"b\\c\n\x00', "\ud800"],
    "zz": {"order": 1, "is": 2, "kept": 3},
    "aa": {"nested": [1, [2.5, None, True], {"deep": -0.0}]},
    "odd": {"$float": "nan", "$": 1, "$$x": [2]},
    "huge": 10**40,
    "tiny": 5e-324,
    "tenth": 0.1,
    "": "the empty key",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


@pytest.fixture
def written(path: Path) -> Path:
    model_file.write(path, "thing", ARRAYS, HEADER)
    return path


def same_bits(a: Any, b: Any) -> bool:
    """The slow obvious comparison: dtype, shape, and every element's bytes in logical order."""
    native = np.array(b, dtype=b.dtype.newbyteorder("="), order="C")
    return a.dtype == native.dtype and a.shape == native.shape and a.tobytes() == native.tobytes()


def files(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def rewrite(path: Path, **changes: Any) -> None:
    """The file again, with some fields of its envelope replaced and a digest that is right for them."""
    arrays = model_file.read(path)[1]
    raw = path.read_bytes()
    text = json.loads(raw[8 : 8 + struct.unpack("<Q", raw[:8])[0]])["__metadata__"]["eigenlens"]
    envelope = json.loads(text) | changes
    envelope["digest"] = model_file._digest(envelope, arrays)
    metadata = {"eigenlens": json.dumps(envelope, separators=(",", ":"))}
    safetensors.numpy.save_file(arrays, path, metadata=metadata)


# ---- round trips ------------------------------------------------------------------------------------------


def test_arrays_come_back_bit_for_bit(written: Path) -> None:
    kind, arrays, _ = model_file.read(written)
    assert kind == "thing"
    assert list(arrays) == sorted(ARRAYS)
    for name, array in ARRAYS.items():
        assert same_bits(arrays[name], array), name


def test_the_header_comes_back_equal_and_in_order(written: Path) -> None:
    header = model_file.read(written)[2]
    assert header == HEADER
    assert list(header) == list(HEADER)
    assert list(header["zz"]) == ["order", "is", "kept"]
    assert math.copysign(1.0, header["aa"]["nested"][2]["deep"]) == -1.0


def test_floats_that_json_lacks_are_kept(path: Path) -> None:
    model_file.write(path, "x", {}, {"values": [math.nan, math.inf, -math.inf], "again": {"nan": np.float32("nan")}})
    _, arrays, header = model_file.read(path)
    assert arrays == {}
    assert math.isnan(header["values"][0])
    assert header["values"][1:] == [math.inf, -math.inf]
    assert math.isnan(header["again"]["nan"])


def test_the_file_is_strict_json_that_other_tools_read(path: Path) -> None:
    model_file.write(path, "x", {"a": np.ones(2)}, {"nan": math.nan})

    def reject(token: str) -> None:
        raise AssertionError(token)

    with safetensors.safe_open(path, "numpy") as file:
        envelope = json.loads(file.metadata()["eigenlens"], parse_constant=reject)
        assert file.get_tensor("a").tolist() == [1.0, 1.0]
    assert set(envelope) == {"format", "kind", "version", "digest", "header"}
    assert (envelope["format"], envelope["kind"], len(envelope["digest"])) == (1, "x", 64)


def test_numpy_scalars_and_tuples_become_plain_values(path: Path) -> None:
    header = {
        "b": np.True_,
        "i": np.int16(-3),
        "f": np.float32(0.1),
        "l": np.longdouble(0.5),
        "s": np.str_("x"),
        "t": (1, 2),
    }
    model_file.write(path, "x", {}, header)
    back = model_file.read(path)[2]
    assert back == {"b": True, "i": -3, "f": float(np.float32(0.1)), "l": 0.5, "s": "x", "t": [1, 2]}
    assert [type(value) for value in back.values()] == [bool, int, float, float, str, list]


def test_equal_values_give_equal_files(tmp_path: Path) -> None:
    model_file.write(tmp_path / "a", "thing", ARRAYS, HEADER)
    model_file.write(tmp_path / "b", "thing", {name: np.array(a, order="C") for name, a in ARRAYS.items()}, HEADER)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_was_read_can_be_written_again(written: Path, tmp_path: Path) -> None:
    model_file.write(tmp_path / "again", *model_file.read(written))
    assert (tmp_path / "again").read_bytes() == written.read_bytes()


# ---- what write rejects -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"a": {"b": [1, object()]}}, r"header\['a'\]\['b'\]\[1\] is of type object"),
        ({"a": np.zeros(3)}, r"header\['a'\] is of type ndarray"),
        ({"a": 1j}, r"header\['a'\] is of type complex"),
        ({"a": {1, 2}}, r"header\['a'\] is of type set"),
        ({"a": b"x"}, r"header\['a'\] is of type bytes"),
        ({"a": {3: "x"}}, r"header\['a'\] has the key 3 of type int"),
    ],
)
def test_a_header_that_is_not_json_is_rejected_by_key(path: Path, header: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        model_file.write(path, "x", {}, header)
    assert files(path.parent) == []


@pytest.mark.parametrize("dtype", ["U3", "O", "c16", "f2", "M8[s]", "S2"])
def test_other_dtypes_are_rejected_by_name(path: Path, dtype: str) -> None:
    with pytest.raises(OptionError, match=r"arrays\['odd'\] has dtype"):
        model_file.write(path, "x", {"fine": np.ones(1), "odd": np.zeros(2, dtype=dtype)}, {})
    assert files(path.parent) == []


@pytest.mark.parametrize("name", ["__metadata__", "\ud800", 3])
def test_names_the_container_cannot_hold_are_rejected(path: Path, name: Any) -> None:
    with pytest.raises(OptionError, match="the name"):
        model_file.write(path, "x", {name: np.ones(1)}, {})


def test_a_header_too_long_to_read_back_is_rejected(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "_LONGEST_HEADER", 1000)
    with pytest.raises(OptionError, match="more than 1000 bytes of JSON"):
        model_file.write(path, "x", {}, {"long": "x" * 1000})


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no-such-folder, which does not exist"):
        model_file.write(tmp_path / "no-such-folder" / "model", "x", {}, {})


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="is a folder"):
        model_file.write(tmp_path, "x", {}, {})
    with pytest.raises(ModelFileError, match="is a folder"):
        model_file.read(tmp_path)


def test_overwriting_can_be_forbidden(written: Path) -> None:
    before = written.read_bytes()
    with pytest.raises(OptionError, match="exists already"):
        model_file.write(written, "other", {}, {}, overwrite=False)
    assert written.read_bytes() == before
    model_file.write(written, "other", {}, {})
    assert model_file.read(written)[0] == "other"


# ---- whole or not at all ----------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_the_old_file_alone(
    written: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    before = written.read_bytes()

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        model_file.write(written, "new", {"a": np.ones(5)}, {})
    assert written.read_bytes() == before
    assert files(written.parent) == [written.name]


def test_a_full_disk_leaves_the_old_file_alone(written: Path) -> None:
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    before = written.read_bytes()
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(OSError):
            model_file.write(written, "new", {"a": np.ones(100_000)}, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert written.read_bytes() == before
    assert files(written.parent) == [written.name]


def test_no_temporary_file_stays(written: Path) -> None:
    model_file.write(written, "thing", ARRAYS, {})
    assert files(written.parent) == [written.name]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links as POSIX has them")
def test_permissions_and_links_survive(written: Path, tmp_path: Path) -> None:
    written.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(written)
    model_file.write(link, "new", {}, {})
    assert link.is_symlink()
    assert model_file.read(written)[0] == "new"
    assert stat.S_IMODE(written.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name != "posix", reason="umask")
def test_a_new_file_obeys_the_umask(path: Path) -> None:
    before = os.umask(0o027)
    try:
        model_file.write(path, "x", {}, {})
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


# ---- what read rejects ------------------------------------------------------------------------------------


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"nothing\.safetensors does not exist"):
        model_file.read(tmp_path / "nothing.safetensors")


def png() -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


FOREIGN = {
    "empty": (b"", "is empty"),
    "one byte": (b"{", "not a safetensors file"),
    "pickle": (pickle.dumps({"components": [1.0] * 100}), "not a safetensors file"),
    "png": (png(), "not a safetensors file"),
    "json": (b'{"format": 1}', "not a safetensors file"),
    "zeros": (b"\0" * 100, "not a safetensors file"),
    "brace": (struct.pack("<Q", 4) + b"{{{{", "is not JSON"),
    "deep": (struct.pack("<Q", 200_002) + b'{"a":' + b"[" * 199_997, "is not JSON"),
    "invalid text": (struct.pack("<Q", 4) + b"{\xff\xfe}", "is not JSON"),
    "no tensor": (struct.pack("<Q", 2) + b"{}", "not one of eigenlens"),
    "foreign": (safetensors.numpy.save({"weight": np.ones(3)}, {"format": "pt"}), "not one of eigenlens"),
    "bare": (safetensors.numpy.save({"weight": np.ones(3)}), "not one of eigenlens"),
    "our key, not JSON": (safetensors.numpy.save({}, {"eigenlens": "0.1"}), "was altered"),
    "our key, no format": (safetensors.numpy.save({}, {"eigenlens": "{}"}), "was altered"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_files_are_rejected_with_a_reason(path: Path, name: str) -> None:
    data, words = FOREIGN[name]
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=words) as caught:
        model_file.read(path)
    assert str(path) in str(caught.value)


def test_nothing_in_a_pickle_is_executed(path: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "sprung"),)

    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ModelFileError):
        model_file.read(path)
    assert files(tmp_path) == [path.name]


@pytest.mark.parametrize("twentieth", range(20))
def test_a_truncated_file_is_rejected(written: Path, twentieth: int) -> None:
    whole = written.read_bytes()
    keep = len(whole) * twentieth // 20
    written.write_bytes(whole[:keep])
    with pytest.raises(ModelFileError, match=rf"is truncated \({keep} of " if keep > 8 else "is empty"):
        model_file.read(written)


@pytest.mark.parametrize("missing", [1, 7, 8])
def test_the_last_bytes_count(written: Path, missing: int) -> None:
    written.write_bytes(written.read_bytes()[:-missing])
    with pytest.raises(ModelFileError, match="is truncated"):
        model_file.read(written)


def test_bytes_too_many_are_rejected(written: Path) -> None:
    written.write_bytes(written.read_bytes() + b"\0")
    with pytest.raises(ModelFileError, match="was altered"):
        model_file.read(written)


def test_any_changed_byte_is_noticed(path: Path) -> None:
    """Every byte of a small file, each with three changes: bit flips and characters that JSON forgives."""
    model_file.write(path, "thing", {"a": np.arange(3.0), "b": np.array(True)}, {"é": [1e300, math.nan], "x": None})
    whole = path.read_bytes()
    rng = np.random.default_rng(5)
    for place, old in enumerate(whole):
        for new in {old ^ (1 << int(rng.integers(8))), old ^ 0x20, ord(" "), ord("\n"), ord("0")} - {old}:
            path.write_bytes(whole[:place] + bytes([new]) + whole[place + 1 :])
            with pytest.raises(ModelFileError):
                model_file.read(path)


def test_random_changes_in_a_larger_file_are_noticed(written: Path) -> None:
    whole = bytearray(written.read_bytes())
    rng = np.random.default_rng(6)
    for place in rng.integers(len(whole), size=200):
        changed = bytearray(whole)
        changed[place] ^= int(rng.integers(1, 256))
        written.write_bytes(changed)
        with pytest.raises(ModelFileError):
            model_file.read(written)


def test_swapped_arrays_are_noticed(path: Path) -> None:
    """The same bytes and names, one dealt to the other: only a digest that binds names to values can tell."""
    model_file.write(path, "x", {"a": np.array([1.0]), "b": np.array([2.0])}, {})
    raw = path.read_bytes()
    path.write_bytes(raw[:-16] + raw[-8:] + raw[-16:-8])
    with pytest.raises(ModelFileError, match="digest"):
        model_file.read(path)


@pytest.mark.parametrize(("old", "new"), [(b"[2,3]", b"[3,2]"), (b'"F64"', b'"I64"')])
def test_a_changed_shape_or_dtype_is_noticed(path: Path, old: bytes, new: bytes) -> None:
    """Files that safetensors itself finds in order: as many bytes, read as something else."""
    model_file.write(path, "x", {"a": np.arange(6.0).reshape(2, 3)}, {})
    assert path.read_bytes().count(old) == 1
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(ModelFileError, match="digest"):
        model_file.read(path)


def test_a_newer_format_says_upgrade(written: Path) -> None:
    rewrite(written, format=999, version="7.8.9", new_field="of the future")
    with pytest.raises(ModelFileError, match=r"written by eigenlens 7\.8\.9 in format 999.*pip install --upgrade"):
        model_file.read(written)


def test_a_rewritten_envelope_is_read_when_all_is_right(written: Path) -> None:
    """The control for the test above: `rewrite` itself does not break the file."""
    rewrite(written, version="0.0.9")
    assert model_file.read(written)[0] == "thing"
    rewrite(written, kind="other")
    assert model_file.read(written)[0] == "other"


@pytest.mark.parametrize("change", [{"format": "1"}, {"kind": 3}, {"header": []}, {"header": {"$float": "pi"}}])
def test_an_envelope_of_the_wrong_shape_is_rejected(written: Path, change: dict[str, Any]) -> None:
    rewrite(written, **change)
    with pytest.raises(ModelFileError, match="was altered"):
        model_file.read(written)


@dataclass(frozen=True)
class Inner:
    centre: np.ndarray
    width: float = 1.0


@dataclass(frozen=True)
class Outer:
    inner: Inner
    other: Inner | None
    path: tuple[float, ...]
    columns: tuple[int, ...]
    rest: float
    name: str
    levels: tuple[str, ...] = ()
    extra: np.ndarray | None = None


LAYOUT = Layout(
    Outer,
    arrays={"path": "path", "columns": "where", "rest": "rest", "extra": "extra"},
    header={"name": "called", "levels": "levels"},
    parts={
        "inner": Layout(Inner, arrays=["centre"], header=["width"], place="inner"),
        "other": Layout(
            Inner, arrays=["centre"], header=["width"], prefix="other.", place="other", as_list=True, optional=True
        ),
    },
)


@pytest.mark.parametrize("other", [None, Inner(np.ones(3), np.inf)])
@pytest.mark.parametrize("columns", [(), (3, 1)])
def test_frozen_dataclasses_come_back_as_they_were(path: Path, other: Inner | None, columns: tuple[int, ...]) -> None:
    value = Outer(Inner(np.zeros(2)), other, (0.5, 1.0), columns, 0.25, "a", ("x", "y"))
    model_file.write(path, "outer", *pack(value, LAYOUT))
    _, arrays, header = model_file.read(path)
    assert {"centre", "path", "where", "rest"} <= set(arrays)
    assert arrays["where"].dtype == np.int64
    assert header == {"called": "a", "levels": ["x", "y"], "inner": {"width": 1.0}, "other": other and [np.inf]}
    back = unpack(LAYOUT, arrays, header)
    assert (back.path, back.columns, back.rest, back.name, back.levels, back.extra) == (
        (0.5, 1.0), columns, 0.25, "a", ("x", "y"), None,
    )  # fmt: skip
    assert [type(part) for part in (back.inner, back.other)] == [Inner, type(other)]


def test_files_of_earlier_versions_may_lack_fields() -> None:
    layout = Layout(Inner, arrays=["centre"], header=["width"], place="inner", as_list=True, later=["width"])
    assert unpack(layout, {"centre": np.ones(1)}, {"inner": []}).width == 1.0
    with pytest.raises(ModelFileError, match="lacks 'inner'"):
        unpack(layout, {"centre": np.ones(1)}, {})
    with pytest.raises(ModelFileError, match="lacks 'centre'"):
        unpack(layout, {}, {"inner": [2.0]})
    with pytest.raises(ModelFileError, match="lacks 'width'"):
        unpack(replace(layout, later=()), {"centre": np.ones(1)}, {"inner": []})
