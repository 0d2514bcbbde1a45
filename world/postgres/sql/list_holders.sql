-- What holds places of a key ($1), at most $2: runs, tasks, messages; each with the name of its workflow, step or queue.
-- All of the queue, of tasks and of messages, on purpose.
SELECT h.id, h.step, h.name, h.message, h.sent_at FROM (
  SELECT 0 AS kind, q.run AS key, r.id, NULL::text AS step, r.workflow AS name, NULL::bigint AS message, NULL::timestamptz AS sent_at
  FROM {schema}.queue q JOIN {schema}.runs r ON r.key = q.run WHERE q.places IS NOT NULL AND q.places[1:q.has] @> ARRAY[$1::text]
  UNION ALL
  SELECT 1, t.key, r.id, t.step, t.name, NULL, NULL FROM {schema}.tasks t JOIN {schema}.runs r ON r.key = t.run
  WHERE t.places IS NOT NULL AND t.places[1:t.has] @> ARRAY[$1::text]
  UNION ALL
  SELECT 2, m.key, NULL, NULL, u.name, m.key, m.sent_at FROM {schema}.messages m JOIN {schema}.queues u ON u.key = m.queue
  WHERE m.places IS NOT NULL AND m.places[1:m.has] @> ARRAY[$1::text]) h ORDER BY h.kind, h.key LIMIT $2::integer
