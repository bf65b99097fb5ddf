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


def _shuffled(builder, value, order):
    return builder.shuffle_vector(value, value, ir.Constant(ir.VectorType(ir.IntType(32), LANES), order))


def _spread(builder, number):
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    one = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _call(builder, name, *args):
    function = ir.FunctionType(args[0].type, [a.type for a in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, function, name), list(args))


def _address(context, builder, kind, array, index):
    if isinstance(kind, types.Integer):
        data = builder.inttoptr(array, ir.FloatType().as_pointer())
    else:
        data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [index])


@intrinsic
def address(typing, array):
    """Where the array's first number lies, to be used like the array below.

    A function that is called for every pixel takes addresses: numba would count the users of its arrays each time.
    """

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, context.get_value_type(types.intp))

    return types.intp(array), generate


@intrinsic
def bare(typing, array):
    """The same array with nobody counting its users, who are then free to cut it for every row; its owner keeps it alive."""

    def generate(context, builder, signature, args):
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, args[0])
        view.meminfo = ir.Constant(view.meminfo.type, None)
        view.parent = ir.Constant(view.parent.type, None)
        return view._getvalue()

    return array(array), generate


@intrinsic
def load(typing, array, index):
    """Eight float32, the first of them ``index`` behind the array's first in memory, at any alignment."""

    def generate(context, builder, signature, args):
        pointer = builder.bitcast(_address(context, builder, signature.args[0], *args), _VECTOR.as_pointer())
        value = builder.load(pointer)
        value.align = 4
        return value

    return lanes(array, types.intp), generate


@intrinsic
def store(typing, array, index, value):
    """The counterpart of `load`."""

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
        return _call(builder, "llvm.fma.v8f32", args[0], _spread(builder, number), args[3])

    return lanes(lanes, array, types.intp, lanes), generate


@intrinsic
def positive(typing, value):
    """max(value, 0) in each lane."""

    def generate(context, builder, signature, args):
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered(">", args[0], zero), args[0], zero)

    return lanes(lanes), generate


@intrinsic
def spread(typing, number):
    """The number in all lanes."""

    def generate(context, builder, signature, args):
        return _spread(builder, args[0])

    return lanes(types.float32), generate


def _each(operation):
    def generate(context, builder, signature, args):
        return getattr(builder, operation)(*args)

    return generate


@intrinsic
def add(typing, a, b):
    """a + b in each lane."""
    return lanes(lanes, lanes), _each("fadd")


@intrinsic
def subtract(typing, a, b):
    """a − b in each lane."""
    return lanes(lanes, lanes), _each("fsub")


@intrinsic
def divide(typing, a, b):
    """a / b in each lane."""
    return lanes(lanes, lanes), _each("fdiv")


@intrinsic
def larger(typing, a, b):
    """The larger of a and b in each lane."""

    def generate(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return lanes(lanes, lanes), generate


@intrinsic
def multiply(typing, a, b):
    """a · b in each lane."""
    return lanes(lanes, lanes), _each("fmul")


@intrinsic
def multiply_add(typing, a, b, c):
    """a · b + c in each lane, rounded once."""

    def generate(context, builder, signature, args):
        return _call(builder, "llvm.fma.v8f32", *args)

    return lanes(lanes, lanes, lanes), generate


def _across(combine):
    """A number from all lanes: halves, then quarters, then neighbours are combined."""

    def generate(context, builder, signature, args):
        value = args[0]
        for order in ([4, 5, 6, 7, 0, 1, 2, 3], [2, 3, 0, 1, 6, 7, 4, 5], [1, 0, 3, 2, 5, 4, 7, 6]):
            value = combine(builder, value, _shuffled(builder, value, order))
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    return generate


@intrinsic
def highest(typing, value):
    """The largest of the lanes."""
    return types.float32(lanes), _across(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))


@intrinsic
def total(typing, value):
    """The sum of the lanes, always in the same order."""
    return types.float32(lanes), _across(lambda builder, a, b: builder.fadd(a, b))


@intrinsic
def exponential(typing, value):
    """exp(value) in each lane, value ≤ 0, to about 1e-7; below −87 it is about 1e-38."""

    def generate(context, builder, signature, args):
        def constant(number):
            return ir.Constant(_VECTOR, [number] * LANES)

        integers = ir.VectorType(ir.IntType(32), LANES)
        least = constant(-87.0)
        value = builder.select(builder.fcmp_ordered(">", args[0], least), args[0], least)
        power = builder.fmul(value, constant(1.4426950408889634))
        whole = _call(builder, "llvm.floor.v8f32", power)
        part = builder.fsub(power, whole)
        result = constant(1.8775767e-3)
        for number in (8.9893397e-3, 5.5826318e-2, 2.4015361e-1, 6.9315308e-1, 9.9999994e-1):
            result = _call(builder, "llvm.fma.v8f32", result, part, constant(number))
        bits = builder.add(builder.fptosi(whole, integers), ir.Constant(integers, [127] * LANES))
        bits = builder.shl(bits, ir.Constant(integers, [23] * LANES))
        return builder.fmul(result, builder.bitcast(bits, _VECTOR))

    return lanes(lanes), generate


@intrinsic
def interleave(typing, rows, pitch, to, step, low, gain, floor):
    """Eight columns of eight rows: column i of all rows goes to ``to + i · step`` as max((v − low) · gain, floor).

    rows, to : addresses. pitch, step : how far rows, and columns in the result, are apart, in numbers.
    """

    def generate(context, builder, signature, args):
        source, pitch, target, step, *numbers = args
        pointer = _VECTOR.as_pointer()
        low, gain, floor = (_spread(builder, n) for n in numbers)

        def place(start, apart, i):
            offset = builder.mul(apart, ir.Constant(apart.type, 4 * i))
            return builder.inttoptr(builder.add(start, offset), pointer)

        block = []
        for i in range(LANES):
            value = builder.load(place(source, pitch, i))
            value.align = 4
            value = builder.fmul(builder.fsub(value, low), gain)
            block.append(builder.select(builder.fcmp_ordered(">", value, floor), value, floor))
        # pairs, pairs of pairs, then halves change places
        for half in (1, 2, 4):
            order = [[0, 8, 2, 10, 4, 12, 6, 14], [0, 1, 8, 9, 4, 5, 12, 13], [0, 1, 2, 3, 8, 9, 10, 11]][half // 2]
            masks = [ir.Constant(ir.VectorType(ir.IntType(32), LANES), [n + k * half for n in order]) for k in (0, 1)]
            turned = list(block)
            for i in range(LANES):
                if not i & half:
                    for k in (0, 1):
                        turned[i + k * half] = builder.shuffle_vector(block[i], block[i + half], masks[k])
            block = turned
        for i, value in enumerate(block):
            builder.store(value, place(target, step, i)).align = 4
        return context.get_dummy_value()

    f = types.float32
    return types.void(types.intp, types.intp, types.intp, types.intp, f, f, f), generate
