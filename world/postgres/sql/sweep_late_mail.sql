-- Looks at $2 deliveries from the row $1 on, deletes those for runs that are over, and tells the last that it looked at; null where none was left.
-- Indexes inbox_pkey, queue_pkey.
WITH looked AS MATERIALIZED (SELECT "row", run FROM {schema}.inbox WHERE "row" > $1 ORDER BY "row" LIMIT $2),
  gone AS (DELETE FROM {schema}.inbox WHERE "row" = ANY (ARRAY(
    SELECT l."row" FROM looked l WHERE NOT EXISTS (SELECT FROM {schema}.queue q WHERE q.run = l.run OFFSET 0))))
SELECT max("row") FROM looked
