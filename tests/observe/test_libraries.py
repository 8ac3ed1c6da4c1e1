"""What happens inside installed libraries is counted apart; what fails a model is chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torchport
from torch import nn
from torchport.observe.scopes import library_of

pytestmark = [pytest.mark.devices("cuda:1")]

LIBRARY = """
def reads(x):
    return x + 1 if x.sum() > 0 else x

def copies(x):
    return x.cpu().to(x.device)
"""


@pytest.fixture
def fancy(tmp_path: Path, monkeypatch):
    package = tmp_path / "lib" / "site-packages" / "fancy_of_libraries"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(package.parent))
    import fancy_of_libraries

    return fancy_of_libraries


class Uses(nn.Module):
    def __init__(self, *functions):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.functions = functions

    def forward(self, x):
        y = self.linear(x)
        for function in self.functions:
            y = function(y)
        return y


def verified(model, **options):
    return torchport.verify(model, torch.ones(2, 4), device="cuda", evaluate=True, **options)


def test_reads_inside_libraries_do_not_fail_a_model(fancy) -> None:
    result = verified(Uses(fancy.reads, fancy.copies))
    assert result.ok, result
    (found,) = result.findings
    assert (found.severity, found.code) == ("note", "in-libraries")
    assert found.message.startswith("1 read and 2 copies inside libraries (fancy_of_libraries: 3)")
    assert len(result.transfers) == 3, "the report has them all"


def test_they_are_findings_if_asked(fancy) -> None:
    result = verified(Uses(fancy.reads), libraries=True)
    assert [one.code for one in result.findings] == ["synchronising-read"] and not result.ok


def own(x):
    return x * x.max().item()


def test_the_programs_own_reads_still_fail_it(fancy) -> None:
    result = verified(Uses(fancy.reads, own))
    assert [one.code for one in result.findings] == ["synchronising-read", "in-libraries"]
    assert not result.ok and str(result).rstrip().endswith("not verified: 1 warning")


def test_warnings_may_be_let_through() -> None:
    result = verified(Uses(own), fail_on="error")
    assert result.ok and result.findings[0].severity == "warning"
    assert str(result).rstrip().endswith("\nverified: 1 warning")
    assert result.to_dict()["fail_on"] == "error"
    mixed = verified(Uses(lambda y: y * torch.ones(4)), fail_on="error")
    assert not mixed.ok
    with pytest.raises(ValueError, match="fail_on"):
        verified(Uses(own), fail_on="note")


@pytest.mark.parametrize(
    ("file", "library"),
    [
        ("/venv/lib/python3.11/site-packages/transformers/models/bert.py", "transformers"),
        ("/usr/lib/python3/dist-packages/six.py", "six"),
        ("/home/me/site-packages", ""),
        ("/home/me/project/net.py", ""),
        (torch.__file__, "torch"),
        (pytest.__file__, "pytest"),
    ],
)
def test_which_files_are_libraries(file, library) -> None:
    assert library_of(file) == library
