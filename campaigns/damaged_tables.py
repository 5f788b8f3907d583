"""Tables of every format, damaged: flipped bits, cut ends, foreign bytes, numbers of the header changed.

A case ends well if the rows are fitted, or if an error of the package says what is wrong with the file, within ten
seconds and a gigabyte. Every second case goes through the command line, which must not call it its own fault.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from campaigns.base import Outcome, Result, case_rng, judge_error
from campaigns.processes import peak_memory

LIMIT = 10.0
MAX_MEMORY = 1 << 30

Rng = np.random.Generator


def describe(seed: int, number: int) -> str:
    """Return the line of Python that repeats a case."""
    return f"from campaigns import damaged_tables; print(damaged_tables.run_case({seed}, {number}))"


def warm_up() -> None:
    """Load what the cases need, which is not part of the time of the first."""
    import eigenlens
    import eigenlens.cli.commands.fit

    eigenlens.PCA(1, missing="em").fit(np.array([[1.0, 2.0], [2.0, np.nan], [0.0, 3.0]]))


def run_case(seed: int, number: int) -> Result:
    """Write a table, damage it, and read it again."""
    rng, call = case_rng(seed, number), describe(seed, number)
    suffix = list(FORMATS)[int(rng.integers(len(FORMATS)))]
    damage = list(DAMAGES)[int(rng.integers(len(DAMAGES)))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table{suffix}")
        FORMATS[suffix](path, _table(rng), lambda content: DAMAGES[damage](content, rng))
        outcome, detail = (_fit_by_command if number % 2 else _fit)(path)
    peak = peak_memory()
    if outcome in (Outcome.OK, Outcome.CLEAR) and peak > MAX_MEMORY:
        outcome, detail = Outcome.CRASH, f"took {peak / 1e9:.2f} GB"
    return Result(outcome, call, f"{suffix}, {damage}: {detail}")


def _fit(path: Path) -> tuple[Outcome, str]:
    import eigenlens

    try:
        source = eigenlens.scan(path)
        source = eigenlens.scan(path, drop=["kind"]) if source.names and "kind" in source.names else source
        eigenlens.PCA(1, missing="em").fit(source)
    except Exception as error:
        return judge_error(error, [path.name, path.stem, "column", "n_components", "rows", "X"])
    return Outcome.OK, ""


def _fit_by_command(path: Path) -> tuple[Outcome, str]:
    from eigenlens.cli import main

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as shown:
        code = main(["fit", "pca", str(path), "-k", "1"])
    detail = f"exit code {code}: {shown.getvalue()[-300:]}"
    return {0: Outcome.OK, 1: Outcome.FOREIGN}.get(code, Outcome.CLEAR), detail


# ---- tables of every format -----------------------------------------------------------------------------------


def _table(rng: Rng) -> pl.DataFrame:
    n = int(rng.choice([3, 20, 200]))
    columns = {f"x{j}": rng.normal(size=n).round(3) for j in range(4)}
    frame = pl.DataFrame(columns).with_columns(kind=pl.Series(rng.choice(["a", "b", "c"], size=n)))
    return frame.with_columns(x0=pl.when(pl.int_range(n) % 7 == 2).then(None).otherwise(pl.col("x0")))


Damage = Callable[[bytes], bytes]


def _write_text(path: Path, table: pl.DataFrame, damage: Damage) -> None:
    path.write_bytes(damage(table.write_csv(separator="\t" if path.suffix == ".tsv" else ",").encode()))


def _write_packed(path: Path, table: pl.DataFrame, damage: Damage) -> None:
    """Write compressed text: half of the time damaged inside, so that its checksum is right."""
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[path.suffix]
    text = table.write_csv().encode()
    path.write_bytes(pack(damage(text)) if len(text) % 2 else damage(pack(text)))


def _write_columns(path: Path, table: pl.DataFrame, damage: Damage) -> None:
    target = io.BytesIO()
    (table.write_parquet if path.suffix == ".parquet" else table.write_ipc)(target)
    path.write_bytes(damage(target.getvalue()))


def _write_array(path: Path, table: pl.DataFrame, damage: Damage) -> None:
    target = io.BytesIO()
    np.save(target, table.drop("kind").to_numpy())
    path.write_bytes(damage(target.getvalue()))


def _write_json(path: Path, table: pl.DataFrame, damage: Damage) -> None:
    records = table.to_dicts()
    text = "\n".join(map(json.dumps, records)) if path.suffix == ".ndjson" else json.dumps(records)
    path.write_bytes(damage(text.encode()))


def _write_arff(path: Path, table: pl.DataFrame, damage: Damage) -> None:
    names = "".join(f"@attribute {name} {'{a,b,c}' if name == 'kind' else 'numeric'}\n" for name in table.columns)
    rows = table.fill_null(float("nan")).write_csv(include_header=False).replace("NaN", "?")
    path.write_bytes(damage(f"@relation t\n{names}@data\n{rows}".encode()))


def _write_sheet(path: Path, table: pl.DataFrame, damage: Damage) -> None:
    """Write an Excel file: half of the time one of its parts is damaged, else the archive."""
    target = io.BytesIO()
    parts = {name: text.encode() for name, text in EXCEL_PARTS.items()} | {"xl/worksheets/sheet1.xml": _sheet(table)}
    inside = len(table) % 2 == 0
    chosen = list(parts)[len(damage(b"0123456789")) % len(parts)] if inside else None
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, damage(content) if name == chosen else content)
    path.write_bytes(target.getvalue() if inside else damage(target.getvalue()))


def _sheet(table: pl.DataFrame) -> bytes:
    rows = [table.columns, *table.rows()]
    lines = "".join(
        f'<row r="{r}">{"".join(_cell(f"{chr(65 + c)}{r}", value) for c, value in enumerate(row))}</row>'
        for r, row in enumerate(rows, 1)
    )
    return f'<worksheet xmlns="{SHEET}"><sheetData>{lines}</sheetData></worksheet>'.encode()


def _cell(place: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
EXCEL_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" '
    'ContentType="application/xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
    f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{RELATIONS}"><sheets><sheet name="s" sheetId="1" '
    'r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
    f'Type="{RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}


def _write_statistics(path: Path, table: pl.DataFrame, damage: Damage) -> None:
    import pyreadstat

    write = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta, ".por": pyreadstat.write_por}[path.suffix]
    write(table, str(path))
    path.write_bytes(damage(path.read_bytes()))


def _write_genotypes(path: Path, table: pl.DataFrame, damage: Damage) -> None:
    """Write calls of ten variants, with one of the three files damaged."""
    people, width = len(table), -(-len(table) // 4)
    parts = {
        ".bed": b"\x6c\x1b\x01" + bytes(range(17, 17 + 10)) * width,
        ".bim": b"".join(b"1\trs%d\t0\t%d\tA\tC\n" % (j, j) for j in range(10)),
        ".fam": b"".join(b"f%d p%d 0 0 1 -9\n" % (i, i) for i in range(people)),
    }
    damaged = list(parts)[people % 3]
    for suffix, content in parts.items():
        path.with_suffix(suffix).write_bytes(damage(content) if suffix == damaged else content)


FORMATS: dict[str, Callable[[Path, pl.DataFrame, Damage], None]] = {
    ".csv": _write_text, ".tsv": _write_text, ".csv.gz": _write_packed, ".csv.bz2": _write_packed,
    ".csv.xz": _write_packed, ".parquet": _write_columns, ".arrow": _write_columns, ".npy": _write_array,
    ".json": _write_json, ".ndjson": _write_json, ".arff": _write_arff, ".xlsx": _write_sheet,
    ".sav": _write_statistics, ".dta": _write_statistics, ".por": _write_statistics, ".bed": _write_genotypes,
}  # fmt: skip


# ---- damages --------------------------------------------------------------------------------------------------


def _flip(content: bytes, rng: Rng) -> bytes:
    """Flip one to twenty bits."""
    damaged = bytearray(content)
    for place in rng.integers(len(damaged), size=int(rng.integers(1, 20))):
        damaged[place] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def _flip_header(content: bytes, rng: Rng) -> bytes:
    """Flip bits of the first or the last 200 bytes, where most formats say how they are laid out."""
    head, tail = content[:200], content[-200:]
    return _flip(head, rng) + content[200:] if rng.random() < 0.5 else content[:-200] + _flip(tail, rng)


def _cut(content: bytes, rng: Rng) -> bytes:
    return content[: int(rng.integers(1, len(content)))]


def _insert(content: bytes, rng: Rng) -> bytes:
    place = int(rng.integers(len(content)))
    return content[:place] + NASTY[int(rng.integers(len(NASTY)))] + content[place:]


def _overwrite(content: bytes, rng: Rng) -> bytes:
    """Write the largest, the smallest or a random integer over some bytes."""
    place, size = int(rng.integers(len(content))), int(rng.choice([1, 2, 4, 8]))
    value = [b"\xff" * size, b"\0" * size, b"\xff" * (size - 1) + b"\x7f", rng.bytes(size)][int(rng.integers(4))]
    return content[:place] + value + content[place + size :]


def _repeat(content: bytes, rng: Rng) -> bytes:
    start, stop = sorted(int(each) for each in rng.integers(len(content), size=2))
    return content[:stop] + content[start:stop] * int(rng.choice([1, 3, 50])) + content[stop:]


def _remove(content: bytes, rng: Rng) -> bytes:
    start = int(rng.integers(len(content)))
    return content[:start] + content[start + int(rng.integers(1, 60)) :]


def _enlarge_number(content: bytes, rng: Rng) -> bytes:
    """Make one of the numbers that are written as text very large."""
    places = [place for place in range(len(content)) if content[place : place + 1].isdigit()]
    place = places[int(rng.integers(len(places)))] if places else 0
    return content[:place] + rng.choice([b"9" * 12, b"1e999", b"-1", b"9" * 400, b"99999999"]) + content[place + 1 :]


DAMAGES: dict[str, Callable[[bytes, Rng], bytes]] = {
    "bits": _flip, "bits of the header": _flip_header, "cut": _cut, "inserted": _insert, "overwritten": _overwrite,
    "repeated": _repeat, "removed": _remove, "large number": _enlarge_number,
}  # fmt: skip

NASTY = [
    b'"', b"\0", b"\r", b"\n\n\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xe2\x80\xae", b",,,,", b"\x1b[2J", b"1" * 400,
    b"inf", b"-nan(0x7)", b"1e-400", b"[" * 3000, b"{" * 3000, b'"' * 999, b"\xc0\xaf", b"=cmd|'x'!A0", b"<", b"&a;",
    b"\x80" * 64, "١٢٣".encode(), b"0x1F", b"1_000", b"TRUE", b"'", b"\\", b"\t", b";", b"#",
]  # fmt: skip
"""Bytes that parsers stumble over."""

warm_up()
