-- Notes the message that was sent with a dedupe ID.
UPDATE {schema}.dedupes SET message = $3 WHERE queue = $1 AND id = $2
