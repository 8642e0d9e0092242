"""The command line: noun, then verb, the object's name as argument.

Modules here import nothing heavy at their top: a command pays only for what it uses.
"""
