-- Holds a workflow, or says anew who does and why. By key.
INSERT INTO {schema}.holds (workflow, held_by, note, since, state, changed_at) VALUES ($1::text, $2::text, $3::text, clock_timestamp(), 0, clock_timestamp())
ON CONFLICT (workflow) DO UPDATE SET held_by = excluded.held_by, note = excluded.note, since = excluded.since, state = 0, changed_at = excluded.changed_at
