"""Only what pyproject.toml cannot say: the C++ kernels are optional.

Without a compiler the extension is skipped with a warning, and the NumPy twins do the work.
"""

import glob
import os
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCES = "src/eigenlens/native/src"
SLOWEST = ("incomplete_rows/driver.cpp", "kde/space_driver.cpp", "mixture/driver.cpp")
"""The translation units that take longest start first, so that no processor waits for one of them in the end."""


def in_order(path: str) -> tuple[bool, str]:
    return not path.endswith(SLOWEST), path


STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")
"""Whether one binary serves all versions of Python from 3.11 on: not yet those without the interpreter's lock."""

INLINE = ["--param", "inline-unit-growth=200"]
FLAGS = {"bindings.cpp": ["-O1"], "incomplete_rows/driver.cpp": INLINE, "mixture/driver.cpp": INLINE}
"""Flags of single files, for GCC and clang (which ignores --param).

The bindings only pass pointers on: optimising them takes time and saves next to none. The two drivers are so small that
GCC stops inlining too early, which costs up to 40% of the speed on rows of few columns.
"""

gcc = os.name != "nt"  # elsewhere the kernels do not compile: they use vector extensions of GCC
kernels = Extension(
    "eigenlens.native._kernels",
    sorted(glob.glob(f"{SOURCES}/**/*.cpp", recursive=True), key=in_order),
    depends=sorted(glob.glob(f"{SOURCES}/**/*.hpp", recursive=True)),
    include_dirs=[SOURCES],
    define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
    py_limited_api=STABLE,
    extra_compile_args=["-std=c++17", "-O3", "-g0", "-fvisibility=hidden", "-pthread"] if gcc else [],
    extra_link_args=["-pthread"] if gcc else [],
    optional=True,
)


class BuildKernels(build_ext):
    """One compiler process per processor, with the flags of each file."""

    def build_extensions(self) -> None:
        compile_files = self.compiler.compile

        def compile_each(sources: list[str], extra_postargs: list[str], **options: Any) -> list[str]:
            def compile_one(source: str) -> list[str]:
                own = [flag for name, flags in FLAGS.items() if gcc and source.endswith(f"/{name}") for flag in flags]
                return compile_files([source], extra_postargs=[*extra_postargs, *own], **options)

            with ThreadPoolExecutor(os.cpu_count()) as processors:
                return [made for objects in processors.map(compile_one, sources) for made in objects]

        # Python would take a module of its own version, as they were built before, instead of the one of all versions.
        for folder in ("src", self.build_lib):
            for old in glob.glob(f"{folder}/eigenlens/native/_kernels.cpython-*"):
                os.remove(old)
        self.compiler.compile = compile_each
        super().build_extensions()


# The Makefile builds the kernels in place first, beside the download of libraries, and then installs without them.
wanted = os.environ.get("EIGENLENS_BUILD_KERNELS", "1") != "0"
setup(
    ext_modules=[kernels] if wanted else [],
    cmdclass={"build_ext": BuildKernels},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
