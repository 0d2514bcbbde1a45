-- The number of a limit ($1, and $2 behind all its keys) has changed: who admits looks at all its keys that have a row.
-- Nobody admits meanwhile: hold_limiting comes before, as this one would not see the keys of who admits while it waits.
-- Index limit_keys_pkey.
INSERT INTO {schema}.limit_news (key, kind) SELECT k.key, 1 FROM {schema}.limit_keys k WHERE k.key >= $1 AND k.key < $2
