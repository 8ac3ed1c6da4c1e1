"""What Triton's interpreter computes, with what it lacks.

Triton's InterpreterBuilder keeps bfloat16 and the types of 8 bits as integers and computes with these, cuts
off where the device rounds, and lets NaN through `tl.maximum`. The class here computes with numbers and
rounds to the nearest. What it returns lies in the form that Triton's own code expects: a TensorHandle over
an array, the bits of a number where NumPy has no such type.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from torchport.virtual.triton_kernels import errors, formats, memory, operations, special

Array = Any
Handle = Any


def builder_class(interpreter: Any) -> Any:
    """The class of builders, for the module triton.runtime.interpreter. Made once."""
    import triton.language as tl

    TensorHandle = interpreter.TensorHandle
    np_dtype = interpreter._get_np_dtype = operations.remembering(interpreter._get_np_dtype, tl)
    ir = interpreter._ir

    def numbers(handle: Handle) -> Array:
        """The numbers of a handle, in a type of NumPy that computes with them."""
        name = handle.dtype.scalar.name
        if formats.is_stored_as_integers(name) and handle.data.dtype.kind == "u":
            return formats.decode(handle.data, name)
        return handle.data

    def array_of(mask: Any) -> Array:
        return mask if isinstance(mask, np.ndarray) else mask.data

    def made(values: Array, dtype: Any) -> Handle:
        """A handle of this scalar type with these values, rounded to it."""
        if formats.is_stored_as_integers(dtype.name):
            return TensorHandle(formats.encode(values, dtype.name), dtype)
        wanted = np_dtype(dtype)
        return TensorHandle(values if values.dtype == wanted else values.astype(wanted), dtype)

    def binary(op: Any) -> Any:
        def create(self: Any, lhs: Handle, rhs: Handle) -> Handle:
            return made(op(numbers(lhs), numbers(rhs)), lhs.dtype.scalar)

        return create

    def integers(op: Any, of_bits: Any) -> Any:
        """One bit counts modulo 2."""

        def create(self: Any, lhs: Handle, rhs: Handle) -> Handle:
            function = of_bits if lhs.data.dtype == bool else op
            return made(function(lhs.data, rhs.data), lhs.dtype.scalar)

        return create

    def comparison(op: Any) -> Any:
        def create(self: Any, lhs: Handle, rhs: Handle) -> Handle:
            return TensorHandle(op(numbers(lhs), numbers(rhs)), tl.int1)

        return create

    def unary(op: Any) -> Any:
        def create(self: Any, arg: Handle) -> Handle:
            return made(op(numbers(arg)), arg.dtype.scalar)

        return create

    def signed(values: Array) -> Array:
        return values.view(f"i{values.dtype.itemsize}") if values.dtype.kind == "u" else values

    def to_integer(values: Array, dtype: Any) -> Array:
        """As cvt.rzi: NaN is 0, what is too large the nearest limit. Types below 32 bits are cut out of
        32."""
        wanted = np_dtype(dtype)
        wide = wanted if wanted.itemsize >= 4 else np.dtype(np.int32)
        limits = np.iinfo(wide)
        exact = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
        inside = np.clip(exact, float(limits.min), float(limits.max))
        top = inside >= float(limits.max)
        whole = np.where(top, 0, inside).astype(wide)
        return np.where(top, limits.max, whole).astype(wanted)

    class Builder(interpreter.InterpreterBuilder):  # type: ignore[misc]
        """One for the process; the lock of `launching` guards it."""

        grid_idx = (0, 0, 0)
        grid_dim = (1, 1, 1)

        # Values that a launch changes: the options that the kernel was started with.
        def start(self, options: Any, functions: dict[str, Any]) -> None:
            self.options = options
            self.codegen_fns = {**functions, "convert_custom_types": self._convert_custom_types}

        @staticmethod
        def _convert_custom_types(arg: Any, dst_ty: Any, rounding: Any, _semantic: Any) -> Any:
            return tl.tensor(
                _semantic.builder.create_fp_to_fp(arg.handle, dst_ty, rounding), dst_ty
            )

        # Memory: every address is looked up before it is used.
        # How it is cached is told in one argument or several, by Triton's version.
        def create_masked_load(
            self, ptrs: Handle, mask: Any, other: Handle | None, *_: Any, **__: Any
        ) -> Handle:
            dtype = ptrs.get_element_ty()
            stored = np_dtype(dtype)
            where = memory.usable(ptrs.data, array_of(mask), stored.itemsize, writes=False)
            filling = np.zeros(ptrs.data.shape, stored) if other is None else other.data
            if filling.dtype != stored:
                filling = filling.astype(stored)
            found = interpreter._interpreter.load(ptrs.data, where, filling, stored)
            return TensorHandle(found, dtype)

        def create_masked_store(
            self, ptrs: Handle, value: Handle, mask: Any, *_: Any, **__: Any
        ) -> None:
            stored = np_dtype(ptrs.get_element_ty())
            data = value.data if value.data.dtype == stored else value.data.astype(stored)
            where = memory.usable(ptrs.data, array_of(mask), stored.itemsize, writes=True)
            interpreter._interpreter.store(ptrs.data, data, where)

        def create_load(self, ptr: Handle, *_: Any, **__: Any) -> Handle:
            return self.create_masked_load(ptr, np.ones(ptr.data.shape, bool), None)

        def create_store(self, ptr: Handle, val: Handle, *_: Any, **__: Any) -> None:
            self.create_masked_store(ptr, val, np.ones(ptr.data.shape, bool))

        def create_atomic_cas(
            self, ptr: Handle, cmp: Handle, val: Handle, sem: Any, scope: Any
        ) -> Handle:
            wanted = np_dtype(ptr.get_element_ty())
            everywhere = np.ones(ptr.data.shape, bool)
            if not memory.usable(
                ptr.data, everywhere, wanted.itemsize, writes=True, atomic=True
            ).all():
                raise errors.IllegalAccess("its atomic_cas is past the end of a tensor")
            swapped = interpreter._interpreter.atomic_cas(
                ptr.data, *(operations.whole(one.data, ptr.data.shape, wanted) for one in (cmp, val)),
                self.ir_sem_to_interpreter_sem[sem],
            )  # fmt: skip
            return TensorHandle(swapped, cmp.dtype.scalar)

        def create_atomic_rmw(
            self, op: Any, ptr: Handle, val: Handle, mask: Handle, sem: Any, scope: Any
        ) -> Handle:
            dtype = ptr.get_element_ty()
            shape = np.broadcast_shapes(ptr.data.shape, val.data.shape, mask.data.shape)
            ptrs, data, where = (
                np.ascontiguousarray(np.broadcast_to(one, shape))
                for one in (ptr.data, val.data, mask.data)
            )
            where = memory.usable(ptrs, where, np_dtype(dtype).itemsize, writes=True, atomic=True)
            if formats.is_stored_as_integers(dtype.name) and op == ir.ATOMIC_OP.FADD:
                return self._add_one_by_one(ptrs, data, where, dtype)
            result = interpreter._interpreter.atomic_rmw(
                self.ir_rmw_op_to_interpreter_rmw_op[op], ptrs, data, where,
                self.ir_sem_to_interpreter_sem[sem],
            )  # fmt: skip
            return TensorHandle(result, val.dtype.scalar)

        def _add_one_by_one(self, ptrs: Array, data: Array, where: Array, dtype: Any) -> Handle:
            before = np.zeros(data.shape, data.dtype)
            yes, stored = np.ones(1, bool), np_dtype(dtype)
            for at in zip(*np.nonzero(where), strict=True):
                one = ptrs[at].reshape(1)
                held = interpreter._interpreter.load(one, yes, np.zeros(1, stored), stored)
                before[at] = held[0]
                added = formats.decode(held, dtype.name) + formats.decode(
                    data[at].reshape(1), dtype.name
                )
                interpreter._interpreter.store(one, formats.encode(added, dtype.name), yes)
            return TensorHandle(before, dtype)

        def create_atomic_poll(
            self, ptr: Handle, expected: Handle, timeout_ns: Handle | None, sem: Any, scope: Any
        ) -> Handle:
            """No other program runs meanwhile, so what is not there now does not come."""
            found = self.create_load(ptr).data == expected.data
            if timeout_ns is None and not found.all():
                errors.refuse(
                    "`tl.atomic_poll`", "it waits for another program, and they run in turn"
                )
            return TensorHandle(found, tl.int1)

        # Types.
        def cast_impl(self, src: Handle, dst_type: Any) -> Handle:
            return made(numbers(src), dst_type.scalar)

        def create_fp_to_si(self, src: Handle, dst_type: Any) -> Handle:
            return TensorHandle(to_integer(numbers(src), dst_type.scalar), dst_type.scalar)

        create_fp_to_ui = create_fp_to_si

        def create_int_cast(self, src: Handle, dst_type: Any, is_signed: bool) -> Handle:
            data = src.data
            if is_signed and data.dtype.kind == "u":
                data = signed(data)
            if data.dtype == bool and is_signed:
                return TensorHandle(-data.astype(np_dtype(dst_type.scalar)), dst_type.scalar)
            if dst_type.scalar.name == "int1":
                return TensorHandle((data & 1).astype(bool), dst_type.scalar)
            return TensorHandle(data.astype(np_dtype(dst_type.scalar)), dst_type.scalar)

        def create_fp_to_fp(self, src: Handle, dst_type: Any, rounding: Any) -> Handle:
            dtype, values = dst_type.scalar, numbers(src)
            to_zero = rounding is not None and rounding == ir.ROUNDING_MODE.RTZ
            if formats.is_stored_as_integers(dtype.name):
                return TensorHandle(formats.encode(values, dtype.name, to_zero), dtype)
            result = values.astype(np_dtype(dtype))
            if to_zero and result.itemsize < values.itemsize:
                back = result.astype(values.dtype)
                result = np.where(np.abs(back) > np.abs(values), np.nextafter(result, 0), result)
            return TensorHandle(result, dtype)

        def create_bitcast(self, src: Handle, dst_type: Any) -> Handle:
            data = src.data
            if data.dtype == bool:
                data = data.astype(np.uint8)
            wanted = np_dtype(dst_type)
            if wanted.kind == "b":
                return TensorHandle(data.astype(bool), dst_type.scalar)
            return TensorHandle(np.ascontiguousarray(data).view(wanted), dst_type.scalar)

        # Arithmetic.
        create_fadd, create_add = binary(np.add), integers(np.add, np.bitwise_xor)
        create_fsub, create_sub = binary(np.subtract), integers(np.subtract, np.bitwise_xor)
        create_fmul, create_mul = binary(np.multiply), integers(np.multiply, np.bitwise_and)
        create_fdiv = create_precise_divf = create_approx_divf = binary(np.divide)
        create_frem = create_srem = create_urem = binary(np.fmod)
        create_minnumf = binary(np.fmin)
        create_maxnumf = binary(np.fmax)
        create_minimumf = create_minsi = create_minui = binary(np.minimum)
        create_maximumf = create_maxsi = create_maxui = binary(np.maximum)
        create_fneg = unary(np.negative)
        create_icmpSLE = create_icmpULE = comparison(np.less_equal)
        create_icmpSLT = create_icmpULT = comparison(np.less)
        create_icmpSGE = create_icmpUGE = comparison(np.greater_equal)
        create_icmpSGT = create_icmpUGT = comparison(np.greater)
        create_icmpEQ = create_fcmpOEQ = create_fcmpUEQ = comparison(np.equal)
        create_icmpNE = create_fcmpONE = create_fcmpUNE = comparison(np.not_equal)
        create_fcmpOLT = create_fcmpULT = comparison(np.less)
        create_fcmpOGT = create_fcmpUGT = comparison(np.greater)
        create_fcmpOLE = create_fcmpULE = comparison(np.less_equal)
        create_fcmpOGE = create_fcmpUGE = comparison(np.greater_equal)

        def create_idiv(self, lhs: Handle, rhs: Handle) -> Handle:
            """Towards zero. A division by zero has no value on the device either; here it is 0."""
            low, high = lhs.data, rhs.data
            return TensorHandle((low - np.fmod(low, high)) // high, lhs.dtype.scalar)

        def create_ashr(self, lhs: Handle, rhs: Handle) -> Handle:
            shifted = np.right_shift(signed(lhs.data), signed(rhs.data))
            return TensorHandle(shifted.view(np_dtype(lhs.dtype.scalar)), lhs.dtype.scalar)

        def create_lshr(self, lhs: Handle, rhs: Handle) -> Handle:
            kind = f"u{lhs.data.dtype.itemsize}"
            shifted = np.right_shift(
                np.ascontiguousarray(lhs.data).view(kind), np.ascontiguousarray(rhs.data).view(kind)
            )
            return TensorHandle(shifted.view(np_dtype(lhs.dtype.scalar)), lhs.dtype.scalar)

        def create_umulhi(self, lhs: Handle, rhs: Handle) -> Handle:
            size = lhs.data.dtype.itemsize
            a, b = (
                np.ascontiguousarray(one.data).view(f"u{one.data.dtype.itemsize}")
                for one in (lhs, rhs)
            )
            if size < 8:
                wide = np.dtype(f"u{2 * size}")
                high = ((a.astype(wide) * b.astype(wide)) >> wide.type(8 * size)).astype(a.dtype)
            else:
                high = operations.high_word(a, b)
            return TensorHandle(high.view(lhs.data.dtype), lhs.dtype.scalar)

        def create_fma(self, x: Handle, y: Handle, z: Handle) -> Handle:
            """Rounded once: a product of float32 is exact in float64."""
            a, b, c = np.broadcast_arrays(numbers(x), numbers(y), numbers(z))
            exact = getattr(interpreter._interpreter, "fma_fp32", None)  # since Triton 3.9
            if exact is not None and c.dtype == np.float32:
                return TensorHandle(exact(a, b, c), z.dtype.scalar)
            if c.dtype.kind == "f" and c.dtype.itemsize <= 4:
                a, b, c = (one.astype(np.float64) for one in (a, b, c))
            return made(a * b + c, z.dtype.scalar)

        def create_clampf(self, arg: Handle, lo: Handle, hi: Handle, propagate_nans: Any) -> Handle:
            value, low, high = numbers(arg), numbers(lo), numbers(hi)
            if propagate_nans == ir.PROPAGATE_NAN.NONE:
                return made(np.fmin(np.fmax(value, low), high), arg.dtype.scalar)
            return made(np.minimum(np.maximum(value, low), high), arg.dtype.scalar)

        def create_select(self, cond: Handle, lhs: Handle, rhs: Handle) -> Handle:
            kind = np_dtype(rhs.dtype.scalar)
            low = lhs.data if lhs.data.dtype == kind else lhs.data.astype(kind)
            high = rhs.data if rhs.data.dtype == kind else rhs.data.astype(kind)
            return TensorHandle(np.where(cond.data, low, high), rhs.dtype.scalar)

        create_cos, create_sin = unary(np.cos), unary(np.sin)
        create_exp, create_exp2 = unary(np.exp), unary(np.exp2)
        create_log, create_log2 = unary(np.log), unary(np.log2)
        create_sqrt = create_precise_sqrt = unary(np.sqrt)
        create_floor, create_ceil = unary(np.floor), unary(np.ceil)
        create_iabs = unary(np.abs)
        create_erf = unary(functools.partial(special.by_torch, "erf"))
        create_rsqrt = unary(lambda values: 1 / np.sqrt(values))

        # Tensors.
        def create_dot(
            self, a: Handle, b: Handle, d: Handle, input_precision: Any, max_num_imprecise: Any
        ) -> Handle:
            left, right, base = numbers(a), numbers(b), numbers(d)
            if base.dtype.kind in "iu":
                product = np.matmul(left.astype(np.float64), right.astype(np.float64))  # exact
                return TensorHandle(
                    product.astype(np.int64).astype(base.dtype) + base, d.dtype.scalar
                )
            wide = np.float64 if base.dtype == np.float64 else np.float32
            if (
                operations.loses_bits()
                and left.dtype == np.float32
                and input_precision == ir.INPUT_PRECISION.TF32
            ):
                left, right = formats.rounded_to_tf32(left), formats.rounded_to_tf32(right)
            product = np.matmul(left.astype(wide), right.astype(wide)) + base.astype(wide)
            return made(product, d.dtype.scalar)

        def create_dot_scaled(
            self, lhs: Handle, lhs_scale: Handle | None, lhs_format: Any, rhs: Handle,
            rhs_scale: Handle | None, rhs_format: Any, fast_math: bool, lhs_k_pack: bool,
            rhs_k_pack: bool, acc: Handle,
        ) -> Handle:  # fmt: skip
            left = operations.scaled(
                numbers(lhs), lhs_scale, lhs.dtype.name, lhs_k_pack, of_lhs=True
            )
            right = operations.scaled(
                numbers(rhs), rhs_scale, rhs.dtype.name, rhs_k_pack, of_lhs=False
            )
            return made(np.matmul(left, right) + numbers(acc), acc.dtype.scalar)

        def create_histogram(self, data: Handle, bins: int, mask: Handle | None) -> Handle:
            values = data.data.ravel()
            if mask is not None:
                values = values[np.broadcast_to(mask.data, data.data.shape).ravel()]
            inside = values[(values >= 0) & (values < bins)].astype(np.int64)
            return TensorHandle(np.bincount(inside, minlength=bins).astype(np.int32), tl.int32)

        def create_cat(self, lhs: Handle, rhs: Handle) -> Handle:
            return TensorHandle(np.concatenate([lhs.data, rhs.data]), lhs.dtype.scalar)

        def create_addptr(self, ptr: Handle, offset: Handle) -> Handle:
            width = max(1, ptr.get_element_ty().primitive_bitwidth // 8)
            step = offset.data.astype(np.int64, copy=False).view(np.uint64) * np.uint64(width)
            return TensorHandle(ptr.data + step, ptr.dtype)

        def create_descriptor_reduce(
            self, kind: Any, desc: Any, value: Handle, offsets: list[Handle]
        ) -> None:
            ptrs, mask = desc.materialize_pointers(offsets)
            names = {name: getattr(ir.ATOMIC_OP, name) for name in dir(ir.ATOMIC_OP)}
            op = names[str(kind).rpartition(".")[2]]
            if op == ir.ATOMIC_OP.ADD and ptrs.get_element_ty().is_floating():
                op = ir.ATOMIC_OP.FADD
            where = TensorHandle(array_of(mask), tl.int1)
            self.create_atomic_rmw(op, ptrs, value, where, ir.MEM_SEMANTIC.RELAXED, None)

        # What a GPU alone has.
        def create_extern_elementwise(
            self, lib_name: str, lib_path: str, symbol: str, args: list[Handle], ret_type: Any,
            is_pure: bool,
        ) -> Handle:  # fmt: skip
            from torchport.virtual.triton_kernels import libdevice

            dtype = ret_type.scalar
            result = libdevice.call(symbol, [numbers(arg) for arg in args], np_dtype(dtype))
            return TensorHandle(result, dtype)

        def create_inline_asm(
            self, asm: str, constraints: str, values: list[Handle], types: list[Any], is_pure: bool,
            pack: int,
        ) -> Any:  # fmt: skip
            from torchport.virtual.triton_kernels import inline_asm

            data = [one.data for one in values]
            wanted = [(np_dtype(one.scalar), getattr(one, "shape", None)) for one in types]
            results = inline_asm.call(
                asm, constraints, data, wanted, pack, self, interpreter._interpreter
            )
            handles = [
                TensorHandle(one, kind.scalar) for one, kind in zip(results, types, strict=True)
            ]
            return operations.Call(handles)

        def create_print(
            self, prefix: str, hexadecimal: bool, values: list[Handle], is_signed: Any
        ) -> None:
            """As triton/third_party/nvidia prints it: a line for each element."""
            at = "pid ({}, {}, {})".format(*self.grid_idx)
            if not values:
                print(f"{at}{prefix}")
            for operand, value in enumerate(values):
                shape = value.data.shape
                which = f"(operand {operand}) " if len(values) > 1 else ""
                for index, one in np.ndenumerate(numbers(value)):
                    widths = [len(str(size - 1)) for size in shape]
                    place = ", ".join(f"{i:{w}d}" for i, w in zip(index, widths, strict=True))
                    text = (
                        f"0x{int(one):0{2 * one.itemsize}x}"
                        if hexadecimal
                        else operations.printed(one)
                    )
                    print(f"{at} idx ({'' if shape == (1,) else place}){prefix}{which}{text}")

        def create_assert(self, condition: Handle, message: str) -> None:
            if not np.all(condition.data):
                raise errors.DeviceAssertion(message)

        def create_assume(self, condition: Handle) -> None:
            if not np.all(condition.data):
                raise errors.DeviceAssertion("tl.assume: the assumption does not hold")

        def get_bf16(self, value: float) -> Handle:
            return made(np.array([value], np.float32), tl.bfloat16)

        def get_all_ones_value(self, type_: Any) -> Handle:
            kind = np_dtype(type_)
            ones = (
                np.ones(1, bool)
                if kind.kind == "b"
                else np.full(1, -1, signed(np.zeros(1, kind)).dtype)
            )
            return TensorHandle(ones.view(kind), type_.scalar)

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("create_"):
                raise AttributeError(name)
            errors.refuse(
                f"`{name.removeprefix('create_')}` of Triton's language",
                "Triton's interpreter does not have it",
            )

    return Builder
