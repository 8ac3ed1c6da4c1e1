"""Storages, copies, files and other libraries' views of tensors on devices."""

import copy
import io
import pickle
import re

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.devices("cuda:2")


CUDA0, CUDA1, CPU = torch.device("cuda:0"), torch.device("cuda:1"), torch.device("cpu")


def round_trip(value, save=None, **options):
    file = io.BytesIO()
    torch.save(value, file, **(save or {}))
    file.seek(0)
    return torch.load(file, **options)


def test_storages() -> None:
    # Storages: made, moved, resized; the account follows.
    x = torch.arange(6.0, device="cuda:1").view(2, 3)
    storage = x.untyped_storage()
    assert torch.UntypedStorage(10, device="cuda:1").device == CUDA1
    assert torch.UntypedStorage([1, 2, 3], device="cuda").tolist() == [1, 2, 3]
    assert torch.cuda.FloatStorage([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert storage.cpu().device == CPU and storage.cpu().cuda(0).device == CUDA0
    assert storage.clone().device == CUDA1 and storage.is_shared() and not storage.is_pinned()
    before = torch.cuda.memory_allocated(1)
    storage.resize_(4096)
    assert x.untyped_storage().nbytes() == 4096 and x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert torch.cuda.memory_allocated(1) - before == 4096 - 512
    storage.resize_(0)
    assert torch.cuda.memory_allocated(1) - before == -512
    storage.resize_(24)
    assert x.fill_(2).tolist() == [[2.0] * 3] * 2
    storage.fill_(0)
    assert x.sum() == 0 and storage[3] == 0
    x.resize_(4, 5)
    assert x.untyped_storage().nbytes() == 80
    large = torch.cuda.get_device_properties(1).total_memory + 1
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate"):
        torch.empty(large, device="cuda:1")


def test_copies_keep_the_device_and_what_is_shared() -> None:
    # Copies keep the device and what is shared.
    model = torch.nn.Linear(3, 2).cuda(1)
    assert all(p.device == CUDA1 for p in copy.deepcopy(model).parameters())
    base = torch.zeros(4, device="cuda")
    copied, view = copy.deepcopy([base, base[1:]])
    view.fill_(7)
    assert copied.tolist() == [0, 7, 7, 7] and base.sum() == 0
    assert pickle.loads(pickle.dumps(model)).weight.device == CUDA1


def test_files(tmp_path) -> None:
    x = torch.arange(6.0, device="cuda:1").view(2, 3)
    model = torch.nn.Linear(3, 2).cuda(1)
    # Files, with every map_location.
    wanted = [
        (None, CUDA1), ("cpu", CPU), ("cuda", CUDA0), ("cuda:0", CUDA0), (torch.device("cuda:0"), CUDA0),
        ({"cuda:1": "cuda:0"}, CUDA0), ({"cuda:1": "cpu"}, CPU), ({"cuda:0": "cpu"}, CUDA1),
        (lambda s, place: s, CPU), (lambda s, place: s.cuda(0), CUDA0), (lambda s, place: None, CUDA1),
        ("meta", torch.device("meta")),
    ]  # fmt: skip
    for weights_only in (True, False):
        for location, device in wanted:
            loaded = round_trip(x, map_location=location, weights_only=weights_only)
            assert loaded.device == device, (location, loaded.device)
            assert device.type == "meta" or torch.equal(loaded.cpu(), x.cpu())
    assert round_trip(model, weights_only=False).weight.device == CUDA1
    assert round_trip(x, {"_use_new_zipfile_serialization": False}).device == CUDA1
    assert round_trip(torch.eye(3, device="cuda").to_sparse()).device == CUDA0
    with pytest.raises(
        RuntimeError,
        match=re.escape(
            "Attempting to deserialize object on CUDA device 7 but torch.cuda.device_count() is 2"
        ),
    ):
        round_trip(x, map_location="cuda:7")
    optimizer = torch.optim.Adam(model.parameters())
    model(x).sum().backward()
    optimizer.step()
    assert round_trip(optimizer.state_dict())["state"][0]["exp_avg"].device == CUDA1
    torch.save(x, tmp_path / "x.pt")
    assert torch.load(tmp_path / "x.pt", mmap=True, map_location="cpu").tolist() == x.tolist()


def test_dlpack_and_array_interfaces() -> None:
    x = torch.arange(6.0, device="cuda:1").view(2, 3)
    # DLPack and the array interfaces.
    with torch.cuda.device(1):
        assert torch.from_dlpack(x).data_ptr() == x.data_ptr()
        assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    with pytest.raises(BufferError, match="different CUDA device index"):
        x.__dlpack__()
    assert torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x)).device == CUDA1
    assert x.__cuda_array_interface__["shape"] == (2, 3)
    assert x.__cuda_array_interface__["data"] == (x.data_ptr(), False)
    refused = (
        "can't convert cuda:1 device type tensor to numpy. Use Tensor.cpu() to copy the tensor"
    )
    with pytest.raises(TypeError, match=re.escape(refused)):
        x.numpy()
    with pytest.raises(TypeError, match=re.escape(refused)):
        np.asarray(x)
    assert x.numpy(force=True).shape == (2, 3)
    assert torch.from_numpy(np.ones(3)).cuda().tolist() == [1.0, 1.0, 1.0]


def test_pinned_memory() -> None:
    x = torch.arange(6.0, device="cuda:1").view(2, 3)
    # Pinned memory.
    pinned = torch.ones(1000).pin_memory()
    assert pinned.is_pinned() and pinned[1:].is_pinned() and not torch.ones(4).is_pinned()
    assert not pinned.clone().is_pinned() and pinned.cuda(non_blocking=True).device == CUDA0
    assert torch.cuda.host_memory_stats()["active_bytes.current"] == 4096
    del pinned
    assert torch.cuda.host_memory_stats()["active_bytes.current"] == 0
    assert torch.cuda.host_memory_stats()["allocated_bytes.current"] == 4096  # kept for the next
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        x.pin_memory()


def test_types_of_old_programs() -> None:
    x = torch.arange(6.0, device="cuda:1").view(2, 3)
    # The types of old programs.
    assert torch.cuda.FloatTensor(3).device == CUDA0
    assert torch.cuda.LongTensor([[1, 2]]).tolist() == [[1, 2]]
    assert isinstance(x, torch.cuda.FloatTensor) and not isinstance(x.cpu(), torch.cuda.FloatTensor)
    assert torch.ones(1).type(torch.cuda.HalfTensor).dtype == torch.half
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
    assert torch.ones(2).device == CUDA0
    torch.set_default_tensor_type("torch.FloatTensor")
    assert torch.ones(2).device == CPU
    torch.set_default_device("cuda:1")
    assert torch.ones(2).device == torch.nn.Linear(2, 2).weight.device == CUDA1
    torch.set_default_device(None)
