"""Training and inference of a model as programs do them, with the memory after each phase."""

from __future__ import annotations

import contextlib
import importlib.metadata
from collections.abc import Callable
from typing import Any

import torch

from recorder.asking import NotAnswered
from recorder.steps import FIGURES, bytes_and_peaks, initial_values, outside_the_allocator

# Llama 3.2 of 1B, by its configuration.
LLAMA_1B = {"vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
         "num_attention_heads": 32, "num_key_value_heads": 8, "tie_word_embeddings": True}  # fmt: skip
FLOATS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def library(name: str) -> str:
    """The version of a package. Raises NotAnswered if it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        raise NotAnswered(f"{name} is not installed") from None


class Account:
    """Bytes allocated, reserved, both peaks, and what the whole process holds on the device."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {"figures": FIGURES, "context": outside_the_allocator()}
        self.mark("begin")

    def mark(self, name: str) -> None:
        torch.cuda.synchronize()
        self.told[name] = bytes_and_peaks()

    def end(self) -> dict[str, Any]:
        return self.told | {"outside the allocator": outside_the_allocator()}


def zeros_for_initial_values() -> contextlib.AbstractContextManager[None]:
    """What modules that are made inside would draw is zero. It is quick, and a step with zeros
    overflows nowhere: a gradient scaler takes the step, whatever the memory held before."""
    return initial_values(_zero)


