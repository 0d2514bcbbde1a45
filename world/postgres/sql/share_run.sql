-- Holds up the end of a run until its end can tell whoever asks. No row: it is over. By key.
SELECT 1 FROM {schema}.queue WHERE run = $1::bigint FOR SHARE
