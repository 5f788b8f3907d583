"""`eigenlens denoise`: rows reconstructed from their scores."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from eigenlens.cli.commands.apply import apply_model
from eigenlens.cli.errors import fail
from eigenlens.cli.options import DataFiles, ModelFile, Output, ReadingOptions, RunningOptions, takes
from eigenlens.tables.names import feature_names


@takes(reading=ReadingOptions, running=RunningOptions)
def denoise(
    model: ModelFile,
    files: DataFiles,
    reading: ReadingOptions,
    running: RunningOptions,
    components: Annotated[
        int | None, typer.Option("--components", "-k", metavar="K", help="kpca: use only the first K components.")
    ] = None,
    output: Output = None,
) -> None:
    """Reconstruct rows from their scores, without the noise.

    For pca, ppca and fa this is the reconstruction; for kpca the pre-image of the projection in feature space.
    """

    def rows(found: Any, table: Any) -> dict[str, Any]:
        X = _denoised(found, table.source, components)
        return dict(zip(feature_names(found, X.shape[1]), X.T, strict=True))

    apply_model(model, files, reading, running, output, ("inverse_transform", "denoise rows"), rows)


def _denoised(found: Any, source: Any, k: int | None) -> Any:
    if hasattr(found, "denoise"):
        return found.denoise(source, n_components=k)
    if k is not None:
        fail("-k is only for kernel PCA here", "fit the model with fewer components, and denoise with that")
    return found.inverse_transform(found.transform(source))
