"""torchport.choose_device, profile: reasons and refusals, on two virtual CUDA devices."""

import os
import subprocess
import sys
from pathlib import Path

import torch
import torchport
from checks import check, error_of, run_checks


@check
def preference_and_numbers():
    assert torchport.choose_device("mps,cuda").device == torch.device("cuda:0")
    assert "mps" in torchport.choose_device("mps,cuda").refused[0]
    assert torchport.choose_device("cuda:1").device == torch.device("cuda:1")
    assert torchport.choose_device("cuda:7, cpu").device == torch.device("cpu")
    assert "the last one is cuda:1" in torchport.choose_device("cuda:7,cpu").refused[0]
    assert torchport.choose_device(torch.device("cuda:1")).device == torch.device("cuda:1")
    assert torchport.choose_device("auto").device.type == "cuda"
    assert torchport.device("meta") == torch.device("meta")


@check
def the_one_with_most_memory_free():
    hog = torch.empty(64 << 20, dtype=torch.uint8, device="cuda:0")
    chosen = torchport.choose_device("cuda:free")
    assert chosen.device == torch.device("cuda:1") and "most free memory" in chosen.reason
    del hog


@check
def local_rank_picks_one_of_several():
    assert torchport.choose_device("cuda", local_rank=1).device == torch.device("cuda:1")
    assert torchport.choose_device("cuda:0", local_rank=1).device == torch.device("cuda:0")
    assert "local rank 2" in error_of(RuntimeError, torchport.choose_device, "cuda", local_rank=2)
    os.environ["LOCAL_RANK"] = "1"
    assert torchport.choose_device("cuda").reason == "cuda:1 is the device for local rank 1"
    os.environ["LOCAL_RANK"] = "one"
    assert "LOCAL_RANK" in error_of(ValueError, torchport.choose_device, "cuda")
    del os.environ["LOCAL_RANK"]


@check
def what_is_no_device_is_said():
    for wanted in ("gpu", "cuda:x", "cuda:-1", "cuda,,cpu", ",", "cuda:1:2"):
        assert "is not a device" in error_of(ValueError, torchport.choose_device, wanted), wanted
    words = error_of(RuntimeError, torchport.choose_device, "mps,xpu")
    assert "built without mps" in words and "built without xpu" in words
    # Doctor's verdict on the machine, whatever that is: one line between the refusals and the advice.
    verdict = words.splitlines()[-2]
    assert torch.__version__ in verdict or "[" in verdict, words


@check
def the_environment_and_the_profile():
    assert torchport.run_profile() is None and torchport.choose_device().source == "default"
    Path("pyproject.toml").write_text(
        '[tool.torchport.profiles.default]\ndevice = "cuda:1"\n'
        '[tool.torchport.profiles.ci]\ndevice = "cpu"\ndtype = "bfloat16"\nbatch-size = 2\nworkers = 0\n'
    )
    Path("inner").mkdir()
    assert torchport.choose_device().device == torch.device("cuda:1")
    assert torchport.choose_device().source.startswith("profile default of ")
    os.environ["TORCHPORT_PROFILE"] = "ci"
    assert torchport.choose_device().device == torch.device("cpu")
    found = torchport.run_profile(folder="inner")
    assert (found.dtype, found.batch_size, found.workers) == (torch.bfloat16, 2, 0)
    os.environ["TORCHPORT_DEVICE"] = "cuda:0"
    assert torchport.choose_device().source == "TORCHPORT_DEVICE"
    assert torchport.choose_device("cpu").source == "argument"
    del os.environ["TORCHPORT_DEVICE"]
    os.environ["TORCHPORT_PROFILE"] = "prod"
    assert "it has ci, default" in error_of(ValueError, torchport.run_profile)
    del os.environ["TORCHPORT_PROFILE"]


@check
def profiles_that_cannot_be():
    for text, words in (
        ("device = 3", '"device" must be a string'),
        ('dtype = "float31"', 'no dtype "float31"'),
        ("batch-size = 0", '"batch-size" cannot be 0'),
        ("workers = 1.5", '"workers" must be a whole number'),
        ("batchsize = 1", 'unknown key "batchsize"'),
    ):
        Path("torchport.toml").write_text(f"[profiles.bad]\n{text}\n")
        message = error_of(ValueError, torchport.run_profile, "bad")
        assert words in message and "torchport.toml:2" in message, message
    Path("torchport.toml").write_text("[profiles\n")
    assert "torchport.toml:1" in error_of(ValueError, torchport.run_profile, "bad")
    Path("torchport.toml").unlink()
    Path("pyproject.toml").unlink()
    assert "was not found" in error_of(ValueError, torchport.run_profile, "bad")


@check
def the_package_alone_imports_no_torch():
    code = (
        "import sys, torchport; from torchport import virtual; torchport.virtual.enabled();"
        "assert 'torch' not in sys.modules; torchport.to; assert 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


run_checks()
