"""What the cluster is: its records, the image of them in memory, and how both change."""
