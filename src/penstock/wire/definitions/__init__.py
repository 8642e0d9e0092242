"""The messages of the protocol, declared as data: one text file per API, read by `notation`.

A file says which versions there are, since which of them the encoding is flexible (compact lengths
and tagged fields), and then the fields of the request and of the response, in the order in which
they are encoded:

    api 3 Metadata
    versions 0-13
    flexible 9+

    request
      topics   [MetadataRequestTopic]?1+
        topic_id  uuid        10+  ignorable
        name      string?10+
      allow_auto_topic_creation  bool  4+  = true

A field is a name, a type, and whatever of these differs from the usual:
- the versions that have it (`10+`, `3-12`, `7`), if not all those of the struct it is in;
- `tag 0`: it is a tagged field;
- `= true`: its default, if that is not zero, empty or false;
- `ignorable`: in a version without the field it is dropped, whatever its value. Any other field
  of a request can only be dropped at its default; those of a response are all ignorable.

Types are bool, int8 to int64, uint16, uint32, float64, string, bytes, records, uuid, a struct, or
any of them in brackets for an array. A `?` allows null, in the versions that follow it, or in all.
A struct's fields are indented below its first use; later uses just name it.

What coordinators store is declared in `stored` in the same way, one file per record, with a key and
a value instead of a request and a response:

    record 0-1 OffsetCommit of __consumer_offsets
    versions 0-4
    flexible 4+

    key
      group  string

    value
      offset  int64

The number is the type that the key begins with in that topic; of several that mean the same we
write the last. Versions are those of the value, which begins with its own; a key has no versions
and is never flexible. A `format` has a name and a value only: clients make it, and a record holds
it as bytes.

Left out, being spoken only inside a KRaft quorum, which Penstock does not have: Vote (52),
BeginQuorumEpoch (53), EndQuorumEpoch (54), AlterPartition (56), Envelope (58), FetchSnapshot (59),
BrokerRegistration (62), BrokerHeartbeat (63), AllocateProducerIds (67), ControllerRegistration
(70), AssignReplicasToDirs (73) and UpdateRaftVoter (82); and all that Kafka 4.0 removed.
"""
