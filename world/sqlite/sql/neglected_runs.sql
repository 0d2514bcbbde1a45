-- Runs of a class (?1) that nobody owns, and that hold places of limits which they do not keep while they wait, or stand in line: these first. Index queue_placed.
SELECT r.id FROM queue q CROSS JOIN runs r ON r.key = q.run
WHERE q.class = ?1 AND q.owner IS NULL AND q.has + (q.parked_us IS NOT NULL) > 0 AND q.places IS NOT NULL
  AND (q.parked_us IS NOT NULL OR q.has > CASE WHEN q.running THEN q.keeps ELSE 0 END)
ORDER BY q.ready_us LIMIT ?2
