"""Only what pyproject.toml cannot say: the C++ kernels are optional.

Without a compiler the extension is skipped with a warning, and the NumPy twins do the work.
"""

import glob
import os

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension, build_ext
from setuptools import setup

SOURCES = "src/eigenlens/native/src"
SLOWEST = ("bindings.cpp", "incomplete_rows/driver.cpp", "kde/space_driver.cpp")
"""The translation units that take longest start first, so that no processor waits for one of them in the end."""


def in_order(path: str) -> tuple[bool, str]:
    return not path.endswith(SLOWEST), path


kernels = Pybind11Extension(
    "eigenlens.native._kernels",
    sorted(glob.glob(f"{SOURCES}/**/*.cpp", recursive=True), key=in_order),
    depends=sorted(glob.glob(f"{SOURCES}/**/*.hpp", recursive=True)),
    include_dirs=[SOURCES],
    cxx_std=17,
    extra_compile_args=[] if os.name == "nt" else ["-O3", "-g0", "-pthread"],
    extra_link_args=[] if os.name == "nt" else ["-pthread"],
)
kernels.optional = True


INLINE = ["--param", "inline-unit-growth=200"]
FLAGS = {"bindings.cpp": ["-O1"], "incomplete_rows/driver.cpp": INLINE, "mixture/driver.cpp": INLINE}
"""Flags of single files, for GCC and clang (which ignores --param).

The bindings only pass pointers on: optimising them takes seconds and saves some 0.05 µs per call. The two drivers are
so small that GCC stops inlining too early, which costs up to 40% of the speed on rows of few columns.
"""


class BuildKernels(build_ext):
    """Adds the flags of single files."""

    def build_extensions(self) -> None:
        compile_file = self.compiler._compile

        def compile_with_flags(
            obj: str, src: str, ext: str, cc_args: list[str], extra: list[str], pp: list[str]
        ) -> None:
            own = [flag for name, flags in FLAGS.items() if src.endswith(f"/{name}") for flag in flags]
            compile_file(obj, src, ext, cc_args, [*extra, *own], pp)

        if os.name != "nt":
            self.compiler._compile = compile_with_flags
        super().build_extensions()


# One compiler process per processor, and no translation unit compiled again that has not changed.
ParallelCompile(default=0).install()

# The Makefile builds the kernels in place first, beside the download of libraries, and then installs without them.
wanted = os.environ.get("EIGENLENS_BUILD_KERNELS", "1") != "0"
setup(ext_modules=[kernels] if wanted else [], cmdclass={"build_ext": BuildKernels})
