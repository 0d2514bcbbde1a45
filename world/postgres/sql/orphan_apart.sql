-- Values that were written for runs that are not there, and which no event names. Index apart_at, index runs_id.
SELECT a.run, a.value FROM {schema}.apart a WHERE a.at < $1 AND NOT EXISTS (SELECT 1 FROM {schema}.runs r WHERE r.ns = 0 AND r.id = a.run)
ORDER BY a.at LIMIT $2
