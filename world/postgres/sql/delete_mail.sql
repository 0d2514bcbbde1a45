-- Mail that is in the log now, or was dropped. By key.
DELETE FROM {schema}.inbox i USING unnest($1::bigint[], $2::bigint[]) a("row", run) WHERE i."row" = a."row" AND i.run = a.run
