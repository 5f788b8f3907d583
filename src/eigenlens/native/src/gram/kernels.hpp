// The kernels of Gram matrices, in the order in which they depend on each other.
// Included once per instruction set; no include guard.
#include "common/tile.hpp"
#include "common/exponential.hpp"
#include "gram/rbf.hpp"
#include "gram/symmetric.hpp"
#include "gram/span.hpp"
