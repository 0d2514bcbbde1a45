-- Runs are swept: nothing is known of what was delivered to them. Primary key.
DELETE FROM {schema}.delivered WHERE run = ANY ($1::bigint[])
