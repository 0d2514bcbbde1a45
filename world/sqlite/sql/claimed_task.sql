-- A task that is about to be claimed. By key.
SELECT r.id, t.step, t.name, t.workflow, t.input, t.options, t.priority, t.visible_us, t.attempt, t.history, t.first_us, t.failures, t.abandoned, t.sum
FROM tasks t CROSS JOIN runs r ON r.key = t.run WHERE t.key = ?1
