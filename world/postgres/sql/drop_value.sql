-- A value that no event of its run names is held no more. What may be held by nobody now is locked, so that who begins to hold it waits. Primary keys.
WITH gone AS (DELETE FROM {schema}.apart WHERE run = $1 AND value = $2 AND at IS NOT NULL RETURNING value)
SELECT p.value FROM {schema}.apart_pieces p WHERE p.number = 0 AND p.value IN (SELECT value FROM gone) FOR UPDATE OF p
