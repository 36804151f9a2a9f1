"""Which elements are visible when: windows that follow from policies, and the tables that apply
them."""
