-- What is known of deliveries to runs that are gone: their senders looked the run up before it went and committed after it. Of so many ($2) runs behind one ($1);
-- tells where to go on. Indexes delivered_pkey, runs_pkey.
WITH RECURSIVE heard AS (
  (SELECT d.run, 1 AS n FROM {schema}.delivered d WHERE d.run > $1::bigint ORDER BY d.run LIMIT 1)
  UNION ALL
  SELECT (SELECT d.run FROM {schema}.delivered d WHERE d.run > h.run ORDER BY d.run LIMIT 1), h.n + 1 FROM heard h WHERE h.run IS NOT NULL AND h.n < $2::integer),
gone AS (DELETE FROM {schema}.delivered WHERE run IN (SELECT h.run FROM heard h WHERE h.run IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.runs r WHERE r.key = h.run)))
SELECT CASE WHEN count(run) = $2::integer THEN max(run) END FROM heard
