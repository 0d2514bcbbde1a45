-- The lease of a worker. By key.
UPDATE workers SET until_us = ?2 WHERE key = ?1
