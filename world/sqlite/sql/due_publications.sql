-- What is to be spread, in order, behind a place. Index due_due.
SELECT p.key, p.topic, p.source, p.at_us, p.due_us, p.head, p.body, p.sum, d.due_us, d.error
FROM due d JOIN publications p ON p.key = d.publication
WHERE d.due_us <= ?1 AND (d.due_us, d.publication) > (?3, ?4) ORDER BY d.due_us, d.publication LIMIT ?2
