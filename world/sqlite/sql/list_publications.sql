-- What was published, the newest first, before one.
SELECT p.key, p.topic, p.source, p.at_us, p.due_us, p.head, p.body, p.sum, d.due_us, d.error
FROM publications p LEFT JOIN due d ON d.publication = p.key WHERE p.key < ?1 ORDER BY p.key DESC LIMIT ?2
