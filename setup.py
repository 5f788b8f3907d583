"""Only what pyproject.toml cannot say: the C++ kernels are optional.

Without a compiler the extension is skipped with a warning, and the NumPy twins do the work.
"""

import glob
import os

from pybind11.setup_helpers import Pybind11Extension, build_ext
from setuptools import setup

kernels = Pybind11Extension(
    "eigenlens.native._kernels",
    ["src/eigenlens/native/src/module.cpp"],
    depends=sorted(glob.glob("src/eigenlens/native/src/*.hpp")),
    cxx_std=17,
    extra_compile_args=[] if os.name == "nt" else ["-O3", "-pthread"],
    extra_link_args=[] if os.name == "nt" else ["-pthread"],
)
kernels.optional = True

setup(ext_modules=[kernels], cmdclass={"build_ext": build_ext})
