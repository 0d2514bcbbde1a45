-- The key of the run that stands $2 runs below the key $1: a page looks no further. By key.
SELECT key FROM {schema}.runs WHERE key < $1 ORDER BY key DESC OFFSET $2::bigint - 1 LIMIT 1
