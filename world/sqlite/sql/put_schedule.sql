-- Makes a schedule, or changes it.
INSERT INTO schedules (name, said, sum, change, code, due_us, of_set) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (name) DO UPDATE SET said = ?2, sum = ?3, change = ?4, code = ?5, due_us = ?6, of_set = ?7
