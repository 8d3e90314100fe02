"""How frames travel: over gRPC between machines, through queues in one process."""
