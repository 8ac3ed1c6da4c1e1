"""`torchport infer --engine ray` on a local cluster of several nodes (make test-cluster)."""

from __future__ import annotations

import os
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
import torchport
from safetensors.torch import load_file, save_file
from torch import nn
from torchport.deploy.cluster import command

pytestmark = [
    pytest.mark.devices(None),
    pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed"),
]


class Net(nn.Module):
    """Its work is done row by row; `slow` repeats it."""

    def __init__(self, repeats: int = 1):
        super().__init__()
        self.of = nn.Linear(4, 4)
        self.repeats = repeats

    def forward(self, x):
        y = x
        for _ in range(self.repeats):
            y = torch.tanh(self.of(y))
        return y, y.sum(-1)


@pytest.fixture(scope="module")
def cluster():
    """Three nodes, of one core each, on this machine."""
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    made.add_node(num_cpus=1)
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


def artefact(path: Path, repeats: int = 1) -> tuple[Path, nn.Module]:
    torch.manual_seed(0)
    net = Net(repeats).eval()
    torchport.export(
        net, torch.randn(3, 4), to="torchscript", path=path / "net.pt", dynamic="batch"
    )
    return path / "net.pt", net


def infer(*words: object) -> int:
    return command.main([*map(str, words), "--engine", "ray", "-q"])


def test_results_are_in_order_and_equal_one_process(cluster, tmp_path):
    file, net = artefact(tmp_path)
    data = [torch.randn(rows, 4) for rows in (70, 1, 33)]
    np.save(tmp_path / "a.npy", data[0].numpy())
    save_file({"x": data[1]}, tmp_path / "b.safetensors")
    np.savez(tmp_path / "c.npz", x=data[2].numpy())
    files = [tmp_path / name for name in ("a.npy", "b.safetensors", "c.npz")]
    assert infer(file, *files, "-o", tmp_path / "out.safetensors", "--batch-size", 8) == 0
    got = load_file(tmp_path / "out.safetensors")
    with torch.no_grad():
        wanted = net(torch.cat(data))
    assert list(got) == ["output", "output_1"]
    torch.testing.assert_close(got["output"], wanted[0])
    torch.testing.assert_close(got["output_1"], wanted[1])
    assert not (tmp_path / "out.safetensors.parts").exists()


def test_a_node_that_is_killed_loses_and_doubles_nothing(cluster, tmp_path, monkeypatch, capsys):
    from torchport.deploy.cluster import parts
    from torchport.deploy.cluster.engines import ray as engine

    places = tmp_path / "places"
    places.mkdir()

    class Slow(engine._Runner):
        """Says on which node it runs."""

        def run(self, inputs):
            import ray

            (places / ray.get_runtime_context().get_node_id()).touch()
            time.sleep(0.3)
            return super().run(inputs)

    file, net = artefact(tmp_path)
    data = torch.randn(30 * 8, 4)
    np.save(tmp_path / "x.npy", data.numpy())
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    added = []
    killed = []
    add = parts.Parts.add

    def add_and_kill(self, block, names, tensors):
        added.append(block)
        if not killed:
            head = cluster.head_node.node_id
            busy = [
                n
                for n in cluster.worker_nodes
                if (places / n.node_id).exists() and n.node_id != head
            ]
            if busy:
                killed.append(busy[0])
                cluster.remove_node(busy[0], allow_graceful=False)
        add(self, block, names, tensors)

    monkeypatch.setattr(engine, "_Runner", Slow)
    monkeypatch.setattr(parts.Parts, "add", add_and_kill)
    words = [file, tmp_path / "x.npy", "-o", tmp_path / "o.safetensors", "--batch-size", 8]
    code = command.main([*map(str, words), "--engine", "ray", "--workers", "4"])
    said = capsys.readouterr().err
    assert code == 0, said
    assert killed and sorted(added) == list(range(30))  # each once
    with torch.no_grad():
        torch.testing.assert_close(load_file(tmp_path / "o.safetensors")["output"], net(data)[0])
    assert "a worker was lost" in said and "blocks ran again" in said


def test_an_interrupted_run_goes_on(cluster, tmp_path, monkeypatch, capsys):
    from torchport.deploy.cluster import parts

    file, net = artefact(tmp_path)
    data = torch.randn(40, 4)
    np.save(tmp_path / "x.npy", data.numpy())
    output = tmp_path / "o.safetensors"
    words = [file, tmp_path / "x.npy", "-o", output, "--batch-size", 4]
    added = []
    add = parts.Parts.add

    def stop_after_three(self, block, names, tensors):
        add(self, block, names, tensors)
        added.append(block)
        if len(added) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(parts.Parts, "add", stop_after_three)
    assert infer(*words) == 130
    assert not output.exists() and "goes on from" in capsys.readouterr().err
    assert infer(*words[:-1], 5) == 1  # other blocks
    assert "the parts of another run" in capsys.readouterr().err
    added.clear()
    added.append(-1)
    added.append(-1)
    added.append(-1)
    assert infer(*words) == 0
    assert len(added) == 3 + 10 - 3
    with torch.no_grad():
        torch.testing.assert_close(load_file(output)["output_1"], net(data)[1])


def test_what_does_not_fit_is_told(cluster, tmp_path, capsys):
    file, _ = artefact(tmp_path)
    np.save(tmp_path / "wide.npy", np.ones((3, 5), np.float32))
    np.save(tmp_path / "x.npy", np.ones((3, 4), np.float32))
    np.savez(tmp_path / "y.npz", y=np.ones((3, 4), np.float32))
    (tmp_path / "broken.npy").write_bytes(b"nothing")
    out = tmp_path / "o.safetensors"

    def error(*words: object) -> str:
        assert infer(*words) == 1
        return capsys.readouterr().err

    assert "expected float32 [batch, 4]" in error(file, tmp_path / "wide.npy", "-o", out, "--fresh")
    assert "wide.npy, rows 0 to 2" in error(file, tmp_path / "wide.npy", "-o", out, "--fresh")
    assert "has no tensor x; it has y" in error(file, tmp_path / "y.npz", "-o", out)
    assert "broken.npy" in error(file, tmp_path / "broken.npy", "-o", out)
    assert "nowhere.npy" in error(file, tmp_path / "nowhere.npy", "-o", out)
    assert "write a .safetensors file" in error(file, tmp_path / "x.npy", "-o", tmp_path / "o.npy")
    assert "there is no folder" in error(file, tmp_path / "x.npy", "-o", tmp_path / "no" / "o.npy")
    assert "it is not an artefact" in error(tmp_path / "x.npy", tmp_path / "x.npy", "-o", out)
    assert not out.exists()


def test_a_block_that_ends_its_workers_ends_the_run(cluster, tmp_path, monkeypatch, capsys):
    from torchport.deploy.cluster.engines import ray as engine

    class Dying(engine._Runner):
        def run(self, inputs):
            if float(inputs[0][0, 0]) == 7:
                os._exit(1)
            return super().run(inputs)

    monkeypatch.setattr(engine, "_Runner", Dying)
    file, _ = artefact(tmp_path)
    data = torch.randn(12, 4)
    data[8, 0] = 7
    np.save(tmp_path / "x.npy", data.numpy())
    begun = time.monotonic()
    assert infer(file, tmp_path / "x.npy", "-o", tmp_path / "o.safetensors", "--batch-size", 4) == 1
    said = capsys.readouterr().err
    assert "x.npy, rows 8 to 11: 3 workers ended while they had this block" in said
    assert time.monotonic() - begun < 120
