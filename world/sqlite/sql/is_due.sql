-- Whether a publication is to be spread.
SELECT 1 FROM due d JOIN publications p ON p.key = d.publication WHERE d.publication = ?1 AND d.due_us <= ?2
