-- No row: the ID is known; the next statement reads of which message. It may wait for another transaction that sends with the same ID.
INSERT INTO {schema}.dedupes (queue, id, message, until) VALUES ($1, $2, '', clock_timestamp() + $3::bigint * interval '1 microsecond')
ON CONFLICT (queue, id) DO UPDATE SET message = '', until = clock_timestamp() + $3::bigint * interval '1 microsecond' WHERE dedupes.until <= clock_timestamp()
RETURNING queue
