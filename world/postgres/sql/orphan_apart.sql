-- Runs that are not there, for which values were written that no event names. Index apart_at, index runs_id.
SELECT DISTINCT o.run FROM (
  SELECT a.run FROM {schema}.apart a WHERE a.at < $1 AND NOT EXISTS (SELECT 1 FROM {schema}.runs r WHERE r.ns = 0 AND r.id = a.run)
  ORDER BY a.at LIMIT $2) o
