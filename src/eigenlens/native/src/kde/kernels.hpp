// The kernels of kernel densities: sums over points along a line, and over tiles of points in space, in the order in which they rest on each other.
// Included once per instruction set; no include guard.
#include "common/tile.hpp"
#include "kde/window.hpp"
#include "kde/gaussian.hpp"
#include "kde/tile.hpp"
