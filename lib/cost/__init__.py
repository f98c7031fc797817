"""What a model costs: pure functions of a model, a context and a system, in SI units, vectorised in NumPy, free of torch."""

from lib.cost.allocator import reserved_bytes
from lib.cost.capacity import ceiling, dollars_per_million, max_batch, throughput
from lib.cost.flops import Flops, decode_flops, prefill_flops
from lib.cost.memory import Bytes, read_bytes, stored_bytes
from lib.cost.parameters import Parameters, parameters
from lib.cost.step import Step, decode_step, prefill_time
from lib.cost.system import System
from lib.cost.tiers import TierStep, feasible_context, parking, tier_step

__all__ = [
    "Bytes", "Flops", "Parameters", "Step", "System", "ceiling", "decode_flops", "decode_step", "dollars_per_million",
    "TierStep", "feasible_context", "max_batch", "parameters", "parking", "prefill_flops", "prefill_time", "read_bytes", "reserved_bytes", "stored_bytes", "throughput",
    "tier_step",
]  # fmt: skip
