-- The mail of runs that are over: what was delivered and not read came too late. Index inbox_run, the primary key of
-- delivered.
WITH gone AS (DELETE FROM {schema}.inbox WHERE run = ANY($1::bigint[]) RETURNING run, key, delivery, arrived_at, head)
UPDATE {schema}.delivered d SET late = json_build_object('type', coalesce({schema}.readable(g.head) #>> '{e,0,y}', ''), 'name', coalesce({schema}.readable(g.head) #>> '{e,0,n}', ''),
  'by', coalesce({schema}.readable(g.head) #>> '{e,0,by}', ''), 'reason', coalesce({schema}.readable(g.head) #>> '{e,0,s}', ''), 'delivery', g.delivery, 'arrivedAt', g.arrived_at)
FROM gone g WHERE g.key <> '' AND d.run = g.run AND d.key = g.key
