-- Locks what a run has gathered. Before the lock of its queue row, as who opens another does. Index buckets_run.
SELECT quiet_ns, number, until_at, items, bytes FROM {schema}.buckets WHERE run = $1::bigint FOR UPDATE
