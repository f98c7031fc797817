"""What a model costs: pure functions of a model, a context and a system, in SI units, vectorised in NumPy, free of torch."""

from lib.cost.flops import Flops, decode_flops, prefill_flops
from lib.cost.memory import Bytes, read_bytes, stored_bytes
from lib.cost.parameters import Parameters, parameters

__all__ = ["Bytes", "Flops", "Parameters", "decode_flops", "parameters", "prefill_flops", "read_bytes", "stored_bytes"]
