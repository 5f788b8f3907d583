"""Versions of the installed libraries, and the compiled kernels and threads in use."""

from __future__ import annotations

import platform
from importlib import metadata

from eigenlens.native.runtime import active
from eigenlens.resources import thread_count

LIBRARIES = (
    "eigenlens", "numpy", "scipy", "scikit-learn", "safetensors", "narwhals", "polars", "pyarrow", "pandas",
    "matplotlib", "dask", "distributed", "torch", "array-api-compat", "rich",
)  # fmt: skip


def show_versions() -> None:
    """Print the versions of the libraries, the kernels in use and the number of threads."""
    print(f"python            {platform.python_version()} on {platform.machine()}")
    for library in LIBRARIES:
        try:
            print(f"{library:<17} {metadata.version(library)}")
        except metadata.PackageNotFoundError:
            print(f"{library:<17} not installed")
    kernels = active()
    print(f"kernels           {'NumPy (no compiled kernels)' if kernels == 'numpy' else 'C++, ' + kernels}")
    print(f"threads           {thread_count()}")
