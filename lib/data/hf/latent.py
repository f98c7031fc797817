"""Families whose layers are all MLA, DSA or V4's compressed attention."""

from __future__ import annotations

from lib.data.hf.config import Config
from lib.data.hf.patterns import listed, mixtures_after_dense, pattern
from lib.data.hf.pieces import compressed, deepseek_moe, dense, depth, dsa, make, mla, moe
from lib.data.hf.stack import Stack, simple
from lib.data.mechanisms import Dense, Mla
from lib.data.strict import DataError


def feed_forwards(c: Config, layers: int) -> list:
    """Dense layers first, then mixtures, by DeepSeek's names."""
    kinds = mixtures_after_dense(c, layers)
    known = {"moe": deepseek_moe(c)} | ({"dense": dense(c)} if "dense" in kinds else {})
    c.known("intermediate_size")
    return [known[kind] for kind in kinds]


def drafts(c: Config, mixer, ffn, key: str = "num_nextn_predict_layers") -> tuple | None:
    """Multi-token-prediction layers, None without."""
    layers = c.count(key, 0)
    return (layers, mixer, ffn) if layers else None


def full_latent(c: Config, options) -> Stack:
    """deepseek_v3, kimi_k2: MLA in every layer."""
    layers = depth(c)
    mixer, ffns = mla(c), feed_forwards(c, layers)
    return simple([mixer] * layers, ffns, mtp=drafts(c, mixer, ffns[-1]))


def sparse_latent(c: Config, options) -> Stack:
    """deepseek_v32, glm_moe_dsa: DSA in every layer, whose indexer may serve the layers after it (IndexShare)."""
    layers = depth(c)
    pattern(c, layers, {"layer_types": listed({"deepseek_sparse_attention": "sparse"})}, "sparse")
    owners = pattern(
        c, layers, {"indexer_types": listed({"full": "own", "shared": "shared"}), "index_topk_freq": _skips}, "own"
    )
    if owners[0] != "own":
        raise DataError(f"{c.where}: layer 0 shares an indexer, wanted it to own one")
    c.known("index_skip_topk_offset")
    mixers = {kind: dsa(c, kind) for kind in dict.fromkeys([*owners, "own"])}
    ffns = feed_forwards(c, layers)
    return simple([mixers[kind] for kind in owners], ffns, mtp=drafts(c, mixers["own"], ffns[-1]))


def _skips(c: Config, key: str, layers: int) -> list[str]:
    """`index_topk_freq` n and `index_skip_topk_offset` o: the first o layers own an indexer, then one of n does, the last of
    each n (GLM-5.2: 0, 1, 2, 6, 10, …)."""
    step, offset = c.size(key), c.count("index_skip_topk_offset", 0 if c.size(key) == 1 else ...)
    return ["own" if max(layer - offset + 1, 0) % step == 0 else "shared" for layer in range(layers)]


def compressed_sparse(c: Config, options) -> Stack:
    """deepseek_v4: a compression ratio for each layer; entries after the last layer belong to the drafts."""
    layers, ratios, kinds = depth(c), c.list("compress_ratios"), compressed(c)
    spare = c.count("num_nextn_predict_layers", 0)
    if len(ratios) not in (layers, layers + spare):
        raise DataError(
            f"{c.where}: key compress_ratios: {len(ratios)} entries, wanted {layers}, one a layer, or {layers + spare} with drafts"
        )
    for layer, ratio in enumerate(ratios):
        if isinstance(ratio, bool) or ratio not in kinds:
            raise DataError(f"{c.where}: key compress_ratios: layer {layer} is {ratio!r}, wanted 0, 4 or 128")
    _check_kinds(c, ratios[:layers])
    ffn = deepseek_moe(c)
    draft = kinds[ratios[layers] if len(ratios) > layers else 0]
    mixers = [kinds[ratio] for ratio in ratios[:layers]]
    return simple(mixers, [ffn] * layers, mtp=drafts(c, draft, ffn), streams=c.size("hc_mult", None))


def _check_kinds(c: Config, ratios: list[int]) -> None:
    """`layer_types` and `compress_rates`, where a file has them too, must say what the ratios say."""
    names = {"sliding_attention": 0, "compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
    told = {ratio: str(ratio) for ratio in names.values()}
    pattern(
        c,
        len(ratios),
        {
            "layer_types": listed({name: told[ratio] for name, ratio in names.items()}),
            "compress_ratios": lambda *_: [told[ratio] for ratio in ratios],
        },
    )
    c.only("compress_rates", {name: ratio for name, ratio in names.items() if ratio})


def longcat(c: Config, options) -> Stack:
    """longcat: two attentions, two dense feed-forwards and one mixture with zero experts in each layer."""
    layers = depth(c)
    pairs, mtp_mixer = _longcat_pairs(c, layers)
    wide = make(Dense, c, width=c.size("ffn_hidden_size"))
    mixture = _longcat_moe(c, options)
    mtp = drafts(c, mtp_mixer, wide, c.first("mtp_num_layers", "num_nextn_predict_layers"))
    return Stack([(pair, (wide, wide, mixture)) for pair in pairs], mtp=mtp, extra=_lookup_tables(c))


def _longcat_pairs(c: Config, layers: int) -> tuple[list[tuple], object]:
    c.known("use_mla")
    method = c.value("attention_method", lambda x: x in ("MLA", "LSA"), "'MLA' or 'LSA'", "MLA")
    if method == "MLA":
        mixer: Mla = mla(c)
        return [(mixer, mixer)] * layers, mixer
    share = c.size("cli_factor", 1)  # of so many attentions in a row the first runs an indexer
    own, shared = dsa(c, "own"), dsa(c, "shared")
    row = [own if at % share == 0 else shared for at in range(2 * layers)]
    return list(zip(row[::2], row[1::2], strict=True)), own


def _longcat_moe(c: Config, options):
    """Real experts a token: the caller's figure, or their share among all experts, as an even router would choose."""
    experts, zero, active = c.size("n_routed_experts"), c.count("zero_expert_num", 0), c.size("moe_topk")
    c.only("zero_expert_type", "identity")
    even = active * experts / (experts + zero)
    return moe(
        c,
        experts=experts,
        active=active,
        width=c.size("expert_ffn_hidden_size"),
        shared=c.count("n_shared_experts", 0),
        zero_experts=zero,
        active_real=(options.active_real or even) if zero else None,
    )


def _lookup_tables(c: Config) -> list[tuple[str, int]]:
    """n-gram embeddings: `ratio` vocabularies of hidden-size rows in all, however they are split."""
    key = c.first("oe_vocab_size_ratio", "ngram_vocab_size_ratio")
    c.known("oe_neighbor_num", "oe_split_num", "emb_neighbor_num", "emb_split_num")
    ratio = c.number(key, None)
    return (
        []
        if ratio is None
        else [("n-gram embedding tables", round(c.size("vocab_size") * ratio) * c.size("hidden_size"))]
    )
