"""Reading topics: what a job asks for, the ranges of offsets that it means, records as Arrow."""
