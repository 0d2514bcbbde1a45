-- Gives back messages whose receipt holds, or extends the receive ($4), or makes them dead letters ($5). $6: the receive does not count.
WITH l AS MATERIALIZED (
  SELECT m.key, a.i, a.after, a.held, a.dead, a.unread, a.error FROM {schema}.messages m
  JOIN unnest($1::bigint[], $2::integer[], $3::bigint[], $4::boolean[], $5::boolean[], $6::boolean[], $7::text[]) WITH ORDINALITY a(key, fence, after, held, dead, unread, error, i)
    ON m.key = a.key AND m.fence = a.fence WHERE m.held ORDER BY m.key FOR UPDATE OF m)
UPDATE {schema}.messages m SET visible_at = CASE WHEN l.dead THEN 'infinity' ELSE clock_timestamp() + l.after * interval '1 microsecond' END,
  held = l.held, dead = l.dead, receives = m.receives - l.unread::integer, error = coalesce(l.error, m.error)
FROM l WHERE m.key = l.key RETURNING l.i, m.queue, NOT l.held
