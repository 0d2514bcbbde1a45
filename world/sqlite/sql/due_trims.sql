-- Runs of which something is not wanted any more. By key.
SELECT due.run, max(due.before), r.id, r.created_us FROM trims due CROSS JOIN runs r ON r.key = due.run GROUP BY due.run ORDER BY due.run LIMIT ?1
