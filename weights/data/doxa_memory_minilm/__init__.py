"""Data only: `model.onnx` and `tokenizer.json` of all-MiniLM-L6-v2 in 8 bits.

doxa opens the files by their path and never imports this package.
"""
