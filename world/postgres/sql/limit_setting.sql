-- An operator sets a limit for all: one that is there is lowered, or, with $3, raised; below 0 is none. Index settings_pkey.
INSERT INTO {schema}.settings AS s (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
WHERE $3 OR excluded.value > 0 AND (s.value < 0 OR excluded.value < s.value)
