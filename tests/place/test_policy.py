"""torchport.choose_device, profile: reasons and refusals, on two virtual CUDA devices."""

import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torchport
from torchport.place import policy

pytestmark = [pytest.mark.devices("cuda:2", memory="1GiB"), pytest.mark.usefixtures("own_folder")]


def test_preference_and_numbers():
    assert torchport.choose_device("mps,cuda").device == torch.device("cuda:0")
    assert "mps" in torchport.choose_device("mps,cuda").refused[0]
    assert torchport.choose_device("cuda:1").device == torch.device("cuda:1")
    assert torchport.choose_device("cuda:7, cpu").device == torch.device("cpu")
    assert "the last one is cuda:1" in torchport.choose_device("cuda:7,cpu").refused[0]
    assert torchport.choose_device(torch.device("cuda:1")).device == torch.device("cuda:1")
    assert torchport.choose_device("auto").device.type == "cuda"
    assert torchport.device("meta") == torch.device("meta")


def test_the_one_with_most_memory_free():
    hog = torch.empty(64 << 20, dtype=torch.uint8, device="cuda:0")
    chosen = torchport.choose_device("cuda:free")
    assert chosen.device == torch.device("cuda:1") and "most free memory" in chosen.reason
    del hog


def test_local_rank_picks_one_of_several(monkeypatch):
    assert torchport.choose_device("cuda", local_rank=1).device == torch.device("cuda:1")
    assert torchport.choose_device("cuda:0", local_rank=1).device == torch.device("cuda:0")
    with pytest.raises(RuntimeError, match="local rank 2"):
        torchport.choose_device("cuda", local_rank=2)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert torchport.choose_device("cuda").reason == "cuda:1 is the device for local rank 1"
    monkeypatch.setenv("LOCAL_RANK", "one")
    with pytest.raises(ValueError, match="LOCAL_RANK"):
        torchport.choose_device("cuda")


def test_what_is_no_device_is_said():
    for wanted in ("gpu", "cuda:x", "cuda:-1", "cuda,,cpu", ",", "cuda:1:2"):
        with pytest.raises(ValueError, match="is not a device"):
            torchport.choose_device(wanted)
    with pytest.raises(RuntimeError) as caught:
        torchport.choose_device("mps,xpu")
    words = str(caught.value)
    assert "built without mps" in words and "built without xpu" in words
    # Doctor's verdict on the machine, whatever that is: one line between the refusals and the advice.
    verdict = words.splitlines()[-2]
    assert torch.__version__ in verdict or "[" in verdict, words


def test_the_environment_and_the_profile(monkeypatch):
    assert torchport.run_profile() is None and torchport.choose_device().source == "default"
    Path("pyproject.toml").write_text(
        '[tool.torchport.profiles.default]\ndevice = "cuda:1"\n'
        '[tool.torchport.profiles.ci]\ndevice = "cpu"\ndtype = "bfloat16"\nbatch-size = 2\nworkers = 0\n'
    )
    Path("inner").mkdir()
    assert torchport.choose_device().device == torch.device("cuda:1")
    assert torchport.choose_device().source.startswith("profile default of ")
    monkeypatch.setenv("TORCHPORT_PROFILE", "ci")
    assert torchport.choose_device().device == torch.device("cpu")
    found = torchport.run_profile(folder="inner")
    assert (found.dtype, found.batch_size, found.workers) == (torch.bfloat16, 2, 0)
    monkeypatch.setenv("TORCHPORT_DEVICE", "cuda:0")
    assert torchport.choose_device().source == "TORCHPORT_DEVICE"
    assert torchport.choose_device("cpu").source == "argument"
    monkeypatch.delenv("TORCHPORT_DEVICE")
    monkeypatch.setenv("TORCHPORT_PROFILE", "prod")
    with pytest.raises(ValueError, match="it has ci, default"):
        torchport.run_profile()


def test_the_choice_is_logged_once(monkeypatch, caplog):
    monkeypatch.setenv("TORCHPORT_DEVICE", "mps,cuda:1")
    policy._of_the_program.cache_clear()
    try:
        with caplog.at_level(logging.INFO, "torchport"):
            assert torchport.device() == torchport.device() == torch.device("cuda:1")
    finally:
        policy._of_the_program.cache_clear()
    chosen, refused = caplog.messages
    assert chosen.startswith("cuda:1: ") and chosen.endswith("(TORCHPORT_DEVICE)")
    assert refused.startswith("not mps: ")


def test_profiles_that_cannot_be():
    Path("pyproject.toml").write_text('[tool.torchport.profiles.default]\ndevice = "cuda:1"\n')
    for text, words in (
        ("device = 3", '"device" must be a string'),
        ('dtype = "float31"', 'no dtype "float31"'),
        ("batch-size = 0", '"batch-size" cannot be 0'),
        ("workers = 1.5", '"workers" must be a whole number'),
        ("batchsize = 1", 'unknown key "batchsize"'),
    ):
        Path("torchport.toml").write_text(f"[profiles.bad]\n{text}\n")
        with pytest.raises(ValueError) as caught:
            torchport.run_profile("bad")
        message = str(caught.value)
        assert words in message and "torchport.toml:2" in message, message
    Path("torchport.toml").write_text("[profiles\n")
    with pytest.raises(ValueError, match=re.escape("torchport.toml:1")):
        torchport.run_profile("bad")
    Path("torchport.toml").unlink()
    Path("pyproject.toml").unlink()
    with pytest.raises(ValueError, match="was not found"):
        torchport.run_profile("bad")


@pytest.mark.own_process
def test_the_package_alone_imports_no_torch():
    code = (
        "import sys, torchport; from torchport import virtual; torchport.virtual.enabled();"
        "assert 'torch' not in sys.modules; torchport.to; assert 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
