-- Runs that gather no more, for long. Index buckets_until.
DELETE FROM buckets WHERE until_us < ?1
