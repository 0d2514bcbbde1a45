-- Workers whose lease runs at ?1, and those whose lease had ended by then though they hold something. Indexes queue_owner, tasks_held.
SELECT coalesce(sum(until_us > ?1), 0), coalesce(sum(until_us <= ?1 AND (
         EXISTS (SELECT 1 FROM queue WHERE owner = w.key) OR EXISTS (SELECT 1 FROM tasks WHERE worker = w.key))), 0)
FROM workers w
