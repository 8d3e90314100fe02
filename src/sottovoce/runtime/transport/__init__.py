"""How frames travel: over gRPC between machines, through queues in one process, or over a medium of one's own."""
