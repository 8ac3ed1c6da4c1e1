"""Memory figures under settings of the allocator, and its accounts in full."""

import torch
from recorder.registry import Question, add
from recorder.steps import MIB, Steps, made

SETTINGS = (
    "max_split_size_mb:21",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
    "garbage_collection_threshold:0.5",
    "expandable_segments:True",
)


def ask(setting):
    torch.cuda.memory._set_allocator_settings(setting)
    steps = Steps()
    kept = []
    for size in (700, MIB + 1, 5 * MIB, 11 * MIB, 30 * MIB, 50 * MIB + 1):
        kept.append(made(size))
        steps.mark(str(size))
    del kept[::2]
    steps.mark("every second freed")
    kept.append(made(21 * MIB))
    steps.mark("one more")
    torch.cuda.empty_cache()
    steps.mark("emptied")
    return steps.told()


for one in SETTINGS:
    add(Question(one, lambda setting=one: ask(setting), alone=True))


def accounts():
    """Every figure of memory_stats() after a few steps."""
    kept = [made(size) for size in (100, 700_000, 3 * MIB, 12 * MIB)]
    del kept[1:3]
    made(5 * MIB)
    return torch.cuda.memory_stats()


def snapshot():
    """The segments and their blocks, without addresses."""
    kept = [made(size) for size in (100, 700_000, 3 * MIB, 12 * MIB)]
    del kept[1:3]
    left_out = ("address", "frames", "stream", "allocation_frames")

    def public(value):
        if isinstance(value, dict):
            return {k: public(v) for k, v in value.items() if k not in left_out}
        return [public(item) for item in value] if isinstance(value, list) else value

    return public(torch.cuda.memory_snapshot())


def host_accounts():
    kept = [torch.empty(size, dtype=torch.uint8, pin_memory=True) for size in (100, 5000, 3 * MIB)]
    del kept[1]
    stats = torch.cuda.host_memory_stats()
    return {key: value for key, value in stats.items() if "_time" not in key}


for function in (accounts, snapshot, host_accounts):
    add(Question(function.__name__, function, alone=True))
