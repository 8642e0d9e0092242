"""Records that are held until their time has come: which there are, and what becomes of them."""
