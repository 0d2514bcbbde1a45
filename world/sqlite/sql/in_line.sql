-- Where a run stands in line, with its birth. Indexes runs_id, log_run.
SELECT q.has, (SELECT count(*) FROM (SELECT 1 FROM limit_line l WHERE l.key = k.key
    AND (l.urgency, l.place_us, l.run) < (3 - q.priority, q.parked_us, q.run) LIMIT ?2)),
  k.name, k.text, coalesce(n.number, n.said) * coalesce(max(min(CAST(w.weight AS INTEGER), 100), 1), 1), n.until_end, q.parked_us IS NULL, n.per_ns, n.burst, k.turn_ns, k.used
FROM runs r LEFT JOIN queue q ON q.run = r.key LEFT JOIN limit_keys k ON k.key = CASE WHEN json_valid(q.places) THEN q.places ->> q.has END LEFT JOIN limits n ON n.name = k.name
LEFT JOIN limit_weights w ON w.name = k.name AND w.text = k.text
WHERE r.ns = 0 AND r.id = ?1
