-- The weights of the keys of a limit ($1: from which on, $2: before which), or (null) of all. Index limit_weights_pkey.
SELECT key, weight FROM {schema}.limit_weights WHERE $1::text IS NULL OR (key >= $1 AND key < $2)
