-- Readers do not wait for the writer; kept in the file.
PRAGMA journal_mode = WAL
