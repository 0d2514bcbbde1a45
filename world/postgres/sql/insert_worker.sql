-- A worker joins, with its lanes.
WITH joined AS (
  INSERT INTO {schema}.workers (id, name, build, classes, steps, lease_ns, remote, joined_at, until)
  SELECT $1, $2, $3, $4, $5, $6::bigint, $8, now.at, now.at + ($6::bigint / 1000) * interval '1 microsecond' FROM (SELECT clock_timestamp() AS at) now
  RETURNING key, joined_at, until),
lanes AS (INSERT INTO {schema}.lanes (worker, lane) SELECT key, lane FROM joined, unnest($7::smallint[]) lane)
SELECT key, joined_at, until FROM joined
