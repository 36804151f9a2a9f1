"""The benchmarks: figures that anyone can reproduce, with the plain baselines that doxa must beat
measured in the same run.

    python -m bench locomo --data FILE            questions about long conversations: which turns
    hold the evidence
    python -m bench locomo-plus --data FILE --locomo FILE      cues that share no words with what
    asks for them
    python -m bench beam --data FOLDER            long technical chats with updates and
    contradictions
    python -m bench longmemeval --data FILE       the official retrieval protocol, for those who
    have the file
    python -m bench qa --data FILE --reader SPEC --judge SPEC      answers by a language model,
    judged by one, with their cost
    python -m bench ablation --data FOLDER        every lane of recall switched off and asked alone,
    every mode; on RealMem and StateBench the lanes one by one, and fields
    python -m bench sensitivity --data FOLDER     every constant of the fusion moved
    python -m bench speed                         times and sizes next to plain tools
    python -m bench libraries --data FILE            recall, times and sizes next to libraries that
    memories are built from
    python -m bench graph                         times of graph queries next to embedded graph
    databases
    python -m bench persistence                   the paper's evaluation of persistence policies:
    answers counted, overheads timed
    python -m bench all --data FOLDER             everything present, kept under bench/results/
    python -m bench table                         the newest results as the pages of docs

Start at `__main__`. Data is never part of this repository: it is read by path. Nothing here
except `qa` calls a language model, so every other figure is a retrieval figure, called evidence
recall and never accuracy, or that of an extractive reader, which says so.
"""
