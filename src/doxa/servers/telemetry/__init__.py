"""What servers tell about their work: metrics, logs and traces, without content."""
