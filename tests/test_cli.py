"""The command line: its numbers are those of `lib.cost`, and what it refuses it refuses in one line."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from lib.cost import decode_flops, parameters, read_bytes, stored_bytes
from lib.cost.allocator import reserved_bytes
from lib.cost.capacity import dollars_per_million, max_batch, throughput
from lib.cost.cli import COMMANDS, main, size
from lib.cost.step import decode_step
from lib.cost.system import System
from lib.data import chip, chips, from_hf, model, models
from tests.hf_configs import CONFIGS, LONGCAT_FLASH

HYBRID = "kimi-linear-48b-a3b"


def run(*words: str, code: str | None = None) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "lib.cost"] if code is None else [sys.executable, "-c", code]
    return subprocess.run([*command, *words], capture_output=True, text=True, timeout=60, check=False)


def told(capsys, *words: str) -> dict:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIGS[HYBRID]), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", list(models()))
def test_sizes_are_those_of_the_library(name, capsys):
    """Breaks if a column shows another function's bytes."""
    found = told(capsys, name, "--context", "1M", "--block", "256")
    wanted = {
        "stored": stored_bytes(model(name), 2**20),
        "reserved": reserved_bytes(model(name), 2**20, block=256),
        "read": read_bytes(model(name), 2**20),
        "flops": decode_flops(model(name), 2**20),
    }
    for column, parts in wanted.items():
        assert found[column] == {part: float(value) for part, value in parts._asdict().items()}
    assert found["parameters"]["total"] == parameters(model(name)).total
    assert found["system"] is found["step"] is found["dollars_per_million"] is None


def test_a_step_is_that_of_the_library(capsys):
    """Breaks if a split, the efficiency or a precision does not reach the step."""
    words = [
        "--chip",
        "h200x16",
        "--tensor",
        "4",
        "--expert",
        "16",
        "--cp",
        "2",
        "--batch",
        "64",
        "--efficiency",
        "0.5",
    ]
    found = told(capsys, "deepseek-v3.2", "--context", "128K", "--precision", "latent=bf16", *words)
    m = model("deepseek-v3.2")
    m = m.model_copy(update={"precision": m.precision.model_copy(update={"latent": "bf16"})})
    system = System(chip("h200"), tensor=4, data=4, expert=16, context=2)
    scenario = {"context": 2**17, "batch": 64, "efficiency": 0.5}
    step = decode_step(m, system, **scenario)
    assert found["step"]["time_lower"] == float(step.time_lower) and found["step"]["time_upper"] == float(
        step.time_upper
    )
    assert found["step"]["bound"] == step.bound
    assert found["step"]["parts"] == {name: float(part) for name, part in step.parts.items()}
    assert found["chip"]["max_batch"] == max_batch(m, system, context=2**17)
    slow, fast = throughput(m, system, **scenario)
    assert found["step"]["tokens_per_second"] == {"lower": float(slow), "upper": float(fast)}
    for row, rent in zip(found["dollars_per_million"], chip("h200").dollars_per_hour, strict=True):
        least, most = dollars_per_million(m, system, dollars_per_hour=rent.value, **scenario)
        assert (row["rent"], row["lower"], row["upper"]) == (rent.kind, float(least), float(most))


def test_default_split_is_one_replica_over_all_chips(capsys):
    """Breaks if a default leaves chips idle."""
    found = told(capsys, HYBRID, "--context", "4K", "--chip", "h200x8")["system"]
    assert (found["tensor"], found["data"], found["expert_span"], found["count"]) == (8, 1, 8, 8)
    found = told(capsys, HYBRID, "--context", "4K", "--chip", "h200x8", "--data", "4")["system"]
    assert (found["tensor"], found["data"]) == (2, 4)
    assert told(capsys, HYBRID, "--context", "4K", "--chip", "h200")["system"]["count"] == 1


def test_blocks_lower_the_batch(capsys):
    """Breaks if both batches come from the lower bound."""
    found = told(capsys, HYBRID, "--context", "33", "--block", "4K", "--chip", "h200")["chip"]
    assert 0 < found["max_batch_paged"] < found["max_batch"]


