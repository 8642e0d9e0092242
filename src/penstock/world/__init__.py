"""Clock, disk, network, chance: the only doors out of the program."""
