-- Runs are swept. Index acts_pkey.
DELETE FROM {schema}.acts WHERE run = ANY ($1::bigint[])
