-- A limit that a birth names, if it is new.
INSERT INTO limits (name, said, until_end, per_ns, burst, refuse, runs, steps, messages) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING
