"""`GenotypePCA` in a model file. Texts of variants and people are bytes of UTF-8, one line each."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.genotypes.variants import People, Variants
from eigenlens.errors import ModelFileError
from eigenlens.estimator.storage import OUTCOME_LAYOUT
from eigenlens.genotypes.model import GenotypeComponents
from eigenlens.genotypes.options import GenotypeOptions
from eigenlens.laws import check_law, require
from eigenlens.layout import Layout, entry, pack_all, unpack

GENOTYPE_LAYOUT = Layout(
    GenotypeComponents,
    arrays=["frequency", "components", "values", "vectors"],
    header=["total", "squares", "missing", "pairwise"],
)

VARIANT_TEXTS = ("chromosome", "name", "counted", "other")
PEOPLE_TEXTS = ("family", "name")


def pack_fit(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the model, its variants and people, and how it was found."""
    model = estimator.model_
    arrays, header = pack_all((model, GENOTYPE_LAYOUT), (estimator.solver_, OUTCOME_LAYOUT))
    arrays |= {f"variant_{name}": _bytes(getattr(model.variants, name)) for name in VARIANT_TEXTS}
    arrays |= {f"person_{name}": _bytes(getattr(model.people, name)) for name in PEOPLE_TEXTS}
    arrays["variant_position"] = model.variants.position.astype(np.int64)
    return arrays, header | {"n_features": estimator.n_features_in_, "left_out": estimator.left_out_}


def restore_fit(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give an estimator the fit of `pack_fit`."""
    require(arrays, "frequency", "vectors", "variant_position")
    m, n = arrays["frequency"].shape[0], arrays["vectors"].shape[0]
    texts = {name: _texts(arrays, f"variant_{name}", m) for name in VARIANT_TEXTS}
    check_law("variant_position", "(m) integer", arrays["variant_position"], {"m": m})
    variants = Variants(
        texts["chromosome"], texts["name"], arrays["variant_position"], texts["counted"], texts["other"]
    )
    people = People(*(_texts(arrays, f"person_{name}", n) for name in PEOPLE_TEXTS))
    sizes: dict[str, int] = {}
    estimator._model = unpack(GENOTYPE_LAYOUT, arrays, header, sizes, variants=variants, people=people)
    _check_sizes(estimator._model)
    estimator.solver_ = unpack(OUTCOME_LAYOUT, arrays, header, sizes)
    estimator.n_features_in_ = entry(header, "n_features", "int")
    left_out = entry(header, "left_out", "object")
    if estimator.n_features_in_ < m or not all(isinstance(count, int) for count in left_out.values()):
        raise ModelFileError(f"'n_features' and 'left_out' do not fit {m} variants")
    estimator.left_out_ = left_out
    GenotypeOptions.of(estimator)


def _check_sizes(model: GenotypeComponents) -> None:
    """Raise for what no fit makes: frequencies that no variant of so many people has, components that are too long."""
    least = 0.499 / len(model.people)
    if np.any((model.frequency < least) | (model.frequency > 1.0 - least)):
        raise ModelFileError(f"'frequency' must be from {least:.2g} to 1 less that, of {len(model.people)} people")
    if np.any(np.linalg.norm(model.components, axis=1) > MAX_LENGTH):
        raise ModelFileError(f"'components' must have rows of length at most {MAX_LENGTH:g}")
    if not model.values[:1].all():
        raise ModelFileError("'values' must begin with a positive number")
    variants = model.variants
    if len(set(variants.name)) < len(variants) or not all(variants.name):
        raise ModelFileError("'variant_name' must be distinct texts")
    if not (all(variants.counted) and all(variants.other)) or np.any(variants.counted == variants.other):
        raise ModelFileError("'variant_counted' and 'variant_other' must be two alleles of each variant")


MAX_LENGTH = 2.0
"""Components have length 1 without missing calls, and nearly so with them."""


def _bytes(texts: Array) -> Array:
    return np.frombuffer("\n".join(map(str, texts)).encode("utf-8"), dtype=np.uint8)


def _texts(arrays: dict[str, Array], name: str, count: int) -> Array:
    """Return texts (count,) from their bytes."""
    require(arrays, name)
    if arrays[name].dtype != np.uint8 or arrays[name].ndim != 1:
        raise ModelFileError(f"{name!r} must be bytes")
    try:
        found = arrays[name].tobytes().decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise ModelFileError(f"{name!r} is not UTF-8") from None
    if not all(text.isprintable() for text in found):
        raise ModelFileError(f"{name!r} has characters that no name has")
    if len(found) != count:
        raise ModelFileError(f"{name!r} has {len(found)} texts, and the rest of the file needs {count}")
    return np.array(found, dtype=object)
