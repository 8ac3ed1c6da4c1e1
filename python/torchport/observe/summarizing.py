"""Summarizes an observation by module and by line."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torchport.observe.inventory import Held, info_of
from torchport.observe.known import Context, look_at
from torchport.observe.lines import line_of
from torchport.observe.result import Amount, Flow, ModuleInfo, NotFinite, TensorInfo, Transfer
from torchport.observe.watching import Watch


def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


class Summarizer:
    """Turns one observation of C++ into the values of the report."""

    def __init__(self, watch: Watch, observed: Any):
        self._watch = watch
        self._observed = observed
        self._scopes = [scope.module for scope in observed.scopes]

    def _name(self, module: int) -> str:
        return self._watch.names[module]

    def module_of_scope(self, scope: int) -> str:
        return self._name(self._scopes[scope])

    def devices(self, held: list[Held], inputs: list[TensorInfo]) -> list[str]:
        """All devices that a tensor was on."""
        found = {str(item.tensor.device) for item in held} | {item.device for item in inputs}
        return sorted(found | {str(result.device) for result in self._observed.results})

    def autocast(self) -> list[str]:
        """The devices for which autocast is on now, with its dtype: "cuda: float16"."""
        types = {result.device.type for result in self._observed.results}
        return [
            f"{kind}: {_dtype(torch.get_autocast_dtype(kind))}"
            for kind in sorted(types)
            if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
        ]

    def modules(self, model: nn.Module, held: list[Held]) -> list[ModuleInfo]:
        """The modules in the order of named_modules(), then modules outside of the model."""
        found = {}
        modules = dict(model.named_modules())
        for number, name in enumerate(self._watch.names):
            module = modules.get(name) if number else None
            found[number] = ModuleInfo(
                name=name,
                type=type(module).__name__ if module is not None else "",
                training=module.training if module is not None else False,
                calls=self._watch.calls[number],
                inputs=self._watch.inputs.get(number, []),
                outputs=self._watch.outputs.get(number, []),
            )
        by_name = {info.name: info for number, info in found.items() if number}
        for item in held:
            if item.module in by_name:
                tensor = info_of(item.path, item.kind, item.tensor)
                by_name[item.module].tensors.append(tensor)
        for sums in self._observed.modules:
            info = found[sums.module]
            info.operators = sums.operators
            info.with_grad = sums.with_grad
            info.with_autocast = sums.with_autocast
        for scope in self._observed.scopes:
            info = found[scope.module]
            info.called_at = info.called_at or line_of(scope.place)
        for result in self._observed.results:
            found[result.module].made.append(
                Amount(str(result.device), _dtype(result.dtype), result.count, result.bytes)
            )
        return [info for number, info in found.items() if number or info.operators]

    def intermediates(self) -> list[dict[str, Any]]:
        return [
            {
                "op": result.call.op,
                "kind": result.call.kind.name,
                "module": self._name(result.module),
                "device": str(result.facts.device),
                "dtype": _dtype(result.facts.dtype),
                "sizes": list(result.facts.sizes),
                "bytes": result.facts.bytes,
            }
            for result in self._observed.intermediates
        ]

    def flows(self) -> list[Flow]:
        return [
            Flow(self._name(f.source), self._name(f.target), str(f.device), f.count, f.bytes)
            for f in self._observed.flows
        ]

    def transfers(self) -> list[Transfer]:
        """The transfers, sorted by their bytes and then by their number, the largest first."""
        found = [
            Transfer(
                kind=_kind_of(t),
                op=t.op,
                module=self._name(t.module),
                line=line_of(t.place),
                source=str(t.from_device),
                target=str(t.to_device),
                waits=t.waits,
                backward=t.backward,
                count=t.count,
                bytes=t.bytes,
            )
            for t in self._observed.transfers
        ]
        return sorted(found, key=lambda t: (-t.bytes, -t.count, str(t.line), t.op))

    def not_finite(self, context: Context) -> list[NotFinite]:
        return [
            NotFinite(
                what="NaN" if call.nan else "infinity",
                op=call.call.op,
                module=self.module_of_scope(call.call.scope),
                line=line_of(call.call.place),
                inputs=tuple(look_at(p, context).name for p in call.participants),
            )
            for call in (self._observed.nan, self._observed.infinity)
            if call is not None
        ]


def _kind_of(transfer: Any) -> Any:
    if transfer.kind.name == "read":
        return "read"
    if transfer.from_device.type == "cpu":
        return "to device"
    return "to host" if transfer.to_device.type == "cpu" else "between devices"
