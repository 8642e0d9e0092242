"""All measurements, as a table: `make bench`, or `python -m bench.run NAME ...` for some."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from pathlib import Path

from bench import (
    burst,
    clusters,
    consuming,
    crowds,
    delays,
    delays_begun,
    footprint,
    groups,
    large_requests,
    producing,
    queues,
    sdk_overhead,
    spark_archiving,
    spark_reading,
    ten_million,
    transactions,
    views,
)
from bench.measurement import Measurement

MEASUREMENTS: dict[str, Measurement] = {
    "produce_large": producing.large_batches,
    "produce_small": producing.small_requests,
    "produce_latency": producing.latency,
    "produce_synced": producing.synced,
    "consume": consuming.from_page_cache,
    "fetch_small": consuming.small_fetches,
    "view_few": views.few_matches,
    "view_half": views.half_matches,
    "view_holds": views.longest_hold,
    "delays_memory": delays.pending_memory,
    "delays_rate": delays.deliveries,
    "delays_late": delays.lateness,
    "delays_plain": delays.plain_topics,
    "delays_holds": delays.longest_hold,
    "delays_begun": delays_begun.large_topic,
    "start": footprint.start,
    "memory": footprint.memory,
    "partitions": footprint.cost_by_partitions,
    "settle_classic": groups.settle_classic,
    "settle_new": groups.settle_new,
    "commits": groups.commits,
    "groups_at_rest": groups.groups_at_rest,
    "groups_loading": groups.loading,
    "transactions": transactions.of_several,
    "transactions_alone": transactions.of_one,
    "queue_accepted": queues.accepted,
    "queue_sdk": queues.by_sdk,
    "cluster_unsynced": clusters.throughput_unsynced,
    "cluster_synced": clusters.throughput_synced,
    "catching_up": clusters.catching_up,
    "failover": clusters.failover_of_many,
    "burst": burst.burst,
    "crowd_classic": crowds.one_classic_group,
    "crowd_new": crowds.one_new_group,
    "crowd_own": crowds.own_groups,
    "crowd_readers": crowds.readers,
    "sdk_producing": sdk_overhead.producing,
    "sdk_consuming": sdk_overhead.consuming,
    "sdk_consuming_batches": sdk_overhead.consuming_batches,
    "spark_source": spark_reading.source,
    "spark_batch": spark_reading.micro_batch,
    "spark_archive": spark_archiving.archive,
    "ten_million": ten_million.compared,
    "large_requests": large_requests.large_requests,
}


def main(names: list[str]) -> int:
    results = {}
    for name in names or MEASUREMENTS:
        result = MEASUREMENTS[name](None)
        results[name] = result._asdict()
        print(result.line())
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    machine = {"cores": os.cpu_count(), "python": platform.python_version()}
    path = folder / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps({"machine": machine, "results": results}, indent=2))
    missed = [name for name, result in results.items() if not result["reached"]]
    print(
        f"written to {path}; " + (f"not reached: {', '.join(missed)}" if missed else "all reached")
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
