"""Kernels in Triton's language; imported only where Triton and a CUDA device are.

Tensor cores multiply 16-bit floats exactly and add in 32 bits, but truncate their sums instead of rounding them: long
sums are therefore taken in short runs, which are added outside. Matrices come in halves (see `halves`).
"""

from __future__ import annotations

from typing import Any

try:
    import triton.language as tl
    from triton import jit
except ImportError:  # the module can then be read, and nothing in it be run

    def jit(function: Any) -> Any:
        """Return a function unchanged."""
        return function


@jit
def split_rows(
    X, centre, scale, root, high, low, sums, n, d, stride_n, stride_d, width,
    WEIGHTED: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Write halves (·, width) of (x − centre) root scale, zeros beyond n and d, and the column sums of row blocks."""
    block = tl.program_id(0)
    rows = block.to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (rows < n)[:, None] & (columns < d)[None, :]
    x = tl.load(X + rows[:, None] * stride_n + columns[None, :].to(tl.int64) * stride_d, mask=inside, other=0.0)
    x = tl.where(inside, x - tl.load(centre + columns, mask=columns < d, other=0.0)[None, :], 0.0)
    if WEIGHTED:
        w = tl.load(root + rows, mask=rows < n, other=0.0)[:, None]
        x = tl.where(w > 0.0, x * w, 0.0)
        tl.store(sums + block * width + columns, tl.sum(x * w, axis=0))
    else:
        tl.store(sums + block * width + columns, tl.sum(x, axis=0))
    x = x * tl.load(scale + columns, mask=columns < d, other=0.0)[None, :]
    h = x.to(tl.float16)
    place = rows[:, None] * width + columns[None, :]
    tl.store(high + place, h)
    tl.store(low + place, (x - h.to(tl.float32)).to(tl.float16))


@jit
def multiply_halves(
    high, low, out, tile_i, tile_j, width, part_rows,
    SIDE: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Write tiles on and above the diagonal of (high + low)ᵀ(high + low), for each part of the rows, to out.

    Small products come first, so that the truncation of their sums is not felt; and since each run begins with them,
    the compiler cannot move the last sum into the tensor cores.
    """
    t, part = tl.program_id(0), tl.program_id(1)
    i = tl.load(tile_i + t) * SIDE + tl.arange(0, SIDE)
    j = tl.load(tile_j + t) * SIDE + tl.arange(0, SIDE)
    total = tl.zeros((SIDE, SIDE), dtype=tl.float32)
    first = part.to(tl.int64) * part_rows
    for start in range(0, part_rows, DEPTH):
        rows = (first + start + tl.arange(0, DEPTH))[:, None] * width
        a, b = tl.load(high + rows + i[None, :]), tl.load(high + rows + j[None, :])
        run = tl.dot(tl.trans(a), tl.load(low + rows + j[None, :]))
        run = tl.dot(tl.trans(tl.load(low + rows + i[None, :])), b, run)
        total += tl.dot(tl.trans(a), b, run)
    place = part.to(tl.int64) * width * width + i[:, None] * width + j[None, :]
    tl.store(out + place, total)


@jit
def _load_halves(high, low, rows, inside, chunk, PRECISE: tl.constexpr, CHUNKS: tl.constexpr):
    """Return 64 features of some rows, of which there are 64 CHUNKS; low is high where it is not used."""
    place = rows[:, None].to(tl.int64) * (64 * CHUNKS) + (64 * chunk + tl.arange(0, 64))[None, :]
    h = tl.load(high + place, mask=inside, other=0.0)
    return h, tl.load(low + place, mask=inside, other=0.0) if PRECISE else h


@jit
def _add_dot_products(s, xh, xl, yh, yl, PRECISE: tl.constexpr):
    y = tl.trans(yh)
    if PRECISE:
        s = tl.dot(xl, y, s)
        s = tl.dot(xh, tl.trans(yl), s)
    return tl.dot(xh, y, s)


@jit
def _profile(s, x_norm, y_norm, factor, constant, size, RBF: tl.constexpr, DEGREE: tl.constexpr):
    """Return kernel values of dot products: powers of two of −|x − y|²/2, or a polynomial."""
    if RBF:
        k = tl.exp2(s * factor - x_norm - y_norm)
    else:
        base = s * factor + constant
        k = base * size
        for _ in tl.static_range(DEGREE - 1):
            k = k * base
    return k


@jit
def _add_product(total, k, q_high, q_low, place, PRECISE: tl.constexpr):
    """Return total + k q, with q in memory."""
    kh, qh = k.to(tl.float16), tl.load(q_high + place)
    if PRECISE:
        run = tl.dot((k - kh.to(tl.float32)).to(tl.float16), qh)
        run = tl.dot(kh, tl.load(q_low + place), run)
        total += tl.dot(kh, qh, run)
    else:
        total = tl.dot(kh, qh, total)
    return total


@jit
def multiply_kernel(
    x_high, x_low, x_norm, y_high, y_low, y_norm, q_high, q_low, out, n, m, first, part_points, factor, constant, size,
    RBF: tl.constexpr, DEGREE: tl.constexpr, PRECISE: tl.constexpr, CHUNKS: tl.constexpr, B: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Write K(X, Y) Q over each part of the points from `first` on to out (parts, n, B); no entry of K is stored."""
    rows, part = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.program_id(1)
    inside, columns = (rows < n)[:, None], tl.arange(0, B)
    xn = tl.load(x_norm + rows, mask=rows < n, other=0.0)[:, None]
    xh, xl = _load_halves(x_high, x_low, rows, inside, 0, PRECISE, CHUNKS)
    total = tl.zeros((ROWS, B), dtype=tl.float32)
    start = first + part * part_points
    for begin in range(start, tl.minimum(start + part_points, m), COLUMNS):
        points = begin + tl.arange(0, COLUMNS)
        every = (points >= 0)[:, None]
        yh, yl = _load_halves(y_high, y_low, points, every, 0, PRECISE, CHUNKS)
        s = _add_dot_products(tl.zeros((ROWS, COLUMNS), dtype=tl.float32), xh, xl, yh, yl, PRECISE)
        for chunk in tl.static_range(1, CHUNKS):  # unrolled: Triton 3.6 reads beyond its shared memory in a loop
            uh, ul = _load_halves(x_high, x_low, rows, inside, chunk, PRECISE, CHUNKS)
            yh, yl = _load_halves(y_high, y_low, points, every, chunk, PRECISE, CHUNKS)
            s = _add_dot_products(s, uh, ul, yh, yl, PRECISE)
        k = _profile(s, xn, tl.load(y_norm + points)[None, :], factor, constant, size, RBF, DEGREE)
        total = _add_product(total, k, q_high, q_low, points[:, None].to(tl.int64) * B + columns[None, :], PRECISE)
    tl.store(out + (part.to(tl.int64) * n + rows[:, None]) * B + columns[None, :], total, mask=inside)


@jit
def multiply_laplacian(
    X, Y, q_high, q_low, out, n, m, first, part_points, gamma, size,
    D: tl.constexpr, PRECISE: tl.constexpr, B: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Write size · 2^(−gamma |x − y|₁) Q, as `multiply_kernel` does, for rows X (D, n) and points Y (D, m)."""
    rows, part = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.program_id(1)
    inside, columns = rows < n, tl.arange(0, B)
    total = tl.zeros((ROWS, B), dtype=tl.float32)
    start = first + part * part_points
    for begin in range(start, tl.minimum(start + part_points, m), COLUMNS):
        points = begin + tl.arange(0, COLUMNS)
        s = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        x, y = X + rows, Y + points
        for _ in range(D):
            s += tl.abs(tl.load(x, mask=inside, other=0.0)[:, None] - tl.load(y)[None, :])
            x += n
            y += m
        k = size * tl.exp2(-gamma * s)
        total = _add_product(total, k, q_high, q_low, points[:, None].to(tl.int64) * B + columns[None, :], PRECISE)
    place = (part.to(tl.int64) * n + rows[:, None]) * B + columns[None, :]
    tl.store(out + place, total, mask=inside[:, None])


@jit
def _add_distances(s, x, y, x_step, y_step, inside, ABSOLUTE: tl.constexpr, D: tl.constexpr):
    """Return s and the distances of rows and points in D columns, each a sum of two float32 numbers, high and low.

    The high parts of near points differ by an exact number, so that no digits are lost.
    """
    for j in tl.static_range(D):
        u = tl.load(x + j * x_step, mask=inside, other=0.0)[:, None] - tl.load(y + j * y_step)[None, :]
        x_low = tl.load(x + (D + j) * x_step, mask=inside, other=0.0)[:, None]
        u += x_low - tl.load(y + (D + j) * y_step)[None, :]
        s += tl.abs(u) if ABSOLUTE else u * u
    return s


@jit
def add_exponentials(
    X, Y, weight, out, n, m, first, last,
    ABSOLUTE: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Write Σ w 2^−s of rows X (2D, n) over the points Y (2D, m) from first to last.

    s is |x − y|², or Σ |x_j − y_j| (ABSOLUTE), of differences: products would lose the digits of near points.
    """
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(first, last, COLUMNS):
        points = start + tl.arange(0, COLUMNS)
        s = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        s = _add_distances(s, X + rows, Y + points, n, m, inside, ABSOLUTE, D)
        total += tl.exp2(-s) * tl.load(weight + points)[None, :]
    tl.store(out + rows, tl.sum(total, axis=1), mask=inside)
