"""What is believed and what follows: sentences, a solver, entrenchment and revision over belief
bases. Pure, no I/O."""
