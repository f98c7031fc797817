"""What mixes tokens in a layer, and what follows it: small frozen types with every dimension that a cost needs.

No field has a default: a dimension that a data file leaves out is an error, never a guess. `None` is written out where a
design has no such part (a query that is not compressed, a gate at full rank).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Size = Annotated[int, Field(gt=0, strict=True)]
Count = Annotated[int, Field(ge=0, strict=True)]


class Spec(BaseModel):
    """Frozen, strict, and closed: an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Softmax(Spec):
    """Full softmax attention with grouped key-value heads (GQA; MHA when `kv_heads == heads`)."""

    type: Literal["softmax"]
    heads: Size
    kv_heads: Size
    key_dim: Size
    value_dim: Size
    output_gate: bool

    @model_validator(mode="after")
    def _groups(self):
        return _check_groups(self)


class Window(Spec):
    """Softmax attention over the last `window` tokens, the token itself included.

    `shared_kv`: one entry serves as key and value (DeepSeek V4). `q_rank`, `out_groups`, `out_rank`: V4's compressed query
    and grouped output projection; None where the projections are plain.
    """

    type: Literal["window"]
    heads: Size
    kv_heads: Size
    key_dim: Size
    value_dim: Size
    window: Size
    sinks: bool
    shared_kv: bool
    rope: Count
    q_rank: Size | None
    out_groups: Size | None
    out_rank: Size | None

    @model_validator(mode="after")
    def _groups(self):
        return _check_groups(self)


class Mla(Spec):
    """Multi-head latent attention: every token caches one latent of `latent` values and `rope` shared key values.

    `output_gate`: a full-rank sigmoid gate on the heads' output (Kimi K3's gated MLA).
    """

    type: Literal["mla"]
    heads: Size
    latent: Size
    rope: Count
    nope: Size
    value: Size
    q_rank: Size | None
    output_gate: bool


class Dsa(Spec):
    """MLA over the `top_k` tokens that a lightning indexer selects.

    `indexer`: "own", or "shared" when the layer reuses an earlier layer's selection and keeps no index keys (IndexShare).
    `index_pool`: tokens for one index key (1, or 4 in GLM-5.3-Flash).
    """

    type: Literal["dsa"]
    heads: Size
    latent: Size
    rope: Count
    nope: Size
    value: Size
    q_rank: Size
    output_gate: bool
    indexer: Literal["own", "shared"]
    index_heads: Size
    index_dim: Size
    index_pool: Size
    top_k: Size


class GatedDelta(Spec):
    """Gated DeltaNet: a delta-rule state of `key_dim` x `value_dim` for each value head, one decay for each head."""

    type: Literal["gated_delta"]
    key_heads: Size
    value_heads: Size
    key_dim: Size
    value_dim: Size
    conv: Size

    @model_validator(mode="after")
    def _groups(self):
        if self.value_heads % self.key_heads:
            raise ValueError(f"value_heads={self.value_heads}: wanted a multiple of key_heads={self.key_heads}")
        return self


class Kda(Spec):
    """Kimi Delta Attention: Gated DeltaNet with one decay for each key channel.

    `decay_rank`: width of the low-rank decay projection. `gate_rank`: width of the output gate's, None at full rank.
    `lower_bound`: least log decay of a step (K3: -5), None where it is unbounded.
    """

    type: Literal["kda"]
    heads: Size
    key_dim: Size
    value_dim: Size
    conv: Size
    decay_rank: Size
    gate_rank: Size | None
    lower_bound: Annotated[float, Field(lt=0)] | None


class Lightning(Spec):
    """Lightning attention (MiniMax-M1): a state that decays by one fixed factor a head; no delta rule, no convolution.

    A gate of full rank weighs the output, as in the released models."""

    type: Literal["lightning"]
    heads: Size
    key_dim: Size
    value_dim: Size


class Csa(Spec):
    """DeepSeek V4's compressed sparse attention: entries of `ratio` tokens, `top_k` of them selected, beside a window."""

    type: Literal["csa"]
    heads: Size
    head_dim: Size
    rope: Count
    q_rank: Size
    window: Size
    ratio: Size
    index_heads: Size
    index_dim: Size
    top_k: Size
    out_groups: Size
    out_rank: Size


class Hca(Spec):
    """DeepSeek V4's heavily compressed attention: all entries of `ratio` tokens, beside a window."""

    type: Literal["hca"]
    heads: Size
    head_dim: Size
    rope: Count
    q_rank: Size
    window: Size
    ratio: Size
    out_groups: Size
    out_rank: Size


Mechanism = Annotated[
    Softmax | Window | Mla | Dsa | GatedDelta | Kda | Lightning | Csa | Hca,
    Field(discriminator="type"),
]

Linear = GatedDelta | Kda | Lightning  # the mixers that keep a state of fixed size instead of a cache


class Dense(Spec):
    """A gated feed-forward (three matrices) of `width`."""

    type: Literal["dense"]
    width: Size


class Moe(Spec):
    """A mixture of gated experts. `active` routed experts a token, `shared` ones always on, each of its own width.

    `latent`: width at which routed experts work (LatentMoE), with a projection down and one up; None: the hidden size.
    `zero_experts`: identity experts that a token may be routed to at no cost; then `active_real` is the mean number of real
    experts among `active` (None without zero experts). `shared_gate`: a sigmoid gate on the shared expert (Qwen).
    """

    type: Literal["moe"]
    experts: Size
    active: Size
    width: Size
    shared: Count
    shared_width: Size | None
    shared_gate: bool
    latent: Size | None
    zero_experts: Count
    active_real: Annotated[float, Field(gt=0)] | None

    @model_validator(mode="after")
    def _consistent(self):
        if self.active > self.experts + self.zero_experts:
            raise ValueError(
                f"active={self.active}: wanted at most experts + zero_experts = {self.experts + self.zero_experts}"
            )
        if bool(self.shared) != (self.shared_width is not None):
            raise ValueError(
                f"shared_width={self.shared_width}: wanted a size with shared={self.shared} > 0, null with 0"
            )
        if bool(self.zero_experts) != (self.active_real is not None):
            raise ValueError(f"active_real={self.active_real}: wanted a number if and only if zero_experts > 0")
        if self.active_real is not None and self.active_real > self.active:
            raise ValueError(f"active_real={self.active_real}: wanted at most active={self.active}")
        return self

    @property
    def mean_active(self) -> float:
        """Real routed experts that a token uses, on average."""
        return self.active if self.active_real is None else self.active_real


FeedForward = Annotated[Dense | Moe, Field(discriminator="type")]


def _check_groups(spec: Softmax | Window):
    if spec.heads % spec.kv_heads:
        raise ValueError(f"heads={spec.heads}: wanted a multiple of kv_heads={spec.kv_heads}")
    return spec
