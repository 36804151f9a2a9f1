"""Work in the background of an open memory: its threads, and the verbs of jobs."""
