"""A model of 70 billion parameters takes memory of the device, and almost none of the host."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import sparse_files
from planning_programs import torchport

# What `make test-plan` installs.
PACKAGES = Path(os.environ.get("TORCHPORT_PLAN_PACKAGES", Path(__file__).parents[2] / "build/plan"))
WIDTH, INNER, WORDS, LAYERS, KEYS = 8192, 28672, 32000, 80, 1024
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": WORDS,
    "hidden_size": WIDTH,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
OF_LAYER = {
    "self_attn.q_proj": (WIDTH, WIDTH),
    "self_attn.k_proj": (KEYS, WIDTH),
    "self_attn.v_proj": (KEYS, WIDTH),
    "self_attn.o_proj": (WIDTH, WIDTH),
    "mlp.gate_proj": (INNER, WIDTH),
    "mlp.up_proj": (INNER, WIDTH),
    "mlp.down_proj": (WIDTH, INNER),
    "input_layernorm": (WIDTH,),
    "post_attention_layernorm": (WIDTH,),
}

PROGRAM = """
import resource, sys, torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM
def from_meta():
    config = LlamaConfig.from_pretrained(sys.argv[1])
    with torch.device("meta"):
        model = LlamaForCausalLM(config).to(torch.bfloat16)
    return model.to_empty(device="cuda")
def from_files(device):
    return AutoModelForCausalLM.from_pretrained(sys.argv[1], device_map=device, dtype=torch.bfloat16)
model = {program}
words = torch.randint(0, 32000, (1, 512)).cuda()
with torch.no_grad():
    assert model(words, use_cache=False).logits.shape == (1, 512, 32000)
held = sum(torch.cuda.memory_allocated(i) for i in range(torch.cuda.device_count()))
print(held >> 30, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""

pytestmark = pytest.mark.skipif(
    not (PACKAGES / "transformers").is_dir(), reason="`make test-plan` fetches transformers"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a configuration and files whose values are holes, 129 GiB."""
    folder = tmp_path_factory.mktemp("llama-70b")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    files = 8
    places: dict[str, str] = {}
    for file in range(files):
        tensors: dict[str, tuple[int, ...]] = {}
        for layer in range(file * LAYERS // files, (file + 1) * LAYERS // files):
            for name, shape in OF_LAYER.items():
                tensors[f"model.layers.{layer}.{name}.weight"] = shape
        if file == 0:
            tensors["model.embed_tokens.weight"] = (WORDS, WIDTH)
        if file == files - 1:
            tensors["model.norm.weight"] = (WIDTH,)
            tensors["lm_head.weight"] = (WORDS, WIDTH)
        name = f"model-{file + 1:05d}-of-{files:05d}.safetensors"
        sparse_files.safetensors(folder / name, "BF16", tensors)
        places |= dict.fromkeys(tensors, name)
    index = {"metadata": {}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


@pytest.mark.parametrize(
    ("program", "devices"),
    [("from_meta()", 1), ("from_files('cuda')", 1), ("from_files('auto')", 2)],
)
def test_a_model_of_70_billion_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Path, program: str, devices: int
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(PACKAGES))
    script = tmp_path / "large.py"
    script.write_text(PROGRAM.format(program=program))
    options = ["--devices", f"cuda:{devices}", "--profile", "h200", "--no-data"]
    run = torchport("run", "-q", *options, script, model)
    assert run.returncode == 0, run.stderr
    held, host = map(int, run.stdout.split()[-2:])
    assert held == 128
    assert host < 1000, "MiB of the host"
