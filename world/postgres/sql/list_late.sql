-- What came to a run too late, in order of arrival; what waits still was accepted while the run ended. Indexes runs_id, delivered_late,
-- inbox_run.
SELECT x.late FROM {schema}.runs r CROSS JOIN LATERAL (
  SELECT d.late, d.at FROM {schema}.delivered d WHERE d.run = r.key AND d.late IS NOT NULL
  UNION ALL SELECT json_build_object('type', coalesce({schema}.readable(i.head) #>> '{e,0,y}', ''), 'name', coalesce({schema}.readable(i.head) #>> '{e,0,n}', ''),
    'by', coalesce({schema}.readable(i.head) #>> '{e,0,by}', ''), 'reason', coalesce({schema}.readable(i.head) #>> '{e,0,s}', ''), 'delivery', i.delivery, 'arrivedAt', i.arrived_at)::text, i.arrived_at
  FROM {schema}.inbox i WHERE i.run = r.key AND i.key <> '') x
WHERE r.ns = 0 AND r.id = $1 AND NOT EXISTS (SELECT FROM {schema}.queue q WHERE q.run = r.key) ORDER BY x.at LIMIT $2
