"""Starts of EM for mixtures of any family: components that are all rows together, each with one row counting more."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.latent_classes.distinct_rows import DistinctRows
from eigenlens.bayes.naive.fit import NaiveStatistics, attach_labels, row_slices
from eigenlens.bayes.naive.model import NaiveModel
from eigenlens.bayes.naive.plan import Plan
from eigenlens.data.rows import select_rows
from eigenlens.data.source import Block, Source, accumulate

SEED_SHARE = 0.5
"""A component starts as all rows with one row of this share of the weight: near that row, and wide enough for all."""


def start_statistics(
    table: Source, distinct: DistinctRows, K: int, plan: Plan, rng: np.random.Generator
) -> NaiveStatistics:
    """Return statistics of K components that are all rows together, each with one row drawn at random counting more.

    That needs no distance between rows, so it works for columns of any kind. The rows differ, and depend neither on
    their order nor on whether a row has weight 2 or comes twice.
    """
    weight = table.weight
    assert weight is not None
    count = min(K, len(distinct.first))
    seeds = rng.choice(distinct.first, size=count, replace=False, p=distinct.weight / distinct.weight.sum())
    labels = np.full(len(weight), -1, dtype=np.int32)
    labels[seeds] = np.arange(count)
    summarise = partial(_seeded_block, plan=plan, K=K, total=float(weight.sum()))
    return accumulate(attach_labels(table, labels, weight), summarise)


def overall_statistics(table: Source, plan: Plan) -> NaiveStatistics:
    """Return the statistics of all rows as those of one component, in one pass."""
    return accumulate(table, partial(_whole_block, plan=plan))


def _whole_block(block: Block, plan: Plan) -> NaiveStatistics:
    return reduce(add, (share_out(rows, w[:, None], plan) for rows, w in weighted_slices(block, block.weight)))


def weighted_slices(block: Block, weight: Array) -> Iterator[tuple[Any, Array]]:
    """Yield some rows of a block at a time, with what belongs to them, without rows of weight (b,) 0.

    Such a row is absent, whatever its entries: products would make NaN of infinity. A slice of nothing else keeps one.
    """
    first = 0
    for rows in row_slices(block.rows, copied=True):
        here = slice(first, first + rows.shape[0])
        first = here.stop
        kept = np.flatnonzero(weight[here] > 0.0)
        kept = kept if kept.size else np.zeros(1, dtype=np.intp)
        whole = kept.size == rows.shape[0]
        yield (rows, block.weight[here]) if whole else (select_rows(rows, kept), block.weight[here][kept])


def _seeded_block(block: Block, plan: Plan, K: int, total: float) -> NaiveStatistics:
    parts = []
    for rows, both in weighted_slices(block, block.weight["weight"]):
        label, w = both["label"], both["weight"]
        shares = np.repeat(w[:, None], K, axis=1) * ((1.0 - SEED_SHARE) / K if K > 1 else 1.0)
        seed = np.flatnonzero(label >= 0)
        if K > 1:
            shares[seed, label[seed]] += SEED_SHARE * total / K
        parts.append(share_out(rows, shares, plan))
    return reduce(add, parts)


def share_out(rows: object, shares: Array, plan: Plan, model: NaiveModel | None = None) -> NaiveStatistics:
    """Return the statistics of rows of which component k has the weights shares[:, k] (n, K), by a model if given."""
    known = [None] * len(plan.groups) if model is None else [group.conditional for group in model.groups]
    parts = [
        factor.summarise_shared(rows, np.array(columns), shares, conditional)
        for (factor, columns), conditional in zip(plan.groups, known, strict=True)
    ]
    return NaiveStatistics(shares.sum(axis=0), tuple(parts))
