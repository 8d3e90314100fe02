"""A piece of a product of two matrices whose sums stay in registers; compiled code is made of it.

Every entry is summed in order, and no product is contracted with a sum: its bits depend on the numbers alone, not on
the CPU nor on what is computed beside it, as those of BLAS do.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,untyped-decorator"

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

ROWS, LANES = 5, 16  # of a tile: ten sums in vectors of 512 bits, or twenty of 256


@intrinsic
def tile(typingctx, left, r, right, c, total):
    """``total = left[r:r+ROWS] @ right[:, c:c+LANES]``; beyond the last row of ``left``, that one again and again.

    ``right`` and ``total`` have their rows in a row. What is done at once are the columns, each a lane of a vector, and
    the rows: LLVM finds neither by itself.
    """

    def codegen(context, builder, signature, args):
        from llvmlite import ir

        lanes = ir.VectorType(ir.DoubleType(), LANES)
        undefined, first = ir.Constant(lanes, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)

        def number(value):
            return context.get_constant(types.intp, value)

        def view(array):
            return context.make_array(signature.args[array])(context, builder, args[array])

        def address(array, row, column):
            kind = signature.args[array]
            return cgutils.get_item_pointer(context, builder, kind, view(array), [row, column], wraparound=False)

        def some(array, row, column):
            return builder.bitcast(address(array, row, column), lanes.as_pointer())

        last = builder.sub(builder.extract_value(view(0).shape, 0), number(1))
        following = [builder.add(args[1], number(k)) for k in range(ROWS)]
        rows = [builder.select(builder.icmp_signed("<", row, last), row, last) for row in following]
        sums = [cgutils.alloca_once_value(builder, ir.Constant(lanes, [0.0] * LANES)) for _ in rows]
        with cgutils.for_range(builder, builder.extract_value(view(2).shape, 0)) as loop:
            across = builder.load(some(2, loop.index, args[3]), align=8)
            for row, total_of in zip(rows, sums, strict=True):
                entry = builder.insert_element(undefined, builder.load(address(0, row, loop.index)), ir.IntType(32)(0))
                everywhere = builder.shuffle_vector(entry, undefined, first)
                builder.store(builder.fadd(builder.load(total_of), builder.fmul(everywhere, across)), total_of)
        for k, total_of in enumerate(sums):
            builder.store(builder.load(total_of), some(4, number(k), number(0)), align=8)
        return context.get_dummy_value()

    return types.void(left, types.intp, right, types.intp, total), codegen
