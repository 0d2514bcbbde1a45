-- Forgets deliveries of a run ($1) that came before a time ($2), but for the last $3, those that are unread, and
-- those whose sender may come again, and marks that
-- it has looked at the run. Primary key.
WITH old AS (
  SELECT key, at, sender, row_number() OVER (ORDER BY at DESC) AS n FROM {schema}.delivered WHERE run = $1),
  gone AS (DELETE FROM {schema}.delivered d USING old o WHERE d.run = $1 AND d.key = o.key AND o.n > $3 AND o.at < $2
    AND o.key NOT IN (SELECT i.key FROM {schema}.inbox i WHERE i.run = $1)
    AND (o.sender IS NULL OR o.sender <> '' AND EXISTS (SELECT FROM {schema}.runs r WHERE r.ns = 0 AND r.id = o.sender AND r.status IS NOT NULL))
    RETURNING d.key)
UPDATE {schema}.delivered SET marked = NULL WHERE run = $1 AND marked IS NOT NULL AND at < $2 AND key NOT IN (SELECT key FROM gone)
