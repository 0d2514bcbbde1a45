-- Of runs that are over, or in a new segment. Index listens_pkey.
DELETE FROM {schema}.listens WHERE run = ANY ($1::bigint[])
