"""Which elements are visible when: policies evaluated into windows, and the tables that apply them."""
