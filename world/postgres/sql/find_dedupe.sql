SELECT message FROM {schema}.dedupes WHERE queue = $1 AND id = $2
