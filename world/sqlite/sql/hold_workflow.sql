-- Holds a workflow, or says anew who does and why. By key.
INSERT INTO holds (workflow, held_by, note, since_us, state, changed_us) VALUES (?1, ?2, ?3, ?4, 0, ?4)
ON CONFLICT (workflow) DO UPDATE SET held_by = ?2, note = ?3, since_us = ?4, state = 0, changed_us = ?4
