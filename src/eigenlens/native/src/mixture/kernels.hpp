// The kernels of mixtures, in the order in which they depend on each other.
// Included once per instruction set; no include guard.
#include "common/tile.hpp"
#include "common/exponential.hpp"
#include "common/lanes.hpp"
#include "moments/kernel.hpp"
#include "mixture/pass.hpp"
