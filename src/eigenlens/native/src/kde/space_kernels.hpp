// The kernels of sums over tiles of points in space, in the order in which they depend on each other.
// Included once per instruction set; no include guard.
#include "common/tile.hpp"
#include "kde/power_of_two.hpp"
#include "kde/tile.hpp"
