"""Optimisers: accelerated EM and a trust-region Newton step."""
