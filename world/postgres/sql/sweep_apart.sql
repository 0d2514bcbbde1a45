-- Runs are swept: they hold nothing any more. What may be held by nobody now is locked, so that who begins to hold it waits. Primary keys.
WITH gone AS (DELETE FROM {schema}.apart WHERE run = ANY ($1::text[]) RETURNING value)
SELECT p.value FROM {schema}.apart_pieces p WHERE p.number = 0 AND p.value IN (SELECT value FROM gone) ORDER BY p.value FOR UPDATE OF p
