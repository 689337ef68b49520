"""The kernel habitat: real Linux TCP over an emulated bottleneck."""
