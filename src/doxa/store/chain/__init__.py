"""The log outside of its file: copies that begin epochs, logs that are shipped, and states that are
rebuilt from them."""
