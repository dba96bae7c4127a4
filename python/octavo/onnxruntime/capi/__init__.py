"""Where code for ONNX Runtime finds its exceptions."""
