"""Who a party is, and what the two ends of an edge share: identity, key agreement, pads and MAC keys."""
