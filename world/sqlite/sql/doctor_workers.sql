-- Workers whose lease runs at ?2, and those whose lease had ended by ?1 though they hold something. Indexes queue_owner, tasks_held.
SELECT coalesce(sum(until_us > ?2), 0), coalesce(sum(until_us <= ?1 AND (
         EXISTS (SELECT 1 FROM queue WHERE owner = w.key) OR EXISTS (SELECT 1 FROM tasks WHERE worker = w.key))), 0)
FROM workers w
