"""Operations on tensors: each in the functions of any array library, and some as Triton kernels for CUDA devices.

They return what `native` returns for NumPy arrays: small sums as NumPy arrays in float64. What has one entry per row
stays on the device.
"""
