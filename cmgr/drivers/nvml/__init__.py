"""NVIDIA GPUs: how containers ask for them, and the driver over NVIDIA's libnvidia-ml.so.1 and nvidia-smi."""
