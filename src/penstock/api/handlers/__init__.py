"""One file per API. Each opens with what its versions brought and what we do differently."""