def test_a_configuration_gives_the_same_as_the_model(config, capsys):
    """Breaks if a file is read with other precisions than its own."""
    by_file, by_name = told(capsys, config, "--context", "1M"), told(capsys, HYBRID, "--context", "1M")
    assert by_file["model"] == "kimi-linear"
    assert by_file | {"model": HYBRID} == by_name


def test_options_for_configurations(tmp_path, capsys):
    """Breaks if --active-real or --ignore does not reach the reader."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LONGCAT_FLASH | {"attention_colour": 1}), encoding="utf-8")
    assert main([str(path), "--context", "1K"]) == 2 and "attention_colour" in capsys.readouterr().err
    found = told(capsys, str(path), "--context", "1K", "--ignore", "attention_colour", "--active-real", "6.5")
    wanted = parameters(from_hf(LONGCAT_FLASH, active_real=6.5)).active
    assert found["parameters"]["active"] == pytest.approx(wanted, rel=1e-12)


def test_the_table_shows_the_numbers(capsys):
    """Breaks if a unit, a column or a bound is swapped in the text."""
    assert main([HYBRID, "--context", "1M", "--batch", "8", "--chip", "h200x8"]) == 0
    text = capsys.readouterr().out
    found = told(capsys, HYBRID, "--context", "1M", "--batch", "8", "--chip", "h200x8")
    assert "20 kda + 7 mla" in text and "context 1,048,576 tokens, batch 8" in text
    assert f"{found['stored']['total'] / 2**30:.4g} GiB" in _line(text, "  total ")
    assert f"{found['stored']['state'] / 2**20:.4g} MiB" in _line(text, "recurrent states")
    assert f"{found['flops']['attention'] / 1e9:.4g} G" in _line(text, "  attention ")
    best, worst = found["step"]["time_lower"] * 1e3, found["step"]["time_upper"] * 1e3
    assert re.search(f"limited by memory +{best:.4g} ms +{worst:.4g} ms", text)
    assert f"{found['step']['tokens_per_second']['upper']:,.1f}" in _line(text, "tokens a second")
    row = found["dollars_per_million"][0]
    assert re.search(f"hyperscaler cost 1.41 \\$/h +{row['lower']:.3f} +{row['upper']:.3f}", text)
    assert "full rates" in text and "do not fit" not in text


def _line(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if start in line)


def test_notes(capsys):
    """Breaks if an assumption, a batch that does not fit or a context beyond the model's own goes unsaid."""
    main(["glm-5", "--context", "1M", "--batch", "512", "--chip", "h200x8", "--efficiency", "0.7"])
    text = capsys.readouterr().out
    assert "rates x 0.7" in text and "512 sequences do not fit" in text and "made for 202,752 tokens" in text


def test_a_chip_without_rent(capsys):
    """Breaks if no price is printed as a price of zero."""
    bare = next(name for name, found in chips().items() if not found.dollars_per_hour and found.memory_bytes)
    main([HYBRID, "--context", "4K", "--chip", bare])
    assert "no rent is known" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("0", 0), ("4096", 4096), ("128K", 131072), ("128k", 131072), ("1M", 2**20), ("1.5K", 1536), ("1,000", 1000)],
)
def test_sizes(text, tokens):
    """Breaks if K is 1,000."""
    assert size(text) == tokens


