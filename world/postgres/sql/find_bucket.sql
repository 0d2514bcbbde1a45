-- The run that may gather for a workflow and key, and how it stands. Primary key.
SELECT r.id, b.run, b.quiet_ns, b.number, b.until_at, b.items, b.bytes,
  q.owner IS NULL AND NOT q.running AND q.take = 0, q.wake_at,
  EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = b.run AND i.cancel OFFSET 0)
FROM {schema}.buckets b JOIN {schema}.runs r ON r.key = b.run JOIN {schema}.queue q ON q.run = b.run
WHERE b.workflow = $1::text AND b.name = $2::text
