"""From a checked tree to the steps of a plan."""
