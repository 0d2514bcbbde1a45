-- So many runs of a workflow ended with a status, or were swept.
INSERT INTO totals (workflow, status, n) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET n = n + excluded.n
