"""How frames travel: over WebSockets between machines, through queues in one process, or over a medium of one's own."""
