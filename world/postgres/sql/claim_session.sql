-- A worker's lock is taken: peers may judge by it. By key.
UPDATE {schema}.workers SET session = true WHERE key = $1 AND NOT session
