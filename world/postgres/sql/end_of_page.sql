-- The last key of a page of the queue, behind $1; none: that is the last page. Its key.
SELECT run FROM {schema}.queue WHERE run > $1::bigint ORDER BY run OFFSET $2::bigint LIMIT 1
