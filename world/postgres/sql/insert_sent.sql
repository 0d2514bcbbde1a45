-- Mail that commits send, to runs by their ID or by the token of a hook; to what is unknown or over it is dropped. Returns who got it.
-- Indexes runs_id, hooks_token, inbox_run.
WITH sent AS (
  INSERT INTO {schema}.inbox (run, delivery, cancel, act, payload, format, head, body, sum)
  SELECT q.run, a.delivery, a.cancel, a.act, a.payload, $7::smallint, replace(a.head, a.placeholder, to_json(coalesce(h.id, ''))::text), a.body,
    concat_ws(chr(31), a.sum, q.run, coalesce(h.id, ''), a.delivery)
  FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::text[], $6::boolean[], $8::text[], $9::text[], $10::bytea[], $11::text[])
    WITH ORDINALITY a(run, token, delivery, cancel, act, payload, placeholder, head, body, sum, i)
  LEFT JOIN {schema}.hooks h ON h.ns = 0 AND h.token = a.token
  LEFT JOIN {schema}.runs r ON r.ns = 0 AND r.id = a.run
  JOIN {schema}.queue q ON q.run = coalesce(h.run, r.key)
  WHERE NOT EXISTS (SELECT 1 FROM {schema}.acts x WHERE x.run = q.run AND x.delivery = a.delivery)
  ORDER BY q.run, a.i
  ON CONFLICT DO NOTHING RETURNING run)
SELECT r.id, q.owner IS NOT NULL FROM sent s JOIN {schema}.runs r ON r.key = s.run JOIN {schema}.queue q ON q.run = s.run
