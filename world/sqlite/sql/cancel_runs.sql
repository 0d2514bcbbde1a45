-- The first runs that are to be cancelled, of any class. Index queue_cancel.
SELECT run, mail_us, class, priority FROM queue WHERE cancel AND owner IS NULL ORDER BY mail_us LIMIT ?1
