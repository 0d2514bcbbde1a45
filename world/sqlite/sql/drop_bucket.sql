-- A run gathers no more. Index buckets_run.
DELETE FROM buckets WHERE run = ?1
