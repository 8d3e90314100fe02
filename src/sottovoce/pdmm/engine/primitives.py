"""What the kernels are made of: prefetching, random choices, orders of rows and nodes, and weights.

Numba's cache looks at a kernel's own file only: after a change here, in ``steps``, or in ``numerics.tile`` and
``costs._linear_kernels``, delete the ``__pycache__`` of ``pdmm/engine`` and ``costs``.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,untyped-decorator,call-arg,operator,assignment"

from __future__ import annotations

from types import FunctionType

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from ...numerics.counter_random import FACTOR_1, FACTOR_2, STEP_INDEX, STEP_K, UNIT

# Typed constants: mixing signed and unsigned integers would silently give floating point.
_STEP_K, _STEP_INDEX = np.uint64(STEP_K), np.uint64(STEP_INDEX)
_FACTOR_1, _FACTOR_2 = np.uint64(FACTOR_1), np.uint64(FACTOR_2)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_0, _1 = np.uint64(0), np.uint64(1)

SORT_FROM = 20_000  # nodes; of fewer the processor learns the degrees by heart
SORT_TOGETHER = 128  # nodes
DEGREES = 64  # told apart when sorting


def both(body):
    """The body for one thread, and for all; under another name, or Numba's cache would take the one for the other."""
    twin = FunctionType(body.__code__, body.__globals__, f"{body.__name__}_parallel")
    twin.__qualname__ = twin.__name__
    # A division by zero is infinite, and is not looked for.
    one = njit(cache=True, error_model="numpy")(body)
    return one, njit(cache=True, error_model="numpy", parallel=True)(twin)


@intrinsic
def prefetch(typingctx, array, index):
    """Ask for ``array[index]`` before it is needed, into the second-level cache: it can have more requests under way
    than the first (measured: 1.5 times the random accesses a second). Of a number there is nothing to ask for."""
    if isinstance(array, types.Float):
        return types.void(array, index), lambda context, builder, signature, args: context.get_dummy_value()
    if not isinstance(array, types.Array):
        return None

    def codegen(context, builder, signature, args):
        from llvmlite import ir

        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, args[0])
        at = context.cast(builder, args[1], signature.args[1], types.intp)
        pointer = cgutils.get_item_pointer(context, builder, kind, view, [at], wraparound=False)
        i32 = ir.IntType(32)
        address = builder.bitcast(pointer, ir.PointerType(ir.IntType(8)))
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [address.type, i32, i32, i32]), "llvm.prefetch.p0"
        )
        builder.call(function, [address, i32(0), i32(2), i32(1)])  # for reading, second level, data
        return context.get_dummy_value()

    return types.void(array, index), codegen


@intrinsic
def whole_vectors(typingctx):
    """Loops of this kernel may take vectors of 512 bits, where there are such: by itself LLVM takes half on Intel's
    CPUs, and the hashes, which are arithmetic alone, twice as long."""

    def codegen(context, builder, signature, args):
        # llvmlite lists the attributes that it knows; this one is for LLVM, which ignores it on other CPUs.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), codegen


# Random choices: the twins of ``counter_random`` and ``schedules``


@njit(inline="always")
def mix(v):
    v = (v ^ (v >> _30)) * _FACTOR_1
    v = (v ^ (v >> _27)) * _FACTOR_2
    return v ^ (v >> _31)


@njit(inline="always")
def uniform(at_k, index):
    """The number in [0, 1) of ``index``, given the hash of the iteration."""
    return (mix(at_k + np.uint64(index) * _STEP_INDEX) >> _11) * UNIT


@njit(inline="always")
def hash_of(key, k):
    return mix(key + np.uint64(k) * _STEP_K)


@njit(inline="always")
def chosen(key_k, index, threshold):
    """``uniform(key_k, index) < p`` in integers, with ``threshold = ceil(2^53 p)``."""
    return (mix(key_k + np.uint64(index) * _STEP_INDEX) >> _11) < threshold


