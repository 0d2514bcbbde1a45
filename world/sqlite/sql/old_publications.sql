-- Publications behind one, in the order in which they were written, as long as they are old; and whether each need not be kept.
SELECT p.key, p.at_us <= ?2, p.due_us <= ?2 AND coalesce(d.due_us = 9223372036854775807, 1)
FROM publications p LEFT JOIN due d ON d.publication = p.key WHERE p.key > ?1 ORDER BY p.key LIMIT ?3
