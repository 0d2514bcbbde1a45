-- Makes a schedule; where there is one, nothing.
INSERT INTO {schema}.schedules (name, said, sum, change, code, due_at, of_set) VALUES ($1, $2, $3, $7, $4, $5, $6) ON CONFLICT (name) DO NOTHING
