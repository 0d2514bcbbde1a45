-- Runs that gather no more, for long. Index buckets_until.
DELETE FROM {schema}.buckets WHERE until_at < clock_timestamp() - interval '1 hour'
