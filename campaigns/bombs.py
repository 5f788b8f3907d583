"""Small files that ask for much: decompression bombs, lines, quotes and columns without end, headers that lie.

A case writes one, and fits it by the command line in a process of its own. It ends well if the process prints an error
about the file, or the result, within ten seconds of processor time and a gigabyte.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import struct
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from campaigns.base import Outcome, Result, case_rng
from campaigns.processes import run_measured

LIMIT = 300.0
MAX_SECONDS, MAX_MEMORY = 10.0, 1 << 30
MEGABYTE = 1 << 20


def _repeat(path: Path, piece: bytes, megabytes: int, head: bytes = b"", opener: Callable[..., Any] = open) -> None:
    """Write a head, and a piece over and over."""
    with opener(path, "wb") as file:
        file.write(head)
        for _ in range(megabytes):
            file.write(piece * (MEGABYTE // len(piece)))


def _packed(piece: bytes, head: bytes = b"", opener: Callable[..., Any] = gzip.open) -> Callable[[Path], None]:
    return partial(_repeat, piece=piece, megabytes=400, head=head, opener=opener)


def _columns(path: Path, d: int, cell: str) -> None:
    names, row = ",".join(f"c{j}" for j in range(d)), ",".join([cell] * d)
    path.write_text(f"{names}\n{row}\n{row}\n{row}\n")


def _attributes(path: Path) -> None:
    path.write_text("@relation x\n" + "".join(f"@attribute a{j} numeric\n" for j in range(10**6)) + "@data\n1,2\n")


def _array_header(path: Path, header: str, size: int | None = None) -> None:
    text = header.encode() + b"\n"
    path.write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", size or len(text)) + text + bytes(800))


def _parquet(path: Path) -> None:
    """Write a hundred million zeros in few bytes, all in one row group."""
    import polars as pl

    pl.select(a=pl.repeat(0.0, 10**8), b=pl.repeat(1.0, 10**8)).write_parquet(path, row_group_size=10**8)


def _sheet(path: Path, content: Callable[[BinaryIO], None]) -> None:
    """Write an Excel file around the rows of one sheet."""
    kind = "http://schemas.openxmlformats.org"
    relation = f"{kind}/officeDocument/2006/relationships"
    parts = {
        "_rels/.rels": f'<Relationships xmlns="{kind}/package/2006/relationships"><Relationship Id="r" '
        f'Type="{relation}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{kind}/spreadsheetml/2006/main" xmlns:r="{relation}"><sheets>'
        '<sheet name="S" sheetId="1" r:id="r"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{kind}/package/2006/relationships"><Relationship Id="r" '
        f'Type="{relation}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
        with archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as part:
            part.write(f'<worksheet xmlns="{kind}/spreadsheetml/2006/main"><sheetData>'.encode())
            content(cast("BinaryIO", part))
            part.write(b"</sheetData></worksheet>")


def _blanks(part: BinaryIO) -> None:
    for _ in range(400):
        part.write(b" " * MEGABYTE)


def _far_cell(part: BinaryIO) -> None:
    part.write(b'<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>')


BOMBS: dict[str, Callable[[Path], None]] = {
    "rows.csv.gz": _packed(b"1,2,3\n", b"a,b,c\n"),
    "digits.csv.gz": _packed(b"0"),
    "digits.csv.bz2": _packed(b"0", opener=bz2.open),
    "digits.csv.xz": _packed(b"0", opener=partial(lzma.open, preset=1)),
    "separators.csv.gz": _packed(b","),
    "blank-lines.csv.gz": _packed(b"\n", b"a,b\n1,2\n"),
    "zero-bytes.csv.gz": _packed(b"\0"),
    "open-quote.csv.gz": _packed(b"x,1\n", b'a,b\n1,2\n"'),
    "open-quote.csv": partial(_repeat, piece=b"x,1\n", megabytes=100, head=b'a,b\n1,2\n"'),
    "million-columns.csv": partial(_columns, d=10**6, cell="1"),
    "text-columns.csv": partial(_columns, d=10**5, cell="AG"),
    "attributes.arff": _attributes,
    "deep.json": lambda path: _write(path, "[" * 10**5 + "]" * 10**5),
    "deep-objects.ndjson": lambda path: _write(path, ('{"a":' * 10**5 + "1" + "}" * 10**5 + "\n") * 2),
    "huge.npy": partial(_array_header, header="{'descr': '<f8', 'fortran_order': False, 'shape': (10**15, 2), }"),
    "nested.npy": partial(_array_header, header="(" * 60_000),
    "long-header.npy": partial(_array_header, header="{'descr': '<f8'}", size=4 * 10**9),
    "program.npy": partial(_array_header, header="{'descr': '<f8', 'shape': (__import__('os').getpid(), 2)}"),
    "zeros.parquet": _parquet,
    "blanks.xlsx": partial(_sheet, content=_blanks),
    "far-cell.xlsx": partial(_sheet, content=_far_cell),
}
"""The files, by their names, and what writes them."""


def _write(path: Path, text: str) -> None:
    path.write_text(text)


def describe(seed: int, number: int) -> str:
    """Return the command that repeats a case."""
    name = list(BOMBS)[number % len(BOMBS)]
    return f"python -m campaigns bombs --seed {seed} --first {number} --cases 1 --show  # {name}"


def run_case(seed: int, number: int) -> Result:
    """Write a file and fit it; the model is drawn."""
    name = list(BOMBS)[number % len(BOMBS)]
    model = str(case_rng(seed, number).choice(["pca", "kde", "mix"]))
    with tempfile.TemporaryDirectory() as folder:
        BOMBS[name](Path(folder) / name)
        used = run_measured([sys.executable, "-m", "eigenlens", "fit", model, name, "--json"], Path(folder))
    outcome, words = _judge(used.printed, name)
    if used.seconds > MAX_SECONDS or used.memory > MAX_MEMORY:
        outcome = Outcome.HANG if used.seconds > MAX_SECONDS else Outcome.WRONG
    detail = f"{used.seconds:.1f} s of processor time, {used.memory / 1e6:.0f} MB: {words}"
    return Result(outcome, describe(seed, number), detail)


def _judge(printed: str, name: str) -> tuple[Outcome, str]:
    """Return whether the command printed a result, or an error about the file."""
    try:
        found = json.loads(printed)
    except json.JSONDecodeError:
        return Outcome.CRASH, "the command printed nothing"
    if "error" not in found:
        return Outcome.OK, "fitted"
    if "fault in eigenlens" in found["error"]:
        return Outcome.FOREIGN, found["error"]
    return (Outcome.CLEAR if name in found["error"] or "column" in found["error"] else Outcome.VAGUE), found["error"]
