"""From a letter to a token mixer, at one small size for all."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from lib.attention.layers import GatedDeltaLayer, KdaLayer, MlaLayer
from lib.stack.shifted import Shifted
from lib.stack.sparse import TrainedDsa
from lib.stack.window import WindowLayer

LINEAR = set("KHG")
LETTERS = {
    "K": "KDA",
    "H": "KDA, one decay a head",
    "G": "Gated DeltaNet",
    "M": "MLA",
    "D": "DSA",
    "W": "window with sinks",
}


@dataclass(frozen=True)
class Sizes:
    """Dimensions of every layer. A head's state is `head` x `head` numbers; a latent serves all heads."""

    hidden: int = 64
    heads: int = 2
    head: int = 16
    latent: int = 32
    rope: int = 8
    conv: int = 4
    window: int = 16
    top_k: int = 16
    index_heads: int = 2
    index_dim: int = 16

    def state_numbers(self) -> int:
        """Numbers that a delta-rule layer keeps for a sequence, its convolution's tail left out."""
        return self.heads * self.head**2


class HeadwiseKda(KdaLayer):
    """KDA whose channels of a head all decay alike: the mean of what its gate says, so that nothing else differs."""

    def log_decay(self, x: Tensor) -> Tensor:
        logs = super().log_decay(x)
        return logs.mean(-1, keepdim=True).expand_as(logs)


def checked(pattern: str) -> str:
    unknown = sorted(set(pattern) - set(LETTERS))
    if not pattern or unknown:
        raise ValueError(
            f"pattern={pattern!r}: got {unknown[0] if unknown else 'nothing'!r}, wanted letters of {''.join(LETTERS)}"
        )
    return pattern


def mixer(letter: str, pattern: str, sizes: Sizes, seed: int) -> nn.Module:
    """The layer of a letter. Latent attention is rotary only where no linear layer tells positions (as in the released
    models: Kimi Linear's MLA is not, DeepSeek's is)."""
    s, common = sizes, {"seed": seed}
    rotary = not LINEAR & set(pattern)
    latent = {
        "heads": s.heads,
        "latent": s.latent,
        "rope": s.rope,
        "nope": s.head,
        "value": s.head,
        "output_gate": False,
        "rotary": rotary,
    }
    if letter in "KH":
        kind = KdaLayer if letter == "K" else HeadwiseKda
        return kind(
            s.hidden,
            heads=s.heads,
            key_dim=s.head,
            value_dim=s.head,
            conv=s.conv,
            decay_rank=s.head,
            gate_rank=s.head,
            lower_bound=None,
            **common,
        )
    if letter == "G":
        return GatedDeltaLayer(
            s.hidden, key_heads=s.heads, value_heads=s.heads, key_dim=s.head, value_dim=s.head, conv=s.conv, **common
        )
    if letter == "M":
        inner = MlaLayer(s.hidden, q_rank=s.latent, **latent, **common)
    elif letter == "D":
        inner = TrainedDsa(
            s.hidden,
            q_rank=s.latent,
            index_heads=s.index_heads,
            index_dim=s.index_dim,
            top_k=s.top_k,
            **latent,
            **common,
        )
    else:
        inner = WindowLayer(s.hidden, heads=s.heads, dim=s.head, window=s.window, **common)
    return Shifted(inner, s.hidden, s.conv, seed + 7)


def kept_numbers(pattern: str, sizes: Sizes, tokens: int) -> int:
    """Numbers that a model of the pattern keeps for a sequence of `tokens` tokens: states, latents, index keys, windows."""
    each = {
        **dict.fromkeys("KHG", sizes.state_numbers()),
        "M": tokens * (sizes.latent + sizes.rope),
        "D": tokens * (sizes.latent + sizes.rope + sizes.index_dim),
        "W": min(tokens, sizes.window) * 2 * sizes.heads * sizes.head,
    }
    return sum(each[letter] for letter in checked(pattern))
