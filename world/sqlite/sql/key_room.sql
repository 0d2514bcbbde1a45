-- How a key stands: how many places it has, by its weight, and how many are held; of a rate, what that says and where it stands. By key.
SELECT coalesce(l.number, l.said) * coalesce(max(min(CAST(w.weight AS INTEGER), 100), 1), 1), k.used, l.per_ns, l.burst, k.turn_ns, k.late, k.due_us FROM limit_keys k JOIN limits l ON l.name = k.name
LEFT JOIN limit_weights w ON w.name = k.name AND w.text = k.text WHERE k.key = ?1
