-- The number of a limit ($1, and $2 behind all its keys) has changed: who admits now decides anew, and looks at all its
-- keys that have a row. Index limit_keys_pkey.
WITH moved AS (UPDATE {schema}.limiting SET revision = CASE WHEN revision < 9000000000000000000 THEN revision + 1 ELSE 1 END)
INSERT INTO {schema}.limit_news (key, kind) SELECT k.key, 1 FROM {schema}.limit_keys k WHERE k.key >= $1 AND k.key < $2
