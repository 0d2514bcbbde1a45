-- A page of the waits with some hashes. Index listens_hash, for each of them.
SELECT l.run, r.id, l.wait, l.shape, l.hash
FROM unnest($1::text[], $2::bigint[]) a(shape, hash) CROSS JOIN LATERAL (
  SELECT run, wait, shape, hash FROM {schema}.listens l WHERE l.shape = a.shape AND l.hash = a.hash AND (l.run, l.wait) > ($3::bigint, $4::text)
  ORDER BY l.run, l.wait LIMIT $5) l JOIN {schema}.runs r ON r.key = l.run
ORDER BY l.run, l.wait LIMIT $5
