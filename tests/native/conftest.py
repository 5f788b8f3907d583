"""Every instruction set that this processor has, one after the other."""

from __future__ import annotations

import pytest

from eigenlens.native import runtime


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def instructions(request):
    if runtime.kernels is None:
        pytest.skip("the kernels were not built here")
    before = runtime.active()
    try:
        runtime.kernels.set_isa(request.param)
    except ValueError:
        pytest.skip(f"this processor has no {request.param}")
    yield request.param
    runtime.kernels.set_isa(before)
