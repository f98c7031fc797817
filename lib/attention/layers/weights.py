"""Random weights of a layer, of a size that keeps activations near one."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Weights:
    """Makes the parameters of one layer, in one dtype, on one device, the same for the same seed."""

    def __init__(self, *, seed: int = 0, dtype: torch.dtype = torch.float32, device: str | torch.device = "cpu"):
        self.dtype, self.device = dtype, torch.device(device)
        meta = self.device.type == "meta"  # sizes without numbers, for layers that are counted and not run
        self.generator = None if meta else torch.Generator(device=device).manual_seed(seed)

    def matrix(self, *shape: int) -> nn.Parameter:
        """Normal with variance 1 / (last dim): `y = W x` keeps the size of x."""
        return self._parameter(self._normal(*shape) * shape[-1] ** -0.5)

    def ones(self, size: int) -> nn.Parameter:
        return self._parameter(torch.ones(size, device=self.device))

    def zeros(self, *shape: int) -> nn.Parameter:
        return self._parameter(torch.zeros(*shape, device=self.device))

    def log_rates(self, heads: int) -> nn.Parameter:
        """`A_log`: the log of rates uniform in 1 … 16 (Kimi Linear's initialisation)."""
        return self._parameter(torch.log(1 + 15 * self._uniform(heads)))

    def decay_bias(self, *shape: int) -> nn.Parameter:
        """`dt_bias`: what softplus turns into steps spread evenly in log between 0.001 and 0.1 (as Mamba does)."""
        steps = torch.exp(self._uniform(*shape) * torch.log(torch.tensor(100.0)) + torch.log(torch.tensor(1e-3)))
        return self._parameter(torch.log(torch.expm1(steps)))

    def _normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self.generator, device=self.device)

    def _uniform(self, *shape: int) -> Tensor:
        return torch.rand(*shape, generator=self.generator, device=self.device)

    def _parameter(self, x: Tensor) -> nn.Parameter:
        return nn.Parameter(x.to(self.dtype))
