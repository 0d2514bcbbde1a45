-- The number is another change's.
PRAGMA user_version = 22;
