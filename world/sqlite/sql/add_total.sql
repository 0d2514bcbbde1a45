-- So many runs of a workflow came to a status, or left it. By key.
INSERT INTO totals (workflow, status, n) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET n = n + excluded.n
