-- What was published under a topic with a delivery ID. Index publications_dedupe.
SELECT key, at FROM {schema}.publications WHERE topic = $1 AND dedupe = $2
