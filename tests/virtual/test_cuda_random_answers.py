"""Known answers: what public sources print for seeds on NVIDIA devices.

random_answers.json has an expression, the seed before it, and the printed values with their number of
decimals. `source` is a repository and a path or `owner/repository#issue`. Values are never made up or
taken from torchport.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ANSWERS = json.loads((Path(__file__).parent / "random_answers.json").read_text())
PROFILE = "a100-80g"

PROGRAM = """
import json, sys, torch
for answer in json.load(sys.stdin):
    torch.manual_seed(answer["seed"])
    print(json.dumps(eval(answer["code"]).detach().double().flatten().tolist()))
"""


@pytest.fixture(scope="module")
def drawn() -> dict[int, list[float]]:
    """What virtual devices of each profile draw, by the number of the answer."""
    values = {}
    profiles = {answer.get("profile", PROFILE) for answer in ANSWERS}
    for profile in sorted(profiles):
        numbers = [i for i, a in enumerate(ANSWERS) if a.get("profile", PROFILE) == profile]
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM],
            input=json.dumps([ANSWERS[i] for i in numbers]),
            env=os.environ | {"TORCHPORT_VIRTUAL": f"cuda:1,profile={profile}"},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        values |= dict(zip(numbers, map(json.loads, done.stdout.splitlines()), strict=True))
    return values


@pytest.mark.parametrize("number", range(len(ANSWERS)))
def test_known_answer(number: int, drawn: dict[int, list[float]]) -> None:
    answer = ANSWERS[number]
    half_of_last_digit = 0.5 * 10.0 ** -answer["decimals"] + 1e-9
    assert drawn[number] == pytest.approx(answer["values"], rel=0, abs=half_of_last_digit)
