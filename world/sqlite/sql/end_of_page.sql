-- The last key of a page of the queue, behind ?1; none: that is the last page. Its key.
SELECT run FROM queue WHERE run > ?1 ORDER BY run LIMIT 1 OFFSET ?2
