"""Known formats that are not read: what they are, and the command that converts them."""

from __future__ import annotations

import json
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
    ".h5ad": ("AnnData", "import anndata; "
              'anndata.read_h5ad({path}).to_df().reset_index(names="row").to_parquet({parquet})'),
    ".h5": ("HDF5", "import h5py, numpy as np; found = []; file = h5py.File({path}); "
            "file.visititems(lambda name, item: found.append(item) if isinstance(item, h5py.Dataset) else None); "
            "np.save({npy}, " + LARGEST.format(arrays="found") + ")"),
    ".zarr": ("a Zarr store", 'import zarr, numpy as np; z = zarr.open({path}, mode="r"); '
              'np.save({npy}, z[:] if hasattr(z, "ndim") else ' + LARGEST.format(
                  arrays="[a for _, a in z.arrays()]") + ")"),
    ".pkl": ("a pickle, which can run any program: convert it only if you trust it",
             "import pandas as pd; pd.DataFrame(pd.read_pickle({path})).to_parquet({parquet})"),
}  # fmt: skip
"""Formats that a line of Python converts; the largest matrix is taken where there are several."""

R = {
    ".rds": 'write.csv(as.data.frame(readRDS({path})), {csv})',
    ".rda": 'e <- new.env(); n <- load({path}, e); write.csv(as.data.frame(e[[n[1]]]), {csv})',
}  # fmt: skip
"""Formats that a line of R converts."""

ALIASES = {".hdf5": ".h5", ".hdf": ".h5", ".pickle": ".pkl", ".joblib": ".pkl", ".rdata": ".rda"}

PACKED = {".zip": "unzip {name}", ".zst": "zstd -d {name}", ".7z": "7z x {name}", ".tar": "tar xf {name}",
          ".tgz": "tar xzf {name}", ".lz4": "lz4 -d {name}", ".br": "brotli -d {name}",
          ".z": "uncompress {name}"}  # fmt: skip
"""Archives, and the command that unpacks them."""

OTHERS = {
    ".numbers": ("is a spreadsheet of Numbers", "export it as CSV or Excel, and name that file"),
    ".safetensors": ("is a model, and a table is needed", "give the model first, and a data file after it"),
}


def unknown_format(path: Path, known: list[str]) -> DataError:
    """Return the error for a file of a format that is not read; `known`: the suffixes of those that are."""
    suffix = ALIASES.get(path.suffix.lower(), path.suffix.lower())
    names = {kind: str(path.with_suffix(f".{kind}")) for kind in ("npy", "parquet", "csv")}
    # JSON quotes with double marks, which need no escape in the single ones of the shell.
    quoted = {kind: json.dumps(name, ensure_ascii=False) for kind, name in (names | {"path": str(path)}).items()}
    if suffix in PYTHON:
        what, code = PYTHON[suffix]
        return DataError(
            f"'{path}' is {what}", fix=f"convert it: {shlex.join(['python', '-c', code.format(**quoted)])}"
        )
    if suffix in R:
        command = shlex.join(["Rscript", "-e", R[suffix].format(**quoted)])
        return DataError(f"'{path}' is a file of R", fix=f"convert it: {command}")
    if suffix in PACKED or suffix in COMPRESSED:
        only = f"; only CSV may be compressed, as {', '.join(COMPRESSED)}"
        command_line = PACKED.get(suffix, "gunzip {name}").format(name=shlex.quote(str(path)))
        return DataError(f"'{path}' is packed in a way that is not read", fix=f"unpack it first: {command_line}{only}")
    usual = f"write it in a format that is read, or rename it if it is in one: {', '.join(known)} are read"
    what, fix = OTHERS.get(suffix, ("has no known suffix", f"{usual}, and {', '.join(COMPRESSED)} after a text one"))
    return DataError(f"'{path}' {what}", fix=fix)