REFUSED = {
    "no words": ([], "required: model, --context"),
    "no context": ([HYBRID], "required: --context"),
    "no such model": (["kimi-9", "--context", "1K"], "kimi-9: no such file or model, wanted a config.json or one of"),
    "a bad context": ([HYBRID, "--context", "much"], "--context: 'much', wanted a whole number of tokens"),
    "half a token": ([HYBRID, "--context", "1.5"], "--context: '1.5', wanted a whole number"),
    "a negative context": ([HYBRID, "--context=-1"], "--context: '-1', wanted"),
    "no batch": ([HYBRID, "--context", "1K", "--batch", "0"], "--batch: '0', wanted a whole number of 1 or more"),
    "no block": ([HYBRID, "--context", "1K", "--block", "0"], "--block: '0', wanted"),
    "an unknown chip": (
        [HYBRID, "--context", "1K", "--chip", "z80x8"],
        "--chip: 'z80x8', wanted a name and a count such as h200x8",
    ),
    "no chips": ([HYBRID, "--context", "1K", "--chip", "h200x0"], "--chip: 'h200x0'"),
    "a split that does not divide": (
        [HYBRID, "--context", "1K", "--chip", "h200x8", "--tensor", "3"],
        "--tensor 3 and --data 2: wanted tensor x data = 8",
    ),
    "a context split that does not divide": (
        [HYBRID, "--context", "1K", "--chip", "h200x8", "--cp", "3"],
        "system.context=3: wanted a divisor of tensor=8",
    ),
    "a split without chips": ([HYBRID, "--context", "1K", "--tensor", "2"], "--tensor: wanted it with --chip only"),
    "an efficiency without chips": (
        [HYBRID, "--context", "1K", "--efficiency", "0.5"],
        "--efficiency: wanted them with --chip",
    ),
    "an efficiency above one": (
        [HYBRID, "--context", "1K", "--efficiency", "1.5"],
        "--efficiency: '1.5', wanted a number above 0",
    ),
    "an unknown part": (
        [HYBRID, "--context", "1K", "--precision", "cache=fp8"],
        "--precision: part 'cache', wanted one of",
    ),
    "an unknown format": ([HYBRID, "--context", "1K", "--precision", "kv=fp3"], "format 'fp3': wanted one of"),
    "no format": ([HYBRID, "--context", "1K", "--precision", "kv"], "--precision: 'kv', wanted part=format"),
    "an option for files": (
        [HYBRID, "--context", "1K", "--active-real", "7"],
        "wanted --ignore and --active-real with a config.json",
    ),
    "an unknown option": ([HYBRID, "--context", "1K", "--speed"], "unrecognized arguments: --speed"),
    "a short option": ([HYBRID, "--cont", "1K"], "required: --context"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_line(case, capsys):
    """Breaks if an error has a usage text, a traceback, two lines or another exit status."""
    words, line = REFUSED[case]
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("python -m lib.cost: ") and line in err


@pytest.mark.parametrize(
    "content", ["", "[]", '{"model_type": "mamba9"}', '{"model_type": "llama", "hidden_size": -1}']
)
def test_bad_configurations_in_one_line(content, tmp_path, capsys):
    """Breaks if a fault of a file is a traceback."""
    path = tmp_path / "config.json"
    path.write_text(content, encoding="utf-8")
    assert main([str(path), "--context", "1K"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "wanted" in err


def test_from_a_shell(config):
    """Breaks if the module is no program, or its status is lost."""
    good = run(config, "--context", "128K")
    assert good.returncode == 0 and good.stderr == "" and "kimi-linear: 20 kda + 7 mla" in good.stdout
    bad = run("nowhere.json", "--context", "128K")
    assert bad.returncode == 2 and bad.stdout == "" and bad.stderr.count("\n") == 1


def test_help_is_complete():
    """Breaks if an option has no explanation."""
    shown = run("--help")
    assert shown.returncode == 0
    for option in ("--context", "--batch", "--block", "--chip", "--tensor", "--data", "--expert", "--cp", "--precision",
                   "--efficiency", "--json", "--ignore", "--active-real"):  # fmt: skip
        assert re.search(rf"^  {option}\b[^\n]*\n?\s+\S", shown.stdout, re.M), option


def test_no_torch_is_imported():
    """Breaks if the cost model comes to need torch, which takes seconds to import."""
    code = (
        "import sys\nfrom lib.cost.cli import main\n"
        f"main(['{HYBRID}', '--context', '1K', '--chip', 'h200'])\nassert 'torch' not in sys.modules"
    )
    ended = run(code=code)
    assert ended.returncode == 0, ended.stderr


def test_the_first_word_may_be_a_command(monkeypatch, capsys):
    """Breaks if a command is taken for a model, or gets its own name as an argument."""
    seen = []
    monkeypatch.setitem(COMMANDS, "bill", lambda words: seen.append(words) or 0)
    assert main(["bill", "trace.yml"]) == 0 and seen == [["trace.yml"]]
