"""What only an operator changes: plan, apply, rollback, with backup and receipts."""
