"""Known formats that are not read: what they are, and the command that converts them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from eigenlens.data.files.decompress import COMPRESSED
from eigenlens.errors import DataError

LARGEST = 'max((a for a in {arrays} if getattr(a, "ndim", 0) == 2), key=lambda a: a.size)'
"""Python for the largest matrix among some arrays."""

PYTHON = {
    ".npz": ("several arrays of NumPy", "import numpy as np; np.save({npy}, " + LARGEST.format(
        arrays="np.load({path}).values()") + ")"),
    ".mat": ("a file of MATLAB", "import numpy as np, scipy.io as s; np.save({npy}, " + LARGEST.format(
        arrays="s.loadmat({path}).values()") + ")"),
    ".mtx": ("a matrix of Matrix Market, in files of 10x with genes as rows",
             "import numpy as np, scipy.io as s; m = s.mmread({path}); "
             'np.save({npy}, m.toarray() if hasattr(m, "toarray") else m)'),
    ".loom": ("a loom file", 'import h5py, numpy as np; np.save({npy}, h5py.File({path})["matrix"][:].T)'),
    ".fcs": ("a file of flow cytometry", "import flowio, polars as pl; f = flowio.FlowData({path}); "
             "pl.DataFrame(f.as_array(), schema=f.pnn_labels).write_parquet({parquet})"),
    ".html": ("a web page, of which this takes the first table",
              "import pandas as pd; pd.read_html({path})[0].to_csv({csv}, index=False)"),
    ".xml": ("XML", "import pandas as pd; pd.read_xml({path}).to_csv({csv}, index=False)"),
    ".pkl": ("a pickle, which can run any program: convert it only if you trust it",
             "import pandas as pd; pd.DataFrame(pd.read_pickle({path})).to_parquet({parquet})"),
}  # fmt: skip
"""Formats that a line of Python converts; the largest matrix is taken where there are several."""

R = {
    ".rds": 'write.csv(as.data.frame(readRDS({path})), {csv})',
    ".rda": 'e <- new.env(); n <- load({path}, e); write.csv(as.data.frame(e[[n[1]]]), {csv})',
}  # fmt: skip
"""Formats that a line of R converts."""

PROGRAMS = {
    ".biom": ("a BIOM table; the text made of it is read with {transpose}",
              "biom convert -i {path} -o {tsv} --to-tsv"),
}  # fmt: skip
"""Formats that another program converts."""

READ_COMPRESSED = (".mtx", ".vcf")
"""Formats that are converted as they are, though they are compressed."""

ALIASES = {".htm": ".html", ".pickle": ".pkl", ".joblib": ".pkl", ".rdata": ".rda"}

PACKED = {".zip": "unzip {name}", ".zst": "zstd -d {name}", ".7z": "7z x {name}", ".tar": "tar xf {name}",
          ".tgz": "tar xzf {name}", ".lz4": "lz4 -d {name}", ".br": "brotli -d {name}",
          ".z": "uncompress {name}"}  # fmt: skip
"""Archives, and the command that unpacks them."""

PLINK_FLAGS = {".vcf": "--vcf", ".bcf": "--bcf", ".bgen": "--bgen", ".pgen": "--pfile", ".ped": "--pedmap"}
"""Formats of genotypes that PLINK 2 converts, and its option; .pgen is read by `GenotypePCA` alone."""

OTHERS = {
    ".raw": ("may be genotypes of PLINK, as text", "name a copy as text: cp {name} {stem}.txt"),
    ".numbers": ("is a spreadsheet of Numbers", "export it as CSV or Excel, and name that file"),
    ".safetensors": ("is a model, and a table is needed", "give the model first, and a data file after it"),
}


def _genotypes_error(path: Path, suffix: str) -> DataError:
    stem = str(path).removesuffix(".gz").removesuffix(suffix)
    given = stem if suffix in (".pgen", ".ped") else str(path)
    alleles = ["ref-first"] if suffix == ".bgen" else []
    command = ["plink2", PLINK_FLAGS[suffix], given, *alleles, "--max-alleles", "2", "--make-bed", "--out", stem]
    what = "holds genotypes, of which .bed files are read" + (" as a table" if suffix == ".pgen" else "")
    return DataError(f"'{path}' {what}", fix=f"convert it: {shlex.join(command)}")


LIBSVM = re.compile(rb"([+-]?[0-9.]+( +[0-9]+:[-+.0-9eE]+){2,} *\r?\n){2}")


def reject_libsvm(path: Path, head: bytes) -> None:
    """Raise for a text that starts with a class and numbered entries in each line, as LIBSVM writes them."""
    if LIBSVM.match(head):
        names = [json.dumps(str(each), ensure_ascii=False) for each in (path, path.with_suffix(".npy"))]
        code = "import numpy as np, sklearn.datasets as d; X, y = d.load_svmlight_file({}); np.save({}, X.toarray())"
        what = f"'{path}' has numbered entries such as 1:0.5, as LIBSVM writes them, and no columns"
        raise DataError(what, fix=f"convert it: {shlex.join(['python', '-c', code.format(*names)])}")


def unknown_format(path: Path, known: list[str]) -> DataError:
    """Return the error for a file of a format that is not read; `known`: the suffixes of those that are."""
    inner = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    stem = inner if inner.suffix.lower() in READ_COMPRESSED else path
    suffix = ALIASES.get(stem.suffix.lower(), stem.suffix.lower())
    if suffix in PLINK_FLAGS:
        return _genotypes_error(path, suffix)
    names = {kind: str(stem.with_suffix(f".{kind}")) for kind in ("npy", "parquet", "csv", "tsv")}
    names |= {"path": str(path)}
    # JSON quotes with double marks, which need no escape in the single ones of the shell.
    quoted = {kind: json.dumps(name, ensure_ascii=False) for kind, name in names.items()}
    if suffix in PYTHON:
        what, code = PYTHON[suffix]
        return DataError(
            f"'{path}' is {what}", fix=f"convert it: {shlex.join(['python', '-c', code.format(**quoted)])}"
        )
    if suffix in PROGRAMS:
        what, command = PROGRAMS[suffix]
        words = [word.format(**names) for word in command.split()]
        settings = {"transpose": True} if "{transpose}" in what else {}
        return DataError(f"'{path}' is {what}", fix=f"convert it: {shlex.join(words)}", settings=settings)
    if suffix in R:
        command = shlex.join(["Rscript", "-e", R[suffix].format(**quoted)])
        return DataError(f"'{path}' is a file of R", fix=f"convert it: {command}")
    if suffix in PACKED or suffix in COMPRESSED:
        only = f"; only CSV may be compressed, as {', '.join(COMPRESSED)}"
        command_line = PACKED.get(suffix, "gunzip {name}").format(name=shlex.quote(str(path)))
        return DataError(f"'{path}' is packed in a way that is not read", fix=f"unpack it first: {command_line}{only}")
    return _unread(path, suffix, known)


def _unread(path: Path, suffix: str, known: list[str]) -> DataError:
    """Return the error for a file that no program here converts."""
    usual = (
        "if it is text, name a copy so: cp {name} {stem}.txt; otherwise write it in a format that is read: "
        f"{', '.join(known)}"
    )
    named = {"name": shlex.quote(str(path)), "stem": shlex.quote(str(path.with_suffix("")))}
    what, fix = OTHERS.get(suffix, ("has no known suffix", f"{usual}, and {', '.join(COMPRESSED)} after a text one"))
    return DataError(f"'{path}' {what}", fix=fix.format(**named))
