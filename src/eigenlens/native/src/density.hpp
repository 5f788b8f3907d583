// Kernel densities: sums over points along a line, and over tiles of points in space. No include guard, on purpose.
#include "density_window.hpp"
#include "density_gaussian.hpp"
#include "density_tile.hpp"
