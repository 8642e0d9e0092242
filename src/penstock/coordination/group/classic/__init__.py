"""The classic protocol: members join in rounds, and one of them computes the plan for all."""
