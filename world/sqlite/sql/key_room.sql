-- How a key stands: how many places it has, and how many are held; of a rate, what that says and where it stands. By key.
SELECT coalesce(l.number, l.said), k.used, l.per_ns, l.burst, k.turn_ns, k.late, k.due_us FROM limit_keys k JOIN limits l ON l.name = k.name WHERE k.key = ?1
