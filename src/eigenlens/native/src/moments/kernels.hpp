// The kernels of moments, in the order in which they depend on each other.
// Included once per instruction set; no include guard.
#include "common/tile.hpp"
#include "moments/kernel.hpp"
#include "moments/sparse.hpp"
