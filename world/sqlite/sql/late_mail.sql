-- The run is over: what was delivered and not read came too late. Indexes inbox_run, the primary key of delivered.
UPDATE delivered SET late = (
  SELECT json_object('type', coalesce(h ->> '$.e[0].y', ''), 'name', coalesce(h ->> '$.e[0].n', ''), 'by', coalesce(h ->> '$.e[0].by', ''),
    'reason', coalesce(h ->> '$.e[0].s', ''), 'delivery', i.delivery, 'arrivedAt', strftime('%Y-%m-%dT%H:%M:%S', i.arrived_us / 1000000, 'unixepoch') || printf('.%06dZ', i.arrived_us % 1000000))
  FROM (SELECT delivery, arrived_us, CASE WHEN json_valid(head) THEN head END AS h FROM inbox WHERE run = ?1 AND key = delivered.key) i)
WHERE run = ?1 AND key IN (SELECT key FROM inbox WHERE run = ?1)
