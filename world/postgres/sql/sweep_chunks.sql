-- Runs are swept. Index chunks_pkey.
DELETE FROM {schema}.chunks WHERE run = ANY ($1::bigint[])
