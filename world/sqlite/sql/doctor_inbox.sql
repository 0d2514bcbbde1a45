-- The 10,000 oldest deliveries. By key.
SELECT i.row, i.delivery, i.arrived_us, i.format, i.head, i.body, i.sum, r.id, r.created_us
FROM (SELECT * FROM inbox ORDER BY row LIMIT 10000) i CROSS JOIN runs r ON r.key = i.run
