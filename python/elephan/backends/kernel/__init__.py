"""The kernel backend: real Linux TCP over an emulated bottleneck."""
