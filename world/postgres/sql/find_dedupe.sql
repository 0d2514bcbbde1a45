-- The message that was sent with a dedupe ID.
SELECT message FROM {schema}.dedupes WHERE queue = $1 AND id = $2
