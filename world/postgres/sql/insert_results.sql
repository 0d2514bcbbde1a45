-- Tells each step that waits for runs that are over. What is told was encoded once for each run, with a placeholder where the ID of the step belongs.
-- Returns who was told. Primary keys of awaits and queue.
WITH told AS (
  INSERT INTO {schema}.inbox (run, delivery, cancel, payload, format, head, body, sum)
  SELECT a.waiter, 'result/' || a.step, false, false, $2::smallint, replace(e.head, e.placeholder, to_json(a.step)::text), e.body,
    concat_ws(chr(31), e.sum, a.waiter, a.step, 'result/' || a.step)
  FROM unnest($1::bigint[], $3::text[], $4::text[], $5::bytea[], $6::text[]) e(run, placeholder, head, body, sum)
  JOIN {schema}.awaits a ON a.target = e.run JOIN {schema}.queue q ON q.run = a.waiter
  ORDER BY a.waiter, a.step
  ON CONFLICT DO NOTHING RETURNING run)
SELECT r.id, q.owner IS NOT NULL FROM told t JOIN {schema}.runs r ON r.key = t.run JOIN {schema}.queue q ON q.run = t.run
