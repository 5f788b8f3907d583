// The kernels of latent models on incomplete rows, in the order in which they depend on each other.
// Included once per instruction set; no include guard.
#include "common/tile.hpp"
#include "common/exponential.hpp"
#include "common/lanes.hpp"
#include "incomplete_rows/kernel.hpp"
