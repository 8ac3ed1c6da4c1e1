"""FlexAttention under torch.compile on virtual devices: whole matrices instead of Triton's blocks.

Inductor has templates of FlexAttention for Triton, and one for the CPU without a backward pass. So the
two operators are replaced, before inductor lowers them, by PyTorch's own definition of them: scores of
all pairs, their function and mask, a softmax. The blocks that a mask leaves out are left out of the
softmax, also where the mask's function would keep them: the kernels of a device skip them, too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib import import_module
from types import ModuleType
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch._higher_order_ops.flex_attention import (
    flex_attention,
    flex_attention_backward,
    math_attention,
    sdpa_dense_backward,
)
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.exc import LoweringException
from torch.fx import GraphModule, Interpreter, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg
from torch.utils import _pytree as pytree

_SMALLEST_HEAD = 16  # of tl.dot; torch/_inductor/kernel/flex/flex_attention.py


def replace(module: GraphModule, device: str) -> None:
    """Replaces FlexAttention on devices of this type in a graph that inductor is about to lower."""
    found = [
        (node, dense)
        for target, dense in ((flex_attention, _forward), (flex_attention_backward, _backward))
        for node in module.graph.find_nodes(op="call_function", target=target)
        if _arguments(node)[0].meta["val"].device.type == device
    ]
    for node, dense in found:
        _refuse(module, node)
        _inline(module, node, dense)
    if found:
        module.graph.eliminate_dead_code()
        module.recompile()


def _refuse(graph: GraphModule, node: Node) -> None:
    """Raises the error of the lowering for a device if that refuses these arguments."""
    given = _arguments(node)
    try:
        _refuse_small_heads(*(n.meta["val"] for n in given[:3]))
        if node.target is flex_attention_backward:
            _lowering().validate_joint_graph(graph.get_submodule(given[8].target).graph)
    except NotImplementedError as refusal:
        named = dict(node.kwargs)
        raise LoweringException(refusal, node.target, list(given), named) from refusal


def _arguments(node: Node) -> Any:
    return node.args


def _refuse_small_heads(query: torch.Tensor, _: torch.Tensor, value: torch.Tensor) -> None:
    wide, out = query.shape[-1], value.shape[-1]
    if wide < _SMALLEST_HEAD or out < _SMALLEST_HEAD:
        raise NotImplementedError(  # the lowering's words
            "NYI: embedding dimension of the query, key, and value must be "
            f"at least 16 but got E={wide} and Ev={out}"
        )


def _lowering() -> ModuleType:
    try:
        return import_module("torch._inductor.kernel.flex.flex_attention")
    except ImportError:  # until torch 2.8
        return import_module("torch._inductor.kernel.flex_attention")


def _forward(*given: Any) -> Any:
    query, key, value, score, mask, scale, options, *buffers = given
    mask = _of_blocks(mask, key.shape[-2])
    out, *rest = math_attention(query, key, value, score, mask, scale, options, *buffers)
    return (out, *rest)


def _backward(*given: Any) -> Any:
    (*tensors, score, joint, mask, scale, options, captured, others) = given
    mask = _of_blocks(mask, tensors[1].shape[-2])
    # Gradients of captured tensors are computed for those that ask for one. In a traced graph none
    # does: the function of the scores has been differentiated to those that asked.
    captured = tuple(
        tensor if gradient is None else tensor.detach().requires_grad_()
        for tensor, gradient in zip(captured, joint.results[5:], strict=True)
    )
    dense: Callable[..., Any] = sdpa_dense_backward
    with torch.no_grad():
        return dense(*tensors, score, joint, mask, scale, options, captured, others)


def _of_blocks(mask: Sequence[Any], keys: Any) -> tuple[Any, ...]:
    """The tuple of a BlockMask, whose function also asks which blocks there are."""
    of_queries, of_keys, keeps = mask[-3:]
    columns = (keys + of_keys - 1) // of_keys
    partial = _blocks(mask[2], mask[3], columns)
    full = None if mask[4] is None else _blocks(mask[4], mask[5], columns)

    def within(b: Any, h: Any, q: Any, k: Any, *buffers: Any) -> Any:
        def has(blocks: torch.Tensor) -> torch.Tensor:
            first = b if blocks.shape[0] > 1 else b * 0
            second = h if blocks.shape[1] > 1 else h * 0
            return blocks[first, second, q // of_queries, k // of_keys]

        kept = has(partial) & keeps(b, h, q, k, *buffers)
        return kept if full is None else kept | has(full)

    return (*mask[:-1], within)


def _blocks(counts: torch.Tensor, indices: torch.Tensor, columns: Any) -> torch.Tensor:
    """(B, H, rows, columns) of bool: the first counts[b, h, row] of indices[b, h, row] are there."""
    listed = torch.arange(indices.shape[-1], device=indices.device) < counts[..., None]
    where = torch.where(listed & (indices < columns), indices, columns).long()
    there = torch.zeros((*indices.shape[:-1], columns + 1), device=indices.device)
    return there.scatter(-1, where, 1.0)[..., :columns] > 0


def _inline(graph: GraphModule, node: Node, dense: Callable[..., Any]) -> None:
    """Puts the operators of `dense`, called with the node's arguments, in the node's place."""
    flat, shape = pytree.tree_flatten(node.args)
    functions = {a: _Plain(f) for a in flat if (f := _function(graph, a)) is not None}
    inputs = [a for a in dict.fromkeys(flat) if isinstance(a, Node) and a not in functions]
    values = [a.meta["val"] for a in inputs]

    def call(*given: Any) -> Any:
        known = {**functions, **dict(zip(inputs, given, strict=True))}
        return dense(*pytree.tree_unflatten([_known(known, a) for a in flat], shape))

    with detect_fake_mode(values) or nullcontext():
        traced = make_fx(call, decomposition_table=select_decomp_table())(*values)
    copies: dict[Node, Any] = dict(
        zip(traced.graph.find_nodes(op="placeholder"), inputs, strict=True)
    )
    for constant in traced.graph.find_nodes(op="get_attr"):
        name = f"_flex_{node.name}{constant.target}"
        setattr(graph, name, getattr(traced, constant.target))
        constant.target = name
    with graph.graph.inserting_before(node):
        results = graph.graph.graph_copy(traced.graph, copies)
    _use(node, results)
    graph.graph.erase_node(node)


def _function(graph: GraphModule, argument: Any) -> GraphModule | None:
    """The function of scores or of a mask that this argument names."""
    if not isinstance(argument, Node) or argument.op != "get_attr":
        return None
    named = getattr(graph, str(argument.target))
    return named if isinstance(named, GraphModule) else None


class _Plain(Interpreter):
    """Calls a graph with operators of ATen: vmap would go through primitives element by element."""

    @property
    def results(self) -> Any:
        return self.graph.find_nodes(op="output")[0].args[0]

    def __call__(self, *inputs: Any) -> Any:
        results = self.run(*inputs)
        return list(results) if isinstance(results, (list, tuple)) else results

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is torch.ops.prims.convert_element_type.default:
            return torch.ops.aten._to_copy(args[0], dtype=args[1])
        return super().call_function(getattr(target, "impl_aten", None) or target, args, kwargs)


def _known(known: dict[Node, Any], argument: Any) -> Any:
    return known[argument] if isinstance(argument, Node) else argument


def _use(node: Node, results: Any) -> None:
    """Lets the users of the node use these results. They take it apart, by the place in its results,
    which may be nested."""
    for user in list(node.users):
        if user.target is not operator.getitem:
            raise NotImplementedError(f"torchport: FlexAttention is used by {user.format_node()}")
        part = results[user.args[1]]
        if isinstance(part, Node):
            user.replace_all_uses_with(part)
        elif part is None:  # the gradient of a tensor that needs none
            _leave_out(user)
        else:
            _use(user, part)
        user.graph.erase_node(user)


def _leave_out(node: Node) -> None:
    """Lets the users of the node have None instead."""
    for user in list(node.users):
        user.args = map_arg(user.args, lambda given: None if given is node else given)
