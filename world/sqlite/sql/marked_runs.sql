-- Runs that may know of more deliveries than they need: of which one is older than that. Index delivered_marked.
SELECT run FROM delivered INDEXED BY delivered_marked WHERE marked IS NOT NULL AND at_us < ?1 ORDER BY at_us LIMIT ?2
