-- Looks at $2 deliveries from the row $1 on, deletes those for runs that are over, which came too late, and tells
-- the last that it looked at; null where none was
-- left. Indexes inbox_pkey, queue_pkey, the primary key of delivered.
WITH looked AS MATERIALIZED (SELECT "row", run FROM {schema}.inbox WHERE "row" > $1 ORDER BY "row" LIMIT $2),
  gone AS (DELETE FROM {schema}.inbox WHERE "row" = ANY (ARRAY(
    SELECT l."row" FROM looked l WHERE NOT EXISTS (SELECT FROM {schema}.queue q WHERE q.run = l.run OFFSET 0)))
    RETURNING run, key, delivery, arrived_at, head),
  late AS (UPDATE {schema}.delivered d SET late = json_build_object('type', coalesce({schema}.readable(g.head) #>> '{e,0,y}', ''), 'name', coalesce({schema}.readable(g.head) #>> '{e,0,n}', ''),
    'by', coalesce({schema}.readable(g.head) #>> '{e,0,by}', ''), 'reason', coalesce({schema}.readable(g.head) #>> '{e,0,s}', ''), 'delivery', g.delivery, 'arrivedAt', g.arrived_at)
    FROM gone g WHERE g.key <> '' AND d.run = g.run AND d.key = g.key)
SELECT max("row") FROM looked
