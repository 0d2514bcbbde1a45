-- A piece of a value that is kept apart; what comes again is the same. With the first its run holds it, unless another does. Primary keys, index apart_value.
WITH kept AS (
  INSERT INTO {schema}.apart_pieces (value, number, data, sum) VALUES ($2, $3, $4, $5) ON CONFLICT (value, number) DO NOTHING)
INSERT INTO {schema}.apart (run, value, at)
SELECT $1::text, $2, clock_timestamp() WHERE $3::integer = 0 AND NOT EXISTS (SELECT 1 FROM {schema}.apart a WHERE a.value = $2)
ON CONFLICT (run, value) DO NOTHING
