// Kernel densities. No include guard, on purpose.
