-- The run that may gather for a workflow and key. Primary key.
SELECT r.id, b.quiet_ns, b.number, b.until_us, b.items, b.bytes FROM buckets b JOIN runs r ON r.key = b.run WHERE b.workflow = ?1 AND b.name = ?2
