-- Whether a run gathers no more for long. Index buckets_until.
SELECT 1 FROM buckets WHERE until_us < ?1 LIMIT 1
