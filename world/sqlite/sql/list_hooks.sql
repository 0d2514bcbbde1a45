-- All active hooks, oldest first. By key.
SELECT h.id, r.id, h.token, h.metadata, h.created_us FROM hooks h CROSS JOIN runs r ON r.key = h.run ORDER BY h.key LIMIT ?1
