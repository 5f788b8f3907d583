"""What a case is asked to reach: a target looks at its results and says what was asked and whether it is met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import peers
from measure import Measured

Results = dict[str, Measured]


@dataclass(frozen=True)
class Verdict:
    """What was asked, what came, and whether the one meets the other; None where it was not measured."""

    asked: str
    came: str
    met: bool | None


Target = Callable[[Results, float], Verdict]
"""(results, bytes of the rows) → Verdict."""


def fastest(results: Results, name: str = "") -> Measured | None:
    """The peer of this name, or else the fastest whose name begins so; None if none ran."""
    ran = [r for r in results.values() if peers.is_peer(r.name) and r.times and r.name.startswith(name)]
    ran = [r for r in ran if r.name == name] or ran
    return min(ran, key=lambda result: result.seconds, default=None)


def ours(results: Results) -> Measured:
    """The contestant that the case is about: the first of ours."""
    return next(result for result in results.values() if peers.is_ours(result.name))


def faster(factor: float, than: str = "", who: str | None = None) -> Target:
    """At least `factor` times as fast as the fastest peer, or as the peer named."""

    def judge(results: Results, size: float) -> Verdict:
        peer, own = fastest(results, than), results[who] if who else ours(results)
        asked = f"{who + ': ' if who else ''}≥ {factor:g}× {than or 'best peer'}"
        if peer is None:
            return Verdict(asked, f"{than or 'no peer'} did not run", None)
        ratio = peer.seconds / own.seconds
        return Verdict(asked, f"{ratio:.2f}×", ratio >= factor)

    return judge


def slower_at_most(factor: float) -> Target:
    """At most `factor` times the time of the fastest peer."""

    def judge(results: Results, size: float) -> Verdict:
        peer, asked = fastest(results), f"time ≤ {factor:g}× best peer's"
        if peer is None:
            return Verdict(asked, "no peer ran", None)
        ratio = ours(results).seconds / peer.seconds
        return Verdict(asked, f"{ratio:.2f}×", ratio <= factor)

    return judge


def within(factor: float, name: str) -> Target:
    """At most `factor` times the time of the contestant of this name, be it a peer or the bare arithmetic."""

    def judge(results: Results, size: float) -> Verdict:
        ratio, asked = ours(results).seconds / results[name].seconds, f"time ≤ {factor:g}× {name}"
        return Verdict(asked, f"{ratio:.2f}×", None if np.isnan(ratio) else ratio <= factor)

    return judge


def linear(slack: float) -> Target:
    """At most `slack` times what the time of each part of the rows lets expect of all of them."""

    def judge(results: Results, size: float) -> Verdict:
        own, asked = ours(results), f"time linear in n, to {slack:g}×"
        ratios = [own.seconds / part.seconds for part in results.values() if part.fit.share < 1.0]
        came = ", ".join(f"{ratio:.2f}×" for ratio in ratios)
        return Verdict(asked, came or "no part ran", max(ratios) <= slack if ratios else None)

    return judge


def right(tolerance: float, who: str | None = None, *, singular: bool = False, what: str = "variances") -> Target:
    """Explained variances within a relative error; or singular values, whose error is half as large."""

    def judge(results: Results, size: float) -> Verdict:
        result = results[who] if who else ours(results)
        error = result.error / 2 if singular else result.error
        asked = f"{who + ': ' if who else ''}{'singular values' if singular else what} to {tolerance:g}"
        return Verdict(asked, f"{error:.1e}", bool(error <= tolerance))

    return judge


def lean(share: float = 0.1) -> Target:
    """Extra memory at most this share of the rows, or 64 MB of blocks."""

    def judge(results: Results, size: float) -> Verdict:
        extra = ours(results).extra
        if np.isnan(extra):
            return Verdict("no copy of X", "not measured", None)
        return Verdict("no copy of X", f"+{extra / 1e6:.0f} MB", bool(extra <= max(share * size, 64e6)))

    return judge


def beside(most: float) -> Target:
    """Extra memory at most this many bytes, however many rows there are."""

    def judge(results: Results, size: float) -> Verdict:
        extra, asked = ours(results).extra, f"at most {most / 1e6:.0f} MB more"
        return Verdict(asked, f"{extra / 1e6:+.0f} MB", None if np.isnan(extra) else bool(extra <= most))

    return judge


def kernel_memory(most: float, who: str | None = None, *, unit: str = "one Gram matrix") -> Target:
    """Extra memory at most this multiple of the kernel values that the fit is made of."""

    def judge(results: Results, size: float) -> Verdict:
        result = results[who] if who else ours(results)
        share, asked = result.extra / result.fit.kernel_bytes, f"{who + ': ' if who else ''}memory ≤ {most:g}× {unit}"
        return Verdict(asked, f"{share:.2f}×", None if np.isnan(share) else bool(share <= most))

    return judge


def certified(most: float) -> Target:
    """An approximation that certifies to leave out less than this share of the trace."""

    def judge(results: Results, size: float) -> Verdict:
        left_out = ours(results).fit.left_out
        asked = f"certified to leave out under {most:.0%} of the trace"
        return Verdict(asked, f"{left_out:.3%}", None if np.isnan(left_out) else left_out < most)

    return judge


def resident(most: float) -> Target:
    """Peak resident memory of the whole process of every one of our contestants."""

    def judge(results: Results, size: float) -> Verdict:
        peak = np.max([result.peak for result in results.values() if peers.is_ours(result.name)])
        return Verdict(f"under {most / 1e6:.0f} MB resident", f"{peak / 1e6:.0f} MB", bool(peak < most))

    return judge
