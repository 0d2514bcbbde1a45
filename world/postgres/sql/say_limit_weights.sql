-- Code says other weights of the keys of a limit ($1: from which on, $2: before which): $3 and $4. One statement alone: those that are
-- there still are changed. Index limit_weights_pkey.
WITH said AS (SELECT * FROM unnest($3::text[], $4::smallint[]) s(key, weight)),
gone AS (DELETE FROM {schema}.limit_weights w WHERE w.key >= $1 AND w.key < $2 AND w.key <> ALL($3::text[]))
INSERT INTO {schema}.limit_weights AS w (key, weight) SELECT s.key, s.weight FROM said s ON CONFLICT (key) DO UPDATE SET weight = excluded.weight
