"""Eight float32 lanes as a numba type, so that a kernel can say which numbers stay in registers.

Numba's own loop vectoriser keeps one accumulator at a time; a convolution wants twelve. With this type a kernel is
plain Python code over explicit accumulators, and LLVM maps the lanes to AVX, NEON or whatever the processor has.
Every multiply-add is a fused one in a written order, so a pixel's value depends on nothing but its inputs.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

LANES = 8
_VECTOR = ir.VectorType(ir.FloatType(), LANES)


class Lanes(types.Type):
    """Numba's type of eight float32."""

    def __init__(self):
        super().__init__(name="sauvolanet.Lanes")


lanes = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _VECTOR)


def _address(context, builder, kind, array, index):
    data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [index])


@intrinsic
def load(typing, array, index):
    """array[index : index + 8] of a flat float32 array, at any alignment."""

    def generate(context, builder, signature, args):
        pointer = builder.bitcast(_address(context, builder, signature.args[0], *args), _VECTOR.as_pointer())
        value = builder.load(pointer)
        value.align = 4
        return value

    return lanes(array, types.intp), generate


@intrinsic
def store(typing, array, index, value):
    """array[index : index + 8] = value."""

    def generate(context, builder, signature, args):
        pointer = builder.bitcast(_address(context, builder, signature.args[0], *args[:2]), _VECTOR.as_pointer())
        builder.store(args[2], pointer).align = 4
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


@intrinsic
def fma(typing, weights, array, index, total):
    """total + weights · array[index], the one number spread over all lanes."""

    def generate(context, builder, signature, args):
        number = builder.load(_address(context, builder, signature.args[1], args[1], args[2]))
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        one = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        spread = builder.shuffle_vector(one, nothing, mask)
        function = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        fused = cgutils.get_or_insert_function(builder.module, function, "llvm.fma.v8f32")
        return builder.call(fused, [args[0], spread, args[3]])

    return lanes(lanes, array, types.intp, lanes), generate


@intrinsic
def positive(typing, value):
    """max(value, 0) in each lane."""

    def generate(context, builder, signature, args):
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered(">", args[0], zero), args[0], zero)

    return lanes(lanes), generate
