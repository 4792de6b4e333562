"""Names of the fields of operators' results (``torch.max(x, 0).values``); torch's schemas have them, our facts not."""

from __future__ import annotations

_VALUES = "max min median nanmedian mode kthvalue sort topk cummax cummin"
_NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_VALUES.split(), ("values", "indices")),
    "aminmax": ("min", "max"),
    "cholesky_ex": ("L", "info"),
    "eig": ("eigenvalues", "eigenvectors"),
    "eigh": ("eigenvalues", "eigenvectors"),
    "frexp": ("mantissa", "exponent"),
    "geqrf": ("a", "tau"),
    "histogram": ("hist", "bin_edges"),
    "inv_ex": ("inverse", "info"),
    "ldl_factor": ("LD", "pivots"),
    "ldl_factor_ex": ("LD", "pivots", "info"),
    "lstsq": ("solution", "residuals", "rank", "singular_values"),
    "lu": ("P", "L", "U"),
    "lu_factor": ("LU", "pivots"),
    "lu_factor_ex": ("LU", "pivots", "info"),
    "lu_unpack": ("P", "L", "U"),
    "qr": ("Q", "R"),
    "slogdet": ("sign", "logabsdet"),
    "solve_ex": ("result", "info"),
    "svd": ("U", "S", "V"),
    "torch.linalg.svd": ("U", "S", "Vh"),
    "triangular_solve": ("solution", "cloned_coefficient"),
}


def result_names(operator: str) -> tuple[str, ...]:
    """Names of an operator's results by its (dotted) name; empty if they have none."""
    return _NAMES.get(operator) or _NAMES.get(operator.rpartition(".")[2], ())
