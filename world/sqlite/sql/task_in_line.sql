-- Where the task of a step stands in line. Indexes runs_id, tasks_run.
SELECT t.has, (SELECT count(*) FROM (SELECT 1 FROM limit_line l WHERE l.key = k.key
    AND (l.urgency, l.place_us, l.run) < (3 - t.priority, t.parked_us, t.key - 4611686018427387904) LIMIT ?2)),
  k.name, k.text, coalesce(n.number, n.said) * coalesce(max(min(CAST(w.weight AS INTEGER), 100), 1), 1), n.until_end, t.parked_us IS NULL, n.per_ns, n.burst, k.turn_ns, k.used
FROM runs r LEFT JOIN tasks t ON t.run = r.key AND t.step = ?3
LEFT JOIN limit_keys k ON k.key = CASE WHEN json_valid(t.places) THEN t.places ->> t.has END LEFT JOIN limits n ON n.name = k.name
LEFT JOIN limit_weights w ON w.name = k.name AND w.text = k.text
WHERE r.ns = 0 AND r.id = ?1
