-- Of such values those that no event names yet, and whose runs are still not there, are held no more. A birth that names one writes to its row: who is first is
-- waited for, and then at is looked at again. What may be held by nobody now is locked, so that who begins to hold it waits. Primary keys, index runs_id.
WITH gone AS (
  DELETE FROM {schema}.apart a WHERE a.run = ANY ($2::text[]) AND a.value = ANY ($3::text[]) AND a.at < $1
    AND NOT EXISTS (SELECT 1 FROM {schema}.runs r WHERE r.ns = 0 AND r.id = a.run) RETURNING a.value)
SELECT p.value FROM {schema}.apart_pieces p WHERE p.number = 0 AND p.value IN (SELECT value FROM gone) ORDER BY p.value FOR UPDATE OF p
