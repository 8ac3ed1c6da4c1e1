from __future__ import annotations

import re
from pathlib import Path


def passed(output: str) -> list[str]:
    return re.findall(r"^passed: (.*)$", output, re.MULTILINE)


def test_data_parallel_trains_as_one_process_does(run_virtual):
    assert passed(run_virtual(Path("data_parallel.py")).stdout) == [
        "ddp",
        "ddp with a hook",
        "fully_shard",
        "fully_shard in bfloat16",
    ]


def test_dtensor_tensor_parallel_and_checkpoints(run_virtual, tmp_path):
    assert passed(run_virtual(Path("device_mesh.py"), args=[tmp_path]).stdout) == [
        "placements",
        "tensor parallel",
        "checkpoints",
    ]


def test_torchrun_starts_one_process_for_each_device(run_virtual):
    done = run_virtual(
        Path("launched.py"),
        python_args=["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"],
    )
    found = re.search(r"devices 2 world 2 loss ([\d.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found[1]) < 0.2


def test_sync_batch_norm_learns_what_one_process_learns(run_virtual):
    assert passed(run_virtual(Path("sync_batch_norm.py")).stdout) == ["sync batch norm"]