def _zero(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    with torch.no_grad():
        return tensor.zero_()


def made(make: Callable[[], Any], *, drawn: bool) -> Any:
    """The model; its parameters are zero unless their values decide about shapes (`drawn`)."""
    with contextlib.nullcontext() if drawn else zeros_for_initial_values():
        return make()


def moved(batch: Any, dtype: torch.dtype | None = None) -> Any:
    """The same dicts and lists with their tensors on the device; floats as `dtype` if given."""
    if isinstance(batch, torch.Tensor):
        batch = batch.cuda()
        return batch.to(dtype) if dtype is not None and batch.is_floating_point() else batch
    if isinstance(batch, dict):
        return {key: moved(one, dtype) for key, one in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [moved(one, dtype) for one in batch]
    return batch


def of_timm(name: str) -> Callable[[torch.nn.Module], Any]:
    def make(model: torch.nn.Module) -> Any:
        library("timm")
        from timm.optim import create_optimizer_v2

        return create_optimizer_v2(model, opt=name, lr=1e-4, weight_decay=0.01)

    return make


def of_torch(name: str, **settings: Any) -> Callable[[torch.nn.Module], Any]:
    def make(model: torch.nn.Module) -> Any:
        parameters = [one for one in model.parameters() if one.requires_grad]
        return getattr(torch.optim, name)(parameters, **settings)

    return make


def t5_adafactor(model: torch.nn.Module) -> Any:
    library("transformers")
    from transformers.optimization import Adafactor

    return Adafactor(model.parameters(), scale_parameter=True, relative_step=True, lr=None)


class Both:
    """Two optimizers as one: sparse gradients go to the first."""

    def __init__(self, model: torch.nn.Module) -> None:
        tables = [one.weight for one in model.modules() if getattr(one, "sparse", False)]
        rest = [one for one in model.parameters() if not any(one is other for other in tables)]
        self.parts = [torch.optim.SparseAdam(tables, lr=1e-3), torch.optim.Adagrad(rest, lr=1e-2)]

    def step(self) -> None:
        for one in self.parts:
            one.step()

    def zero_grad(self) -> None:
        for one in self.parts:
            one.zero_grad()


OPTIMIZERS: dict[str, Callable[[torch.nn.Module], Any]] = {
    "sgd": of_torch("SGD", lr=0.01, momentum=0.9),
    "nesterov": of_torch("SGD", lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4),
    "adam": of_torch("Adam", lr=1e-3),
    "adamw": of_torch("AdamW", lr=1e-4),
    "adamw+fused": of_torch("AdamW", lr=1e-4, fused=True),
    "amsgrad": of_torch("AdamW", lr=1e-4, amsgrad=True),
    "rmsprop": of_torch("RMSprop", lr=1e-4, momentum=0.9),
    "adagrad": of_torch("Adagrad", lr=1e-2),
    "radam": of_torch("RAdam", lr=1e-4),
    "adafactor": of_torch("Adafactor", lr=1e-3),
    "t5+adafactor": t5_adafactor,
    "sparse": Both,
    "timm+lion": of_timm("lion"),
    "timm+lamb": of_timm("lamb"),
    "timm+adafactor": of_timm("adafactor"),
    "timm+rmsprop": of_timm("rmsproptf"),
}


def train(
    make: Callable[[], Any],
    batch: Callable[[Any], Any],
    loss: Callable[[Any, Any], torch.Tensor],
    *,
    package: str = "torch",
    optimizer: str = "adamw",
    mode: str = "fp32",
    steps: int = 2,
    drawn: bool = False,
) -> dict[str, Any]:
    """`steps` training steps; `batch` gets the model and gives tensors of the host.

    Words of `mode`: fp32; bf16 (parameters, too); amp (autocast to bfloat16); fp16 (autocast with a
    gradient scaler); channels_last; checkpointing; clip (the gradients' norm); ema (an average of the
    weights); micro8 (eight backwards a step); compiled.
    """
    words = mode.split()
    version = library(package)
    torch.cuda.init()
    account = Account()
    model = made(make, drawn=drawn).train()
    dtype = torch.bfloat16 if "bf16" in words else None
    if "checkpointing" in words:
        enable = getattr(model, "set_grad_checkpointing", None)
        enable() if enable else model.gradient_checkpointing_enable()
    model.to("cuda", dtype)
    if "channels_last" in words:
        model.to(memory_format=torch.channels_last)
    account.mark("model")
    average = None
    if "ema" in words:
        average = torch.optim.swa_utils.AveragedModel(
            model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999)
        )
        account.mark("average made")
    taking = OPTIMIZERS[optimizer](model)
    scaler = torch.amp.GradScaler("cuda", enabled="fp16" in words)
    given = moved(batch(model), dtype)
    account.mark("batch")
    half = torch.float16 if "fp16" in words else torch.bfloat16
    parts = next((int(word[5:]) for word in words if word.startswith("micro")), 1)
    runs = torch.compile(model) if "compiled" in words else model
    for step in range(1, steps + 1):
        for part in range(1, parts + 1):
            name = f"{step}.{part}" if parts > 1 else f"{step}"
            with torch.autocast("cuda", dtype=half, enabled="amp" in words or "fp16" in words):
                value = loss(runs, given) / parts
            account.mark(f"forward {name}")
            scaler.scale(value).backward()
            account.mark(f"backward {name}")
        if "clip" in words:
            if scaler.is_enabled():
                scaler.unscale_(taking)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            account.mark(f"clip {step}")
        scaler.step(taking) if scaler.is_enabled() else taking.step()
        scaler.update()
        account.mark(f"step {step}")
        if average is not None:
            average.update_parameters(model)
            account.mark(f"average {step}")
        taking.zero_grad()
        account.mark(f"zero_grad {step}")
        del value
    return account.end() | {package: version}


def serve(
    make: Callable[[], Any],
    batch: Callable[[Any], Any],
    call: Callable[[Any, Any], Any],
    *,
    package: str = "torch",
    mode: str = "fp32",
    steps: int = 2,
    drawn: bool = False,
) -> dict[str, Any]:
    """`call` twice, without gradients. Words of `mode`: a type of parameters, channels_last, compiled."""
    words = mode.split()
    version = library(package)
    dtype = next((FLOATS[word] for word in words if word in FLOATS), None)
    torch.cuda.init()
    account = Account()
    model = made(make, drawn=drawn).eval()
    model.to("cuda", dtype)
    if "channels_last" in words:
        model.to(memory_format=torch.channels_last)
    account.mark("model")
    given = moved(batch(model), dtype)
    account.mark("batch")
    runs = torch.compile(model) if "compiled" in words else model
    with torch.no_grad():
        for step in range(1, steps + 1):
            found = call(runs, given)
            account.mark(f"forward {step}")
            del found
            account.mark(f"result {step}")
    return account.end() | {package: version}


def lines(text: str) -> list[list[str]]:
    """The words of each entry of a table; entries end with a line or with |."""
    return [one.split() for line in text.strip().splitlines() for one in line.split("|")]
