"""Pictures: in the terminal as text, elsewhere as SVG."""
