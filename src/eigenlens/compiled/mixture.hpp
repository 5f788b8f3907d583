// Mixtures of Gaussians. No include guard, on purpose.
