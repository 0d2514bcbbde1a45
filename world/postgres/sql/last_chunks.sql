-- The last batch of a stream. Index chunks_pkey.
SELECT idx, n, kind, step, attempt, pos FROM {schema}.chunks WHERE run = $1::bigint AND stream = $2::text ORDER BY idx DESC LIMIT 1
