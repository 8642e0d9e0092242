"""A small blocking client on our own codec: for the command line, and where librdkafka falls short.

`cluster.WireClient` finds its way to the brokers; `admin`, `offsets`, `groups`, `producer` and
`reader` are what one does there. No threads: a call returns when it is done, or raises ClientError.
Only `share_member`, who is given records of a share group all the while, has two.
"""
