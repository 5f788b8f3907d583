"""Every instruction set that this processor has, one after the other."""

from __future__ import annotations

import pytest

from eigenlens import native as compiled


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def instructions(request):
    if compiled.kernels is None:
        pytest.skip("the kernels were not built here")
    before = compiled.active()
    try:
        compiled.kernels.set_isa(request.param)
    except ValueError:
        pytest.skip(f"this processor has no {request.param}")
    yield request.param
    compiled.kernels.set_isa(before)
