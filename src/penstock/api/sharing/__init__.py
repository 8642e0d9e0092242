"""Share groups, as this broker answers for them; the handlers of their APIs are with all others.

Who is given records: `groups` says what a group may share, `shared` has the partitions that are led
here, `leaders` says who leads others, `handing_out` reads and gives, around `held_offsets`; and
`acknowledging` takes what members say of them. What has become of records is asked for and stored
through `states`; `each_share` answers that where it is kept. `admin` is for who looks on, or sets a
group elsewhere.
"""
