-- The run is over: what was delivered and not read came too late. Indexes inbox_run, the primary key of delivered.
UPDATE delivered SET late = (
  SELECT json_object('type', i.head ->> '$.e[0].y', 'name', coalesce(i.head ->> '$.e[0].n', ''), 'by', coalesce(i.head ->> '$.e[0].by', ''),
    'reason', coalesce(i.head ->> '$.e[0].s', ''), 'delivery', i.delivery, 'arrivedAt', strftime('%Y-%m-%dT%H:%M:%fZ', i.arrived_us / 1000000.0, 'unixepoch'))
  FROM inbox i WHERE i.run = ?1 AND i.key = delivered.key)
WHERE run = ?1 AND key IN (SELECT key FROM inbox WHERE run = ?1)
