-- Who admits locks the row, unless somebody else does or has since ($1): then it fails by a division by zero.
WITH mine AS (SELECT revision FROM {schema}.limiting WHERE revision = $1::bigint FOR UPDATE SKIP LOCKED),
moved AS (UPDATE {schema}.limiting l SET revision = CASE WHEN l.revision < 9000000000000000000 THEN l.revision + 1 ELSE 1 END, behind = $2 FROM mine WHERE l.revision = mine.revision RETURNING 1)
SELECT 1 / count(*)::integer FROM moved
