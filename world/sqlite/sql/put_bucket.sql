-- A run gathers from now on, in the place of any other. Primary key.
INSERT INTO buckets (workflow, name, run, quiet_ns, number, until_us, items, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (workflow, name) DO UPDATE SET run = excluded.run, quiet_ns = excluded.quiet_ns, number = excluded.number, until_us = excluded.until_us,
  items = excluded.items, bytes = excluded.bytes
