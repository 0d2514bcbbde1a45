-- Looks at $2 waits that listen, of the runs behind $1, deletes those of runs that are over, as one
-- ended that did not say so, and tells the last run; null where none was left. Indexes listens_pkey, queue_pkey.
WITH looked AS MATERIALIZED (SELECT run FROM {schema}.listens WHERE run > $1 ORDER BY run LIMIT $2),
  gone AS (DELETE FROM {schema}.listens WHERE run = ANY (ARRAY(
    SELECT l.run FROM looked l WHERE NOT EXISTS (SELECT FROM {schema}.queue q WHERE q.run = l.run OFFSET 0))))
SELECT max(run) FROM looked
