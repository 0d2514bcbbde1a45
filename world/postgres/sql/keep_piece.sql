-- A piece of a value that is kept apart, perhaps once more; with the first its run holds it. Primary keys.
WITH kept AS (
  INSERT INTO {schema}.apart_pieces (value, number, data, sum) VALUES ($2, $3, $4, $5)
  ON CONFLICT (value, number) DO UPDATE SET data = excluded.data, sum = excluded.sum)
INSERT INTO {schema}.apart (run, value, at) SELECT $1::text, $2, clock_timestamp() WHERE $3::integer = 0
ON CONFLICT (run, value) DO NOTHING
