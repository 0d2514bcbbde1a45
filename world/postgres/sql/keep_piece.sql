-- A piece of a value that a run holds and no event names yet; what comes again is the same. With the first the run begins to hold it, unless another
-- does. Primary keys, index apart_value.
WITH begun AS (
  INSERT INTO {schema}.apart (run, value, at, key)
  SELECT $1::text, $2::text, clock_timestamp(), nullif($6::text, '') WHERE $3::integer = 0 AND NOT EXISTS (SELECT 1 FROM {schema}.apart a WHERE a.value = $2)
  ON CONFLICT (run, value) DO NOTHING RETURNING 1),
held AS (SELECT 1 FROM {schema}.apart a WHERE a.run = $1 AND a.value = $2 AND a.at IS NOT NULL FOR KEY SHARE)
INSERT INTO {schema}.apart_pieces (value, number, data, sum)
SELECT $2, $3, $4::bytea, $5::integer WHERE EXISTS (SELECT FROM begun) OR EXISTS (SELECT FROM held)
ON CONFLICT (value, number) DO NOTHING
