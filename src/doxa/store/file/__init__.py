"""The file itself: connections and their errors, files that appear whole or not at all, damage,
and the overwriting of what was erased."""
