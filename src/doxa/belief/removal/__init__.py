"""What is believed no more: retired, which can be reversed, or erased, which cannot."""
