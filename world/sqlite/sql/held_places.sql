-- Runs among some keys that are marked as held, and hold places of limits or stand in a line. By key.
SELECT r.id FROM queue q CROSS JOIN runs r ON r.key = q.run WHERE q.run > ?1 AND q.run <= ?2 AND q.held AND q.places IS NOT NULL AND (q.has > 0 OR q.parked_us IS NOT NULL)
