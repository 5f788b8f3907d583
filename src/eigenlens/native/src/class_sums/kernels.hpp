// The kernels of sums within classes, in the order in which they depend on each other.
// Included once per instruction set; no include guard.
#include "common/tile.hpp"
#include "class_sums/kernel.hpp"
