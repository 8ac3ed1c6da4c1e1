"""For each operator of PyTorch's own database: whether it waits for the device, whether it is refused
as not deterministic, and its type under autocast."""

import torch
from recorder.database import first_working, operators, outline, refusal, tensors_in
from recorder.registry import generated


def called(entry, given):
    return entry(given[0], *given[1], **given[2])


def waits(entry):
    given = first_working(entry)
    if given is None:
        return "no sample"
    torch.cuda.set_sync_debug_mode("error")
    try:
        with torch.no_grad():
            called(entry, given)
    except Exception as error:
        return refusal(error)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return False


def deterministic(entry):
    """What it and its gradient say when only deterministic algorithms are allowed."""
    told = []
    for backward in (False, True):
        given = first_working(entry, requires_grad=backward)
        if given is None:
            told.append("no sample")
            continue
        torch.use_deterministic_algorithms(True)
        try:
            found = called(entry, given)
            inputs = [t for t in tensors_in(given) if t.requires_grad]
            outs = [t for t in tensors_in(found) if t.requires_grad]
            if backward and inputs and outs:
                total = sum((o.abs() if o.is_complex() else o).sum().float() for o in outs)
                torch.autograd.grad(total, inputs, allow_unused=True)
            told.append(True)
        except Exception as error:
            told.append(refusal(error))
        finally:
            torch.use_deterministic_algorithms(False)
    return told


def autocast(entry):
    given = first_working(entry)
    if given is None:
        return "no sample"
    told = {}
    for dtype in (torch.float16, torch.bfloat16):
        key = str(dtype).removeprefix("torch.")
        try:
            with torch.no_grad(), torch.autocast("cuda", dtype=dtype):
                told[key] = [outline(t) for t in tensors_in(called(entry, given))]
        except Exception as error:
            told[key] = refusal(error)
    return told


ASKS = {"waits": waits, "deterministic": deterministic, "autocast": autocast}
generated(operators(ASKS))
