-- What a run has gathered. Index buckets_run.
SELECT '', quiet_ns, number, until_us, items, bytes FROM buckets WHERE run = ?1
