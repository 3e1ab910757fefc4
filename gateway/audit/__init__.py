"""The audit log: who let which agent do what."""
