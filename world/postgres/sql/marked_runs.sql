-- Runs that may know of more deliveries than they need: of which one is older than that ($1). Index delivered_marked.
SELECT DISTINCT run FROM (SELECT run FROM {schema}.delivered WHERE marked IS NOT NULL AND at < $1 ORDER BY at LIMIT $2) m
