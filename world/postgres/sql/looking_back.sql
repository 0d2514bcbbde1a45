-- A page of the waits that look back, and have not yet. Index listens_back.
SELECT l.run, r.id, l.wait, l.shape, l.hash, l.back, l.match FROM {schema}.listens l JOIN {schema}.runs r ON r.key = l.run
WHERE l.back IS NOT NULL AND (l.run, l.wait) > ($1::bigint, $2::text) ORDER BY l.run, l.wait LIMIT $3
