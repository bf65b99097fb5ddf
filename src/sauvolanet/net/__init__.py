"""The torch-free runtime: model files, and the kernels that run them."""
