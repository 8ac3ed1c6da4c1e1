"""Notebooks and build files made to hurt."""

from __future__ import annotations

import json

import pytest
from hostile_file import DEEP, Cases, check_and_fix

pytestmark = [pytest.mark.alone("hostile"), pytest.mark.split]


def notebook(cells: object, **more: object) -> str:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more})


def cell(source: object) -> dict:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source,
    }


CASES: Cases = {
    "notebook_of_cells": (
        "a.ipynb",
        lambda: notebook([cell(["import torch\n", "x = torch.ones(1).cuda()"])] * DEEP),
        "",
    ),
    "notebook_of_lines": (
        "a.ipynb",
        lambda: notebook([cell(["x = torch.ones(1).cuda()\n"] * DEEP)]),
        "",
    ),
    "notebook_of_outputs": (
        "a.ipynb",
        lambda: notebook([cell("import torch") | {"outputs": [{"data": "x" * 10_000_000}]}]),
        "",
    ),
    "notebook_deep": (
        "a.ipynb",
        lambda: '{"cells": ' + "[" * 1_000_000 + '"torch"' + "]" * 1_000_000 + "}",
        "",
    ),
    "notebook_deep_metadata": (
        "a.ipynb",
        lambda: (
            notebook([cell("import torch\nx = torch.ones(1).cuda()")])[:-1]
            + ', "deep": '
            + '{"a":' * DEEP
            + "1"
            + "}" * (DEEP + 1)
        ),
        "",
    ),
    "notebook_unclosed": ("a.ipynb", lambda: '{"torch":' * 1_000_000, "a.ipynb"),
    "notebook_cells_no_list": ("a.ipynb", lambda: notebook("torch"), ""),
    "notebook_wrong_types": (
        "a.ipynb",
        lambda: notebook(
            [
                cell(5),
                cell(None),
                cell([1, "import torch\n", None]),
                cell({"a": "torch"}),
                7,
                [],
                None,
                {},
            ]
        ),
        "",
    ),
    "notebook_list": ("a.ipynb", lambda: '["torch"]', ""),
    "notebook_empty": ("a.ipynb", lambda: "", ""),
    "notebook_bad_escape": (
        "a.ipynb",
        lambda: r'{"cells": [{"cell_type": "code", "source": "import torch \ud800 \x"}]}',
        "a.ipynb",
    ),
    "notebook_lone_surrogate": (
        "a.ipynb",
        lambda: (
            r'{"cells": [{"cell_type": "code", "source": "import torch\ns = \"\ud800\"; x = torch.ones(1).cuda()"}], "metadata": {}, "nbformat": 4}'
        ),
        "",
    ),
    "notebook_with_nul": (
        "a.ipynb",
        lambda: (
            r'{"cells": [{"cell_type": "code", "source": "import torch\u0000"}], "metadata": {}, "nbformat": 4}'
        ),
        "a.ipynb",
    ),
    "notebook_invalid_utf8": (
        "a.ipynb",
        lambda: b'{"cells": [{"cell_type": "code", "source": "import torch \xff"}]}',
        "a.ipynb",
    ),
    "notebook_with_mark": ("a.ipynb", lambda: "\ufeff" + notebook([cell("import torch")]), ""),
    "notebook_same_markers": (
        "a.ipynb",
        lambda: notebook(
            [
                cell(
                    [
                        "# torchport:cell 0\n",
                        "# torchport:cell 1\n",
                        "import torch\n",
                        "x = torch.ones(1).cuda()",
                    ]
                )
            ]
            * 3
        ),
        "",
    ),
    "dockerfile_one_line": (
        "Dockerfile",
        lambda: "FROM nvidia/cuda\nRUN pip install " + "torch " * 1_500_000 + "\n",
        "",
    ),
    "dockerfile_continuations": (
        "Dockerfile",
        lambda: "FROM nvidia/cuda\nRUN pip install torch " + "\\\n" * 2_000_000,
        "",
    ),
    "dockerfile_stages": (
        "Dockerfile",
        lambda: "FROM nvidia/cuda:11 AS a\nRUN pip install torch\n" * DEEP,
        "",
    ),
    "requirements_lines": ("requirements.txt", lambda: "torch==1.0+cu110\n" * 300_000, ""),
    "requirements_one_line": ("requirements.txt", lambda: "torch>=" * 1_000_000, ""),
    "cmake_parentheses": (
        "CMakeLists.txt",
        lambda: "find_package(CUDA REQUIRED)\n" + "(" * 3_000_000,
        "",
    ),
    "cmake_ifs": (
        "CMakeLists.txt",
        lambda: "if(USE_CUDA)\nfind_package(CUDAToolkit REQUIRED)\n" * DEEP,
        "",
    ),
    "setup_py": (
        "setup.py",
        lambda: (
            "import torch\nfrom torch.utils.cpp_extension import CUDAExtension\nif torch.cuda.is_available():\n    e = CUDAExtension('a', ['a.cu'])\n"
            * 10_000
        ),
        "",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_hostile_file(torchport, name: str) -> None:
    check_and_fix(torchport, name, CASES)
