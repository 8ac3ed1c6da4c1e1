"""`triton.autotune` without times: the first configuration that runs is the one that is used."""

from __future__ import annotations

import importlib
import sys
from typing import Any

_said: set[str] = set()


def install() -> None:
    autotuner = importlib.import_module("triton.runtime.autotuner")
    base = autotuner.Autotuner
    measured = base.run

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(self.configs) <= 1 or not _launches_here(self):
            return measured(self, *args, **kwargs)
        self.nargs = dict(zip(self.arg_names, args))  # noqa: B905  # there may be fewer arguments
        key = _key(self, kwargs)
        try:
            if key in self.cache:
                return _once(self, self.cache[key], args, kwargs)
            return _first_that_runs(self, key, args, kwargs)
        finally:
            self.nargs = None

    base.run = run


def _launches_here(tuner: Any) -> bool:
    """Whether the kernel is one that this package runs, not Triton's own interpreter."""
    function = tuner.fn
    while hasattr(function, "fn") and not hasattr(function, "device_caches"):
        function = function.fn
    return hasattr(function, "device_caches")


def _key(tuner: Any, kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """As Autotuner.run makes it."""
    given = {
        name: value for name, value in {**tuner.nargs, **kwargs}.items() if name in tuner.arg_names
    }
    key = [given[name] for name in tuner.keys if name in given]
    key += [str(value.dtype) for value in given.values() if hasattr(value, "dtype")]
    return tuple(key)


def _once(tuner: Any, config: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tuner.best_config = config
    if config.pre_hook is not None:
        config.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()})
    return tuner.fn.run(*args, **kwargs, **config.all_kwargs())


def _first_that_runs(
    tuner: Any, key: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    failures = _failures()
    configs = tuner.prune_configs(kwargs)
    for config in configs:
        conflicts = kwargs.keys() & config.kwargs.keys()
        if conflicts:
            raise ValueError(
                f"Conflicting meta-parameters: {', '.join(conflicts)}. Make sure that you don't "
                "re-define auto-tuned symbols."
            )
        named = {**tuner.nargs, **kwargs, **config.all_kwargs()}
        hooked = tuner.user_defined_pre_hook or tuner.user_defined_post_hook
        try:
            if hooked:  # a program's hooks see a trial, as on a device, and then the launch
                tuner.pre_hook(named)
                try:
                    tuner.fn.run(*args, **kwargs, **config.all_kwargs())
                except Exception as error:
                    tuner.post_hook(named, exception=error)
                    raise
                tuner.post_hook(named, exception=None)
            tuner.pre_hook(named, reset_only=True)
            result = _once(tuner, config, args, kwargs)
        except failures:
            continue
        tuner.cache[key] = config
        tuner.configs_timings = {
            one: [0.0 if one is config else float("inf")] * 3 for one in configs
        }
        tuner.bench_time = 0.0
        _say(tuner, config)
        return result
    tuner.cache[key] = configs[0]
    return _once(tuner, configs[0], args, kwargs)  # raises what the first one raised


def _failures() -> tuple[type[BaseException], ...]:
    """What a configuration that a device cannot run raises; Autotuner._bench names them."""
    errors = importlib.import_module("triton.runtime.errors")
    compiler = importlib.import_module("triton.compiler.errors")
    names = ("OutOfResources", "PTXASError")
    return (
        compiler.CompileTimeAssertionFailure,
        *(getattr(errors, name) for name in names if hasattr(errors, name)),
    )


def _say(tuner: Any, config: Any) -> None:
    if _said:
        return
    name = getattr(tuner.base_fn, "__name__", "a kernel")
    _said.add(name)
    sys.stderr.write(
        f"torchport: triton.autotune takes the first configuration that runs, because times on virtual "
        f"devices say nothing of a GPU: {name} got {config}\n"
    )
