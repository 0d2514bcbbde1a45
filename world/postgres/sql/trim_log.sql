-- Some commits of a run, at most $4, between its first and the one at $2 go; those that hold an event that is named stay. Index log_run.
DELETE FROM {schema}.log WHERE run = $1::bigint AND seq = ANY (ARRAY(
  SELECT l.seq FROM {schema}.log l WHERE l.run = $1::bigint AND l.seq > 1 AND l.seq < $2::bigint
    AND l.seq <> ALL (ARRAY(
      SELECT (SELECT k.seq FROM {schema}.log k WHERE k.run = $1::bigint AND k.seq <= s.seq ORDER BY k.seq DESC LIMIT 1) FROM unnest($3::bigint[]) s(seq)))
  ORDER BY l.seq LIMIT $4::bigint))
