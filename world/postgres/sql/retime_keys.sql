-- A rate is another from now on: the turns of its keys ($1, and $2 behind all of them) are what they would be by that, by
-- how far the burst of the old one ($3) and of the new one ($4) goes back, how far behind that a turn may be ($5), and the
-- share of its time in the old one's ($6): see package rules. Index limit_keys_pkey.
WITH clock AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000 AS now),
k AS MATERIALIZED (SELECT k.key FROM {schema}.limit_keys k WHERE k.key >= $1 AND k.key < $2 AND k.turn_ns > 0 ORDER BY k.key FOR UPDATE)
UPDATE {schema}.limit_keys u SET turn_ns = c.now - $4::bigint + CASE WHEN u.turn_ns <= c.now - $3::bigint THEN u.turn_ns - (c.now - $3::bigint)
  ELSE least(ceil((u.turn_ns - (c.now - $3::bigint))::double precision * $6::double precision), $5::double precision)::bigint END
FROM k CROSS JOIN clock c WHERE u.key = k.key
