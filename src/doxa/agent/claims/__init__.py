"""Claims with sources that are resolved again, in a candidate and a verified lane."""
