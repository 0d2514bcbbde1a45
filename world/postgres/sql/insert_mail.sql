-- Mail, in order of arrival; what waits already under its delivery ID is left out. Returns what was inserted. Index inbox_run.
INSERT INTO {schema}.inbox (run, delivery, cancel, act, payload, format, head, body)
SELECT a.run, a.delivery, a.cancel, a.act, a.payload, $6::smallint, replace(a.head, a.placeholder, to_json(a.hook)::text), a.body
FROM unnest($1::bigint[], $2::text[], $3::boolean[], $4::text[], $5::boolean[], $7::text[], $8::text[], $9::text[], $10::bytea[])
  WITH ORDINALITY a(run, delivery, cancel, act, payload, placeholder, hook, head, body, i)
ORDER BY a.i
ON CONFLICT DO NOTHING
RETURNING run, coalesce(delivery, '')
