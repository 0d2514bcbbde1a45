-- Runs are swept: nobody waits for them. Index awaits_pkey.
DELETE FROM {schema}.awaits WHERE target = ANY ($1::bigint[])
