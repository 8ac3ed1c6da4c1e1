"""Tests that the pytest plugin runs on virtual devices."""

import torch


def test_two_devices():
    assert torch.cuda.device_count() == 2
    assert (torch.ones(2, device="cuda:1") + 1).tolist() == [2.0, 2.0]
