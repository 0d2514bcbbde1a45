-- What holds places of a key of a limit, at most ?3: runs, tasks, messages; each with the name of its workflow, step or queue.
-- All of the queue, of tasks and of messages, on purpose.
WITH wanted AS MATERIALIZED (SELECT key FROM limit_keys WHERE name = ?1 AND text = ?2),
held AS (
  SELECT 0 AS kind, run AS key, places, has FROM queue WHERE places IS NOT NULL AND has > 0
  UNION ALL SELECT 1, key, places, has FROM tasks WHERE places IS NOT NULL AND has > 0
  UNION ALL SELECT 2, key, places, has FROM messages WHERE places IS NOT NULL AND has > 0)
SELECT r.id, t.step, coalesce(t.name, r.workflow, u.name), m.key, m.sent_us
FROM held h
  LEFT JOIN tasks t ON h.kind = 1 AND t.key = h.key
  LEFT JOIN runs r ON h.kind < 2 AND r.key = coalesce(t.run, h.key)
  LEFT JOIN messages m ON h.kind = 2 AND m.key = h.key
  LEFT JOIN queues u ON u.key = m.queue
WHERE EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(h.places) THEN h.places ELSE '[]' END) j
  WHERE j.key < h.has AND j.value = (SELECT key FROM wanted))
ORDER BY h.kind, h.key LIMIT ?3
