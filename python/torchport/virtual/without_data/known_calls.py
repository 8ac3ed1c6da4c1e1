"""Functions by what they do with a number that they are given, for `uses.py`: names of libraries that training programs
use, and what their authors call the objects that tell."""

from __future__ import annotations

import ast
from collections.abc import Iterable

# They tell it, or keep it in a file.
TOLD = {
    *("print", "warn", "info", "debug", "warning", "error", "critical", "exception", "write"),
    *("log", "log_dict", "log_metrics", "log_metric", "add_scalar", "add_scalars", "set_postfix"),
    *("set_description", "set_postfix_str", "set_description_str", "format", "str", "repr"),
    *("exit", "_exit", "abort", "dump", "dumps", "isinstance", "flush", "echo", "pprint", "secho"),
    *("add_image", "add_histogram", "add_text", "add_figure", "add_hparams", "writerow"),
    *("writerows", "to_csv", "savefig", "savetxt", "trace_func", "copyfile", "makedirs", "unlink"),
    *("convert_ids_to_tokens", "save_image", "imwrite", "imsave"),
}
# Objects whose methods tell it.
_TELLERS = {
    *("logger", "logging", "log", "writer", "wandb", "tb", "tensorboard", "pbar", "bar", "tqdm"),
    *("progress", "mlflow", "neptune", "comet", "experiment", "run", "console", "summary", "plt"),
    *("ax", "axes", "axs", "sns", "vis", "viz", "csv_writer", "trackio", "aim_run", "clearml"),
}
_TELLER_ENDS = ("logger", "_writer", "_bar", "pbar", "scheduler", "sched", "_experiment")
PASSED_ON = {
    *("int", "float", "bool", "complex", "round", "abs", "sum", "min", "max", "sorted"),
    *("list", "tuple", "dict", "set", "zip", "enumerate", "reversed", "iter", "next", "pow"),
    *("mean", "median", "std", "var", "sqrt", "exp", "log2", "log10", "log1p", "fmean", "array"),
    *("asarray", "isnan", "isfinite", "isinf", "Counter", "any", "all", "divmod", "argmax"),
    *("average", "nanmean", "percentile", "cumsum", "ceil", "floor", "item"),
    *("tolist", "concatenate", "stack", "vstack", "hstack", "argsort", "argmin", "squeeze"),
    *("ravel", "flatten", "copy", "items", "values", "get", "classification_report", "auc"),
    *("confusion_matrix", "roc_curve", "precision_recall_curve", "DataFrame", "Series", "corrcoef"),
    *("pearsonr", "spearmanr", "mean_squared_error", "mean_absolute_error", "nan_to_num"),
}
_METRIC_ENDS = ("_score", "_error", "_accuracy")
KEPT = {"append", "extend", "update", "add", "insert", "setdefault", "appendleft", "put"}
# How many there are of what they give hangs on values.
PICKS = {"set", "frozenset", "Counter", "unique", "compress", "takewhile", "dropwhile", "fromkeys"}
# Where a number is a size or a count.
SIZED = {
    *("zeros", "ones", "empty", "full", "rand", "randn", "randint", "arange", "range", "linspace"),
    *("eye", "view", "reshape", "expand", "repeat", "tile", "new_zeros", "new_ones", "new_empty"),
    *("new_full", "resize_", "narrow", "split", "chunk", "topk", "pad", "repeat_interleave"),
    *("islice", "unflatten", "split_with_sizes", "array_split", "tensor_split"),
}
# They make a tensor of an array, or move it.
MAKERS = {"tensor", "as_tensor", "from_numpy", "to", "cuda", "Tensor", "LongTensor", "FloatTensor"}


def called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _receiver(call: ast.Call) -> str:
    """The last name before the method: "writer" of `self.writer.add(x)`."""
    if not isinstance(call.func, ast.Attribute):
        return ""
    owner = call.func.value
    return getattr(owner, "attr", "") or getattr(owner, "id", "")


def is_told(call: ast.Call) -> bool:
    receiver = _receiver(call).lower()
    if called(call) in ("decode", "batch_decode") and ("tok" in receiver or "proc" in receiver):
        return True
    return called(call) in TOLD or receiver in _TELLERS or receiver.endswith(_TELLER_ENDS)


def is_passed_on(call: ast.Call) -> bool:
    name = called(call)
    return name in PASSED_ON or name.endswith(_METRIC_ENDS)


def saves(call: ast.AST) -> bool:
    """torch.save(), save_checkpoint(), model.save_pretrained()."""
    return isinstance(call, ast.Call) and called(call).lstrip("_").startswith("save")


def may_stop(call: ast.Call) -> str:
    """The object that a program asks whether to stop, by its name: early_stopping(loss), stopper.step(loss)."""
    for name in (called(call), _receiver(call)):
        if "stop" in name.lower() and name:
            return name
    return ""


def imported(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that a file's statements import, and those of its classes."""
    names: set[str] = set()
    for one in statements:
        if isinstance(one, (ast.Import, ast.ImportFrom)):
            names.update((alias.asname or alias.name).partition(".")[0] for alias in one.names)
        elif isinstance(one, ast.ClassDef):
            names.add(one.name)
    return names


def counters(statements: Iterable[ast.stmt]) -> set[str]:
    """The variables that count the rounds of loops."""
    return {
        name.id
        for one in statements
        if isinstance(one, ast.For) and isinstance(one.iter, ast.Call)
        for name in _counted(one.target, called(one.iter))
    }


def _counted(target: ast.AST, by: str) -> list[ast.Name]:
    if by == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[0]
    elif by not in ("range", "trange"):
        return []
    return [target] if isinstance(target, ast.Name) else []
