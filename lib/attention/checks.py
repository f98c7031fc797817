"""What every verb asks of its arguments before it computes.

Each check raises `ValueError` with the argument's name, what it got and what it wanted. Shapes are written in
the letters of the mechanism's module, as `"B T H K"`: a letter met twice must have one size, a number means
itself, `*` is free.
"""

from __future__ import annotations

import torch
from torch import Tensor

FLOATS = (torch.float64, torch.float32, torch.bfloat16)


def shapes(**named: tuple[Tensor, str]) -> dict[str, int]:
    """Match tensors to their letters, in the order given, and return the size behind each letter.

    `shapes(q=(q, "B H K"), k=(k, "B T G K"))` -> `{"B": …, "H": …, "K": …, "T": …, "G": …}`.
    """
    sizes: dict[str, int] = {}
    for name, (tensor, letters) in named.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"{name}: got {type(tensor).__name__}, wanted a tensor [{_listed(letters)}]")
        known = ", ".join(f"{letter}={sizes[letter]}" for letter in letters.split() if letter in sizes)
        if not _fits(tensor.shape, letters.split(), sizes):
            wanted = f"[{_listed(letters)}]" + (f" with {known}" if known else "")
            raise ValueError(f"{name}: got shape {tuple(tensor.shape)}, wanted {wanted}")
    return sizes


def alike(**tensors: Tensor | None) -> torch.dtype:
    """One floating dtype and one device for all; `None` arguments are passed over. Returns the dtype."""
    given = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    same_device(**given)
    return same_dtype(**given)


def same_dtype(**tensors: Tensor) -> torch.dtype:
    """All tensors share one of the floating dtypes; returns it."""
    (first, model), *_ = tensors.items()
    if model.dtype not in FLOATS:
        raise ValueError(f"{first}: got {model.dtype}, wanted one of {', '.join(map(str, FLOATS))}")
    for name, tensor in tensors.items():
        if tensor.dtype != model.dtype:
            raise ValueError(f"{name}: got {tensor.dtype}, wanted {model.dtype}, the dtype of {first}")
    return model.dtype


def same_device(**tensors: Tensor) -> torch.device:
    """All tensors live on one device; returns it."""
    (first, model), *_ = tensors.items()
    for name, tensor in tensors.items():
        if tensor.device != model.device:
            raise ValueError(f"{name}: got {tensor.device}, wanted {model.device}, the device of {first}")
    return model.device


def dtype_is(name: str, tensor: Tensor, *wanted: torch.dtype) -> None:
    """The tensor has one of the dtypes that are wanted, whatever the other arguments have."""
    if tensor.dtype not in wanted:
        raise ValueError(f"{name}: got {tensor.dtype}, wanted {' or '.join(map(str, wanted))}")


def at_least(name: str, value: int, least: int) -> None:
    """A whole number, not below `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name}: got {value!r}, wanted a whole number >= {least}")


def multiple(name: str, value: int, of: str, unit: int) -> None:
    """`value` is a whole multiple of `unit`, which the message calls `of`."""
    if unit < 1 or value % unit:
        raise ValueError(f"{name}: got {value}, wanted a multiple of {of}={unit}")


def index_range(name: str, indices: Tensor, low: int, high: int) -> None:
    """Whole numbers in `low <= index < high`; on an accelerator this waits for the indices to be there."""
    if indices.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"{name}: got {indices.dtype}, wanted torch.int64 or torch.int32")
    if indices.numel() == 0:
        return
    least, most = (int(x) for x in torch.aminmax(indices))
    if least < low or most >= high:
        raise ValueError(f"{name}: got indices from {least} to {most}, wanted {low} <= index < {high}")


def not_above(name: str, tensor: Tensor, bound: float) -> None:
    """No element above `bound`, none NaN; on an accelerator this waits for the tensor to be there."""
    if tensor.numel() and not bool((tensor <= bound).all()):
        raise ValueError(f"{name}: got a largest element of {float(tensor.max())}, wanted all <= {bound}")


def filled(name: str, lengths: Tensor | None, batch: int, most: int) -> list[int]:
    """How many rows of each sequence's cache are in use, as whole numbers; `None` is all of them."""
    if lengths is None:
        return [most] * batch
    if tuple(lengths.shape) != (batch,):
        raise ValueError(f"{name}: got shape {tuple(lengths.shape)}, wanted [B] with B={batch}")
    index_range(name, lengths, 0, most + 1)
    return lengths.tolist()


def accumulating(dtype: torch.dtype) -> torch.dtype:
    """The dtype that sums, states and log-sum-exps are kept in: float64 for float64, float32 for the rest."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def _fits(shape: torch.Size, letters: list[str], sizes: dict[str, int]) -> bool:
    """Whether a shape agrees with its letters; a letter met for the first time is noted in `sizes`."""
    if len(shape) != len(letters):
        return False
    for letter, size in zip(letters, shape, strict=True):
        if letter != "*" and size != (int(letter) if letter.isdigit() else sizes.setdefault(letter, size)):
            return False
    return True


def _listed(letters: str) -> str:
    return ", ".join(letters.split())
