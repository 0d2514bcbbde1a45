-- Whether the file is empty.
SELECT count(*) FROM sqlite_schema
