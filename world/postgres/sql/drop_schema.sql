-- All runs, and all else.
DROP SCHEMA {schema} CASCADE
