"""The runtime of an agent: what keeps its identity over conversations, under an operator's hand.

Everything it keeps is a record (records/): a node with an address, a type and a state, whose
history the store keeps. Recall, consolidation and dream read no records.
"""
