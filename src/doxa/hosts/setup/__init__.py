"""`doxa setup`: enter doxa into a host's configuration, check it, and take it out again."""
