"""The protocol of KIP-848: the coordinator makes the plan, and leads each member to it."""
