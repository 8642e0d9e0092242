"""Side by side with a bare reference, in one run: broker on one core, load on the other."""
