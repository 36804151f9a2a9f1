"""Floor 4: what takes raw input in or runs when nobody asked: ingest, remember, embedding,
forgetting, import and export."""
