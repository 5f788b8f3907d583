// The kernels of sums over points on a line, in the order in which they depend on each other.
// Included once per instruction set; no include guard.
#include "common/tile.hpp"
#include "kde/power_of_two.hpp"
#include "kde/window.hpp"
#include "kde/gaussian.hpp"