@njit(inline="always")
def masks_of(key_k, first, threshold, masks):
    """``chosen`` of ``first, first + 1, ...``: all bits of a mask are ones, or none is.

    What is hashed grows by a step from index to index. Adding it up saves one of three multiplications, and LLVM
    vectorises the rest.
    """
    whole_vectors()
    v = key_k + first * _STEP_INDEX
    for s in range(_0, np.uint64(len(masks))):
        masks[s] = _0 - np.uint64((mix(v) >> _11) < threshold)
        v += _STEP_INDEX


@intrinsic
def choose(typingctx, mask_0, mask_1, yes_0, yes_1, no_0, no_1):
    """``yes_0`` or ``no_0``, and ``yes_1`` or ``no_1``, as the masks say, without a branch: chance cannot be predicted.

    LLVM makes a branch of ``yes if condition else no`` where the CPU has no AVX-512, and none of a choice between
    vectors, which these two are.
    """

    def codegen(context, builder, signature, args):
        from llvmlite import ir

        def vector(first, second):
            both = ir.Constant(ir.VectorType(first.type, 2), ir.Undefined)
            for at, value in enumerate((first, second)):
                both = builder.insert_element(both, value, ir.IntType(32)(at))
            return both

        masks, yes, no = (vector(*args[at : at + 2]) for at in (0, 2, 4))
        taken = builder.select(builder.icmp_signed("<", masks, ir.Constant(masks.type, [0, 0])), yes, no)
        elements = [builder.extract_element(taken, ir.IntType(32)(at)) for at in (0, 1)]
        return context.make_tuple(builder, signature.return_type, elements)

    two = types.UniTuple(types.float64, 2)
    return two(types.uint64, types.uint64, *[types.float64] * 4), codegen


@njit(cache=True)
def by_degree(indptr):
    """The nodes, sorted by degree within groups of ``SORT_TOGETHER``; empty where there are few.

    How often the loop over a row runs is then foreseeable: a wrong guess costs as much as half a row of ten.
    """
    n = len(indptr) - 1
    order = np.empty(n if n >= SORT_FROM else 0, np.uint32)
    ends = np.empty(DEGREES + 1, np.int64)
    for low in range(0, len(order), SORT_TOGETHER):
        high = min(low + SORT_TOGETHER, n)
        ends[:] = 0
        for i in range(low, high):
            ends[min(np.int64(indptr[i + 1] - indptr[i]), DEGREES - 1) + 1] += 1
        for degree in range(DEGREES):
            ends[degree + 1] += ends[degree]
        for i in range(low, high):
            degree = min(np.int64(indptr[i + 1] - indptr[i]), DEGREES - 1)
            order[low + ends[degree]] = i
            ends[degree] += 1
    return order


@njit
def first_upper(indptr, indices):
    """Where in each row the neighbours ``j > i`` begin: looking for it in every iteration would be mispredicted."""
    upper = np.empty(len(indptr) - 1, np.uint64)
    for i in range(_0, np.uint64(len(upper))):
        at = indptr[i]
        for h in range(indptr[i], indptr[i + _1]):
            at += np.uint64(np.uint64(indices[h]) < i)
        upper[i] = at
    return upper


# A penalty per edge, or one for all. The type says which, so each gets a kernel of its own from one source, and in that
# of a single number the factor 1 is gone.


def weight(weights, h):
    """What the edge of half-edge ``h`` weighs; 1 where ``weights`` is a number."""


@overload(weight, inline="always")
def _weight(weights, h):
    return (lambda weights, h: 1.0) if isinstance(weights, types.Float) else (lambda weights, h: weights[h])


def around(weights, D, i, degree):
    """What the edges of node ``i`` weigh together; its degree where ``weights`` is a number."""


@overload(around, inline="always")
def _around(weights, D, i, degree):
    if isinstance(weights, types.Float):
        return lambda weights, D, i, degree: float(degree)
    return lambda weights, D, i, degree: D[i]
