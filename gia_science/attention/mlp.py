"""The perceptron that a head applies to what it gathered: all heads in one batched product."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm, silu

NORM_EPSILON = 1e-6


class HeadMLP(nn.Module):
    """Linear, RMSNorm, SiLU, linear; one set of weights per head or one for all heads.

    Both linear maps have biases, zero at the start: that a sum over neighbours tells neighbourhoods
    apart rests on a perceptron that can stand for any function.

    Parameters
    ----------
    heads : int
        Number of weight sets G: the number of heads, or 1 to share.
    inputs, hidden, outputs : int
        Widths.
    scalers : int
        Number S of factors that each input comes multiplied with; see `forward`.

    Attributes
    ----------
    weight_in : (G, inputs, S, hidden)
    weight_out : (G, hidden, outputs)
    gain, bias_in : (G, hidden)
    bias_out : (G, outputs)
    """

    def __init__(self, heads: int, *, inputs: int, hidden: int, outputs: int, scalers: int = 1) -> None:
        super().__init__()
        self.weight_in = nn.Parameter(torch.empty(heads, inputs, scalers, hidden))
        self.bias_in = nn.Parameter(torch.zeros(heads, hidden))
        self.gain = nn.Parameter(torch.ones(heads, hidden))
        self.weight_out = nn.Parameter(torch.empty(heads, hidden, outputs))
        self.bias_out = nn.Parameter(torch.zeros(heads, outputs))
        with torch.no_grad():
            for head in range(heads):
                nn.init.xavier_uniform_(self.weight_in[head].flatten(1))
                nn.init.xavier_uniform_(self.weight_out[head])

    def forward(self, x: Tensor, factors: Tensor | None = None) -> Tensor:
        """Apply each head's perceptron to that head's input.

        Parameters
        ----------
        x : (B, H, N, inputs)
        factors : (B, N, S) or (B, H, N, S), optional
            The input is read as the concatenation of `factor * x` over the S factors. That copy is
            never made: a factor is a number per node and passes through the linear map. None means
            one factor of 1.

        Returns
        -------
        (B, H, N, outputs)
        """
        B, H, N, _ = x.shape
        groups, inputs, scalers, hidden = self.weight_in.shape
        rows = x.transpose(0, 1).reshape(groups, -1, inputs)
        y = torch.bmm(rows, self.weight_in.flatten(2))
        if factors is not None:
            products = y.view(H, B, N, scalers, hidden)
            by_head = factors if factors.dim() == 3 else factors.transpose(0, 1)
            y = (products * by_head[..., None]).sum(dim=-2).view(groups, -1, hidden)
        y = rms_norm(y + self.bias_in[:, None], (hidden,), eps=NORM_EPSILON) * self.gain[:, None]
        y = torch.baddbmm(self.bias_out[:, None], silu(y), self.weight_out)
        return y.view(H, B, N, -1).transpose(0, 1)
