"""Checkpoints: a fit whose process was killed goes on where it was, and ends with the same bits.

A fit is a function of the totals of its passes over the rows. So a checkpoint is a journal of these totals, in order,
with that of the pass under way: the same call reads them instead of the rows, and computes what lies between again.
"""

from eigenlens.checkpoint.passes import Checkpoint

__all__ = ["Checkpoint"]
