"""What `accelerate estimate-memory` says of a program's model: python accelerate_sizes.py OUT.json program.py ...

The command takes the name of a model on Hugging Face's hub, makes it without memory and applies formulas to the
bytes of its parameters. Here the program makes the model, from its configuration, and the same functions follow.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from accelerate.commands.estimate import estimate_training_usage
from accelerate.utils import calculate_maximum_sizes
from first_call import first_call


def main() -> None:
    out, program, *arguments = sys.argv[1:]
    call = first_call(program, arguments)
    total, _ = calculate_maximum_sizes(call.module)
    answer = total  # column "Total Size"
    if call.optimizer is not None:
        mixed = arguments[arguments.index("--autocast") + 1] if "--autocast" in arguments else ""
        training = estimate_training_usage(total, mixed or "float32")
        answer = max(training.values())  # column "Training using Adam"
    Path(out).write_text(json.dumps({"bytes": int(answer), "parameters": int(total)}))


main()
