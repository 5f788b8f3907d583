// Limits that all passes of mixtures share. Included inside namespace mixture. No include guard, on purpose.

constexpr double FARTHEST = 1e300;    // half a squared distance at most: even a row at infinity has a likelihood
constexpr double NEGLIGIBLE = 1e-30;  // of a row, in units of its component: far below the rounding of any sum
