-- Runs, tasks and messages that stand in line, and in none. All of them, on purpose.
SELECT q.places ->> q.has, 3 - q.priority, q.parked_us, q.run FROM queue q WHERE q.parked_us IS NOT NULL AND q.owner IS NULL AND json_valid(q.places) AND q.places ->> q.has IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM limit_line l WHERE l.key = q.places ->> q.has AND l.urgency = 3 - q.priority AND l.place_us = q.parked_us AND l.run = q.run)
UNION ALL
SELECT t.places ->> t.has, 3 - t.priority, t.parked_us, t.key - 4611686018427387904 FROM tasks t WHERE t.parked_us IS NOT NULL AND t.worker IS NULL AND json_valid(t.places) AND t.places ->> t.has IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM limit_line l WHERE l.key = t.places ->> t.has AND l.urgency = 3 - t.priority AND l.place_us = t.parked_us AND l.run = t.key - 4611686018427387904)
UNION ALL
SELECT m.places ->> m.has, 3 - m.priority, m.parked_us, m.key - 6917529027641081856 FROM messages m WHERE m.parked_us IS NOT NULL AND json_valid(m.places) AND m.places ->> m.has IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM limit_line l WHERE l.key = m.places ->> m.has AND l.urgency = 3 - m.priority AND l.place_us = m.parked_us AND l.run = m.key - 6917529027641081856)
